/**
 * Deadlines of many requests or calls, with one timer. Nearly all end long before their deadlines, and a timer for each
 * takes 1 to 2 µs.
 */

/** Node's timers run out at once when they are set to more. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export interface Deadline {
  readonly atMs: number;
  readonly pass: () => void;
}

export class Deadlines {
  readonly #open = new Set<Deadline>();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer runs out: not later than any deadline. */
  #timerMs = Number.POSITIVE_INFINITY;

  /** Calls `pass` after the time, unless the deadline is removed before. */
  add(timeoutMs: number, pass: () => void): Deadline {
    const nowMs = performance.now();
    const deadline = { atMs: nowMs + timeoutMs, pass };
    this.#open.add(deadline);
    if (deadline.atMs < this.#timerMs) this.#wake(deadline.atMs, nowMs);
    return deadline;
  }

  remove(deadline: Deadline): void {
    this.#open.delete(deadline);
  }

  #wake(atMs: number, nowMs: number): void {
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    const delayMs = Math.min(Math.ceil(atMs - nowMs), TIMER_MAX_MS);
    this.#timer = setTimeout(() => this.#look(), delayMs).unref();
  }

  #look(): void {
    const nowMs = performance.now();
    this.#timerMs = Number.POSITIVE_INFINITY;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const deadline of this.#open)
      if (deadline.atMs > nowMs) nextMs = Math.min(nextMs, deadline.atMs);
      else if (this.#open.delete(deadline)) deadline.pass();
    if (nextMs < this.#timerMs) this.#wake(nextMs, nowMs);
  }
}
