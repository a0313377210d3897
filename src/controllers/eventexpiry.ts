/** Events live for an hour after they were last written, then they go. */
import type { Event } from '../api/generated/types.ts';
import { timeToMs } from '../api/time.ts';
import { remove } from '../registry/delete.ts';
import type { Entry } from '../registry/entry.ts';
import {
  type Controller,
  type ControllerContext,
  observe,
  type RunningController,
  tolerant,
} from './controller.ts';

/** Events that end within this time of each other go together. */
const sweepMinMs = 1_000;
/** The longest time a timer can be set to. */
const timerMaxMs = 2 ** 31 - 1;

export const eventExpiryController: Controller = {
  name: 'event-expiry',
  start: (context) => new EventExpiry(context),
};

class EventExpiry implements RunningController {
  /** When each event ends, by namespace and name. */
  readonly #ends = new Map<string, number>();
  readonly #observer: { close(): void };
  #timer: NodeJS.Timeout | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  #sweeping: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(private readonly context: ControllerContext) {
    this.#observer = observe(context, 'events', (entry, previous) => this.#changed(entry, previous));
  }

  get settled(): boolean {
    return this.#dueMs > this.context.registry.chance.nowMs();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#observer.close();
    clearTimeout(this.#timer);
    await this.#sweeping;
  }

  #changed(entry: Entry | undefined, previous: Entry | undefined): void {
    const { namespace, name } = (entry ?? previous)!;
    const key = `${namespace}/${name}`;
    if (!entry) return void this.#ends.delete(key);
    const endMs = lastWrittenMs(entry.object() as Event) + this.context.settings.eventLifeMs;
    this.#ends.set(key, endMs);
    if (endMs < this.#dueMs) this.#appoint(endMs);
  }

  #appoint(dueMs: number): void {
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    if (dueMs === Number.POSITIVE_INFINITY || this.#closed) return;
    const waitMs = Math.max(dueMs - this.context.registry.chance.nowMs(), sweepMinMs);
    this.#timer = setTimeout(
      () => {
        this.#sweeping = this.#sweep().catch(this.context.onError);
      },
      Math.min(waitMs, timerMaxMs),
    );
    this.#timer.unref();
  }

  async #sweep(): Promise<void> {
    const { registry } = this.context;
    const kind = registry.kinds.resource('v1', 'events')!;
    const nowMs = registry.chance.nowMs();
    const over = [...this.#ends].filter(([, endMs]) => endMs <= nowMs).map(([key]) => key);
    for (const key of over) {
      if (this.#closed) return;
      this.#ends.delete(key);
      const [namespace, name] = key.split('/') as [string, string];
      await tolerant(remove(registry, kind, namespace, name, {}));
    }
    let nextMs = Number.POSITIVE_INFINITY;
    for (const endMs of this.#ends.values()) nextMs = Math.min(nextMs, endMs);
    this.#appoint(nextMs);
  }
}

function lastWrittenMs({ metadata, lastTimestamp, eventTime, series }: Event): number {
  const times = [metadata.creationTimestamp, lastTimestamp, eventTime, series?.lastObservedTime];
  return Math.max(...times.map((time) => (time ? timeToMs(time) : 0)));
}
