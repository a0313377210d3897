/**
 * A queue of small pieces of work that others can bring by the thousand, such as connections to close: few are done in
 * one turn of the event loop, so that everybody is served in between. Those that come first are done first.
 */
export class TurnQueue {
  #waiting: (() => void)[] = [];
  /** How many of these are done already: cutting off the head of a long list each turn would copy all the others. */
  #done = 0;
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
    if (this.#left > 0 && this.#done === this.#waiting.length) {
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
    const waiting = this.#waiting.length - this.#done;
    const count = Math.min(waiting, Math.max(this.turnMax, Math.ceil(waiting * this.turnPart)));
    this.#left = waiting > count ? 0 : this.turnMax - count;
    if (count > 0) this.#await();
    // One that throws ends this turn; those behind it come with the next.
    for (const end = this.#done + count; this.#done < end; ) {
      const run = this.#waiting[this.#done]!;
      this.#waiting[this.#done++] = nothing;
      run();
    }
    if (this.#done * 2 < this.#waiting.length) return;
    this.#waiting = this.#waiting.slice(this.#done);
    this.#done = 0;
  };
}

const nothing = (): void => undefined;
