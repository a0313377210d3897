/**
 * A pace for work that clients can ask for by the hundred, and that takes some milliseconds each time: some is begun at
 * once, then one piece after the other with a rest in between, in which others are served.
 */
export class Pace {
  /** When all that were let through are paid for. */
  #paidMs = 0;

  /**
   * @param burst how many may begin at once
   * @param restMs from one to the next after that
   */
  constructor(
    private readonly burst: number,
    private readonly restMs: number,
  ) {}

  /** Resolves when one more may begin; first come, first served. */
  async next(): Promise<void> {
    const nowMs = performance.now();
    this.#paidMs = Math.max(this.#paidMs, nowMs) + this.restMs;
    const waitMs = this.#paidMs - nowMs - this.burst * this.restMs;
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
  }
}
