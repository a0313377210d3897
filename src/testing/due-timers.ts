/** A heap of timers by their due time; removed timers stay in it until they come up. */
import type { Timer } from '../timers.ts';

export interface Waiting extends Timer {
  dueMs: number;
  readonly callback: () => void;
  /** Interval of a repeated timer; undefined: it fires once. */
  readonly intervalMs: number | undefined;
  /** How much later it may fire while the clock is moved. */
  readonly slackMs: number;
  dropped: boolean;
  /** Sequence number: timers of the same time fire in the order in which they were set. */
  order: number;
}

export class DueTimers {
  readonly #heap: Waiting[] = [];
  #orders = 0;

  add(callback: () => void, dueMs: number, intervalMs: number | undefined, slackMs: number): Waiting {
    const timer: Waiting = {
      dueMs,
      callback,
      intervalMs,
      slackMs,
      dropped: false,
      order: 0,
      unref: () => timer,
    };
    this.put(timer, dueMs);
    return timer;
  }

  put(timer: Waiting, dueMs: number): void {
    timer.dueMs = dueMs;
    timer.order = this.#orders++;
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(heap[at]!, heap[parent]!)) break;
      [heap[at], heap[parent]] = [heap[parent]!, heap[at]!];
      at = parent;
    }
  }

  drop(timer: Waiting): void {
    timer.dropped = true;
  }

  next(): Waiting | undefined {
    while (this.#heap[0]?.dropped) this.#pop();
    return this.#heap[0];
  }

  /** Takes out the timers that are due, in order. */
  takeDue(nowMs: number): Waiting[] {
    const due: Waiting[] = [];
    for (let next = this.next(); next && next.dueMs <= nowMs; next = this.next()) due.push(this.#pop()!);
    return due;
  }

  /** Moves all timers by the same time. */
  shift(ms: number): void {
    for (const timer of this.#heap) timer.dueMs += ms;
  }

  #pop(): Waiting | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || heap.length === 0) return first;
    heap[0] = last!;
    for (let at = 0; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < heap.length && before(heap[child]!, heap[least]!)) least = child;
      if (least === at) return first;
      [heap[at], heap[least]] = [heap[least]!, heap[at]!];
      at = least;
    }
  }
}

const before = (a: Waiting, b: Waiting): boolean =>
  a.dueMs !== b.dueMs ? a.dueMs < b.dueMs : a.order < b.order;
