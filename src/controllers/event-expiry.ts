/** Event expiry: deletes events an hour after their last write. */
import type { Event } from '../api/generated/types.ts';
import { timeToMs } from '../api/values/time.ts';
import { targetOf } from '../registry/target.ts';
import { remove } from '../registry/verbs/delete.ts';
import type { Entry } from '../registry/view/entry.ts';
import {
  type Controller,
  fromKey,
  ifUnchanged,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from './shared/controller.ts';
import { WorkQueue } from './shared/work-queue.ts';

/** Events that expire within this time of each other are deleted together. */
const sweepMinMs = 1_000;
/** The single key of the work queue. */
const sweep = 'sweep';

export const eventExpiryController: Controller = {
  name: 'event-expiry',
  housekeeping: true,
  writer: 'kube-apiserver',
  start: (context) => new EventExpiry(context).start(),
};

class EventExpiry {
  /** When each event expires: one timer for all of them costs less than one for each. */
  readonly #ends = new Map<string, number>();
  readonly #sweeps: WorkQueue;
  readonly #removals: WorkQueue;

  constructor(private readonly context: SharedContext) {
    const onError = (_: string, error: Error): void => context.onError(error);
    this.#sweeps = new WorkQueue({
      timers: context.registry.timers,
      work: async () => this.#sweep(),
      onError,
    });
    // Retry: an expired event is not written any more, so no change would bring its key back.
    this.#removals = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#remove(key),
      onError,
      triesMax: Infinity,
    });
  }

  start(): RunningController {
    const observation = observe(this.context, 'core/events', (entry, previous) =>
      this.#changed(entry, previous),
    );
    return running([observation], [this.#sweeps, this.#removals]);
  }

  #changed(entry: Entry | undefined, previous: Entry | undefined): void {
    const { namespace, name } = (entry ?? previous)!;
    const key = keyOf(namespace, name);
    if (!entry) return void this.#ends.delete(key);
    const endMs = this.#endMs(entry);
    this.#ends.set(key, endMs);
    this.#appoint(endMs);
  }

  #appoint(endMs: number): void {
    this.#sweeps.addAfter(sweep, Math.max(endMs - this.context.registry.sources.nowMs(), sweepMinMs));
  }

  #sweep(): void {
    const nowMs = this.context.registry.sources.nowMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [key, endMs] of this.#ends)
      if (endMs > nowMs) nextMs = Math.min(nextMs, endMs);
      else {
        this.#ends.delete(key);
        this.#removals.add(key);
      }
    this.#appoint(nextMs);
  }

  async #remove(key: string): Promise<void> {
    const { registry, writing, request } = this.context;
    const [namespace, name] = fromKey(key);
    const entry = registry.view.collection('core/events').get(namespace, name);
    // It was written again meanwhile, and has a new expiry.
    if (!entry || this.#endMs(entry) > registry.sources.nowMs()) return;
    await ifUnchanged(remove(writing, request('delete'), targetOf(entry), {}));
  }

  #endMs(entry: Entry): number {
    return lastWrittenMs(entry.peek() as Event) + this.context.settings.eventLifeMs;
  }
}

function lastWrittenMs({ metadata, lastTimestamp, eventTime, series }: Event): number {
  const times = [metadata.creationTimestamp, lastTimestamp, eventTime, series?.lastObservedTime];
  return Math.max(...times.map((time) => (time ? timeToMs(time) : 0)));
}
