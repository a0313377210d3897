/**
 * A queue of small pieces of work that others can bring by the thousand, such as connections to close: few are done in
 * one turn of the event loop, so that everybody is served in between. Those that come first are done first.
 */
export class TurnQueue {
  #waiting: (() => void)[] = [];
  #left: number;
  #isAwaited = false;

  /**
   * @param turnMax pieces that are done in one turn
   * @param turnPart when many wait, this part of them is done in a turn: what comes faster must not fill the memory
   */
  constructor(
    private readonly turnMax: number,
    private readonly turnPart = 0,
  ) {
    this.#left = turnMax;
  }

  /** Does a piece, at once when few were done in this turn. */
  add(run: () => void): void {
    this.#await();
    if (this.#left > 0) {
      this.#left--;
      run();
    } else this.#waiting.push(run);
  }

  /** Resolves when one more may begin. */
  next(): Promise<void> {
    return new Promise((resolve) => this.add(resolve));
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(this.#goOn);
  }

  readonly #goOn = (): void => {
    this.#isAwaited = false;
    const count = Math.max(this.turnMax, Math.ceil(this.#waiting.length * this.turnPart));
    const next = this.#waiting.splice(0, count);
    this.#left = this.#waiting.length > 0 ? 0 : this.turnMax - next.length;
    if (next.length > 0) this.#await();
    for (const run of next) run();
  };
}
