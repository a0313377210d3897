/**
 * Notices the ends of containers. Engines with events report them at once; others are asked once a second about all
 * containers that are waited for. When the stream of events breaks, it is opened again, and all containers are checked
 * once.
 */
import { GrpcCode } from '../../../grpc/call-error.ts';
import type { CallStream } from '../../../grpc/connection.ts';
import { decode } from '../../../grpc/message-table.ts';
import type { EndEvents, EngineCalls } from '../engine/container-engine.ts';
import { labels } from '../engine/pod-identity.ts';
import type { CriApi } from './cri-api.ts';
import { containerEvents } from './cri-messages.ts';

const pollMs = 1_000;
const retryFirstMs = 100;
const retryMaxMs = 5_000;
/** Event types after which a container no longer runs: stopped, deleted. */
const stopped = 2;

export class CriEvents implements EndEvents {
  readonly #waiting = new Map<string, () => void>();
  #timer: NodeJS.Timeout | undefined;
  #stream: CallStream | undefined;
  #retryMs = retryFirstMs;
  #begun = false;
  #closed = false;

  constructor(
    private readonly api: CriApi,
    private readonly calls: EngineCalls,
    private readonly node: string,
  ) {}

  watch(id: string, look: () => void): void {
    this.#waiting.set(id, look);
    if (this.#begun) return;
    this.#begun = true;
    void this.#follow();
  }

  forget(id: string): void {
    this.#waiting.delete(id);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#waiting.clear();
    this.#stream?.close();
  }

  async #follow(): Promise<void> {
    try {
      this.#stream = await this.api.events({
        message: (bytes) => {
          this.#retryMs = retryFirstMs;
          const { id = '', type = 0 } = decode(containerEvents.event, bytes);
          if (type >= stopped) this.#waiting.get(id)?.();
        },
        end: (error) => this.#later(error?.code === GrpcCode.unimplemented),
      });
      if (this.#closed) this.#stream.close();
      this.#lookAtAll();
    } catch {
      this.#later(false);
    }
  }

  #later(hasNone: boolean): void {
    if (this.#closed) return;
    const again = (): unknown => (hasNone ? this.#poll() : this.#follow());
    this.#timer = setTimeout(again, hasNone ? pollMs : this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, retryMaxMs);
  }

  async #poll(): Promise<void> {
    if (this.#waiting.size) {
      // If the engine does not answer, it is asked again later.
      const found = await this.calls.list({ [labels.node]: this.node }).catch(() => undefined);
      const running = new Set(found?.filter(({ state }) => state === 'running').map(({ id }) => id));
      if (found) for (const [id, look] of [...this.#waiting]) if (!running.has(id)) look();
    }
    this.#later(true);
  }

  #lookAtAll(): void {
    for (const look of [...this.#waiting.values()]) look();
  }
}
