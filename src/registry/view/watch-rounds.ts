/**
 * Rounds among watchers over the network: they are notified in a later tick of the event loop, of all changes up to
 * then, because each notification is a write to a socket. Notified at each change, 200 watchers cost a writer 200
 * system calls; rounds deliver two to four times as many events a second. A round takes as many turns as it needs, so that
 * writers are answered in between.
 *
 *   resting ──(change)──► waiting ──(turn)──► under way, some watchers a turn ──► resting, or waiting if more has changed
 */
import { optimized } from '../../switches.ts';
import type { Watcher } from './watcher.ts';

/** Whether a watcher is notified in rounds; otherwise it is notified of each change at once. */
export const isToldInRounds = ({ patient }: Watcher): boolean => patient && optimized;

/** How many watchers are notified in one event loop tick, and how long; the others come in the next. */
const turnMax = 512;
const turnMaxMs = 4;
/** Watchers between two looks at the clock: fewer where each takes long, because its events do. */
const strideMax = 16;

export class WatchRounds {
  readonly #watchers = new Set<Watcher>();
  /** Watchers not yet notified in the current round. */
  #left: Iterator<Watcher> | undefined;
  /** Number of the first event in the current round, and in the next. */
  #from = Number.POSITIVE_INFINITY;
  #nextFrom = Number.POSITIVE_INFINITY;
  #waiting = false;

  /**
   * `told` is called when all watchers have been sent the events from `fromNumber` up to, and without, `toNumber`.
   */
  constructor(
    private readonly told: (fromNumber: number, toNumber: number) => void,
    /** The monotonic clock. */
    private readonly nowMs = () => performance.now(),
  ) {}

  get size(): number {
    return this.#watchers.size;
  }

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
  }

  delete(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  [Symbol.iterator](): IterableIterator<Watcher> {
    return this.#watchers.values();
  }

  /** Schedules a round for the events from this number on. */
  announce(fromNumber: number): void {
    this.#nextFrom = Math.min(this.#nextFrom, fromNumber);
    this.#wait();
  }

  #wait(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#waiting = false;
    if (!this.#left) {
      this.#left = this.#watchers.values();
      this.#from = this.#nextFrom;
      this.#nextFrom = Number.POSITIVE_INFINITY;
    }
    const begunMs = this.nowMs();
    let look = 1;
    for (let i = 0; i < turnMax; i++) {
      if (i === look) {
        const tookMs = this.nowMs() - begunMs;
        if (tookMs >= turnMaxMs) break;
        look += Math.max(1, Math.min(strideMax, Math.floor(((turnMaxMs - tookMs) * i) / tookMs)));
      }
      const { value, done } = this.#left.next();
      if (done) {
        this.#left = undefined;
        this.told(this.#from, this.#nextFrom);
        break;
      }
      value.pump();
    }
    if (this.#left || this.#nextFrom < Number.POSITIVE_INFINITY) this.#wait();
  }
}
