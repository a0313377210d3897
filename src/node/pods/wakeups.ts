/**
 * Wakeups: when a worker looks at its pod again. All changes in one event loop tick cause one look. A look takes time for
 * each container, and there may be thousands that start or end one after the other: then there is a rest between looks.
 */
import type { Pod } from '../../api/generated/types.ts';
import { type Timer, type Timers, timerMaxMs } from '../../timers.ts';

/** A worker rests after each look at a pod with this many containers: twice as many cost twice as much to show. */
const manyContainers = 50;
const manyRestMs = 5;

export const restMsOf = ({ spec: { initContainers = [], containers = [] } = {} }: Pod): number =>
  Math.floor((initContainers.length + containers.length) / manyContainers) * manyRestMs;

export class Wakeups {
  /** `idle` until something asks for a look. */
  #state: 'idle' | 'soon' | 'closed' = 'idle';
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  /** When the rest after the last look ends. */
  #restedAtMs = 0;

  constructor(
    private readonly look: () => void,
    private readonly now: () => number,
    private readonly timers: Timers,
    /** Between a look and the next; 0: none. */
    private readonly restMs = 0,
  ) {}

  /** Looks in a microtask, after all changes that happen now. */
  soon(): void {
    if (this.#state !== 'idle') return;
    const leftMs = this.restMs && this.#restedAtMs - this.now();
    if (leftMs > 0) return this.in(leftMs);
    this.#state = 'soon';
    queueMicrotask(() => {
      if (this.#state === 'closed') return;
      this.#state = 'idle';
      this.look();
      if (this.restMs) this.#restedAtMs = this.now() + this.restMs;
    });
  }

  /** Looks after a time. Of several requests the earliest counts; the look has to ask for the next one itself. */
  in(ms: number): void {
    const atMs = this.now() + ms;
    if (this.#state === 'closed' || atMs >= this.#timerAtMs) return;
    this.timers.clear(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = this.timers.set(
      () => {
        this.#timerAtMs = Number.POSITIVE_INFINITY;
        this.soon();
      },
      Math.min(Math.ceil(ms), timerMaxMs),
    );
  }

  close(): void {
    this.#state = 'closed';
    this.timers.clear(this.#timer);
  }
}
