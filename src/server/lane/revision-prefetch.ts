/**
 * A question for the newest revision that is sent before the requests that need the answer are handled. The event loop
 * asks the kernel which sockets can be read, and then reads them one after the other. The clients of those sockets had
 * sent their requests before the first was read, so a question sent right then is not too old for any of them, and etcd
 * answers while the others are read: reads at 32 connections went from 0.78 to 0.89 of those on an embedded store.
 *
 * This holds within one round of the loop, unless the kernel has named so many sockets that the loop asks it again in
 * the same round. With `WHERRY_PLAIN=1` nothing is asked ahead.
 */
import { platform } from '../../platform.ts';
import type { PrefetchedCalls } from '../../store/store.ts';
import type { PrefetchRevision } from '../http/door.ts';

/** Maximum number of events after which the loop asks the kernel again in one round: libuv's limit. */
const eventsMax = platform.isWindows ? 128 : 1024;

export class RevisionPrefetch {
  #shared: PrefetchedCalls | undefined;
  /**
   * Counters of the loop's rounds and events when the question was asked. Events are counted when all of a round are
   * handled.
   */
  #asked = { loopCount: 0, events: 0 };

  constructor(private readonly prefetchRevision: PrefetchRevision) {}

  /** Call for each request right after it was read; sends the question if that has not been done in this round. */
  ask(): void {
    if (this.#shared) return;
    this.#shared = this.prefetchRevision();
    if (this.#shared) this.#asked = performance.nodeTiming.uvMetricsInfo;
  }

  /** Call at the end of the round, before the requests are handled: forgets the question if it may be too old. */
  check(): void {
    if (!this.#shared) return;
    const { loopCount, events } = performance.nodeTiming.uvMetricsInfo;
    if (loopCount !== this.#asked.loopCount || events - this.#asked.events >= eventsMax)
      this.#shared = undefined;
  }

  run(handle: () => void): void {
    if (this.#shared) this.#shared(handle);
    else handle();
  }
}
