/**
 * Rounds among watchers over the network: they are told in a later tick of the event loop, of all changes there are by
 * then, because each telling is a write to a socket. Told of each change at once, 200 watchers cost a writer 200 system
 * calls; in rounds, two to four times as many events a second are told.
 *
 *   resting ──(change)──► waiting ──(turn)──► under way, some watchers a turn ──► resting, or waiting if more has changed
 */
import { optimized } from '../switches.ts';
import type { Watcher } from './watcher.ts';

/** Whether a watcher is told in rounds; otherwise it is told of each change at once. */
export const isToldInRounds = ({ patient }: Watcher): boolean => patient && optimized;

/** Watchers told before other work gets a turn: some milliseconds. */
const turnMax = 512;

export class WatchRounds {
  readonly #watchers = new Set<Watcher>();
  /** Those that are left of the round under way. */
  #left: Iterator<Watcher> | undefined;
  /** Numbers of the first event to tell in the round under way, and in the one after it. */
  #from = Number.POSITIVE_INFINITY;
  #nextFrom = Number.POSITIVE_INFINITY;
  #waiting = false;

  /** `told` is called when everybody has been told of the events of some numbers, `toNumber` not among them. */
  constructor(private readonly told: (fromNumber: number, toNumber: number) => void) {}

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

  /** There are events from this number on. */
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
    for (let i = 0; i < turnMax; i++) {
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
