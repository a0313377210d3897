/**
 * Number pools: a range of whole numbers that are handed out one at a time; addresses and ports are both such
 * numbers. A number may have several holders, such as a stored service and the write that is storing it; it is free
 * when the last holder has released it.
 */
export class NumberPool {
  readonly #holders = new Map<number, number>();
  /**
   * Start of the upper part, which is given out first; the numbers below are for clients that request a fixed one.
   */
  readonly #preferred: number;
  /** How many numbers are held below `#preferred`. */
  #heldBelow = 0;

  /** The `spared` lowest numbers are picked only when all others are held. */
  constructor(
    readonly first: number,
    readonly last: number,
    spared: number,
  ) {
    this.#preferred = first + Math.min(spared, last - first + 1);
  }

  has(number: number): boolean {
    return number >= this.first && number <= this.last;
  }

  holdersOf(number: number): number {
    return this.#holders.get(number) ?? 0;
  }

  /** Ignores numbers outside the range: stored objects may be older than the configured range. */
  hold(number: number): void {
    if (!this.has(number)) return;
    const holders = this.holdersOf(number);
    this.#holders.set(number, holders + 1);
    if (holders === 0 && number < this.#preferred) this.#heldBelow++;
  }

  release(number: number): void {
    const holders = this.holdersOf(number);
    if (holders > 1) this.#holders.set(number, holders - 1);
    else if (this.#holders.delete(number) && number < this.#preferred) this.#heldBelow--;
  }

  get heldCount(): number {
    return this.#holders.size;
  }

  /** Any free number; undefined when all are taken. */
  pick(randomBelow: (bound: number) => number): number | undefined {
    const heldAbove = this.#holders.size - this.#heldBelow;
    return (
      this.#pickBetween(this.#preferred, this.last, heldAbove, randomBelow) ??
      this.#pickBetween(this.first, this.#preferred - 1, this.#heldBelow, randomBelow)
    );
  }

  /** The first free number from a random place on, wrapping around at the end. */
  #pickBetween(
    first: number,
    last: number,
    held: number,
    randomBelow: (bound: number) => number,
  ): number | undefined {
    const size = last - first + 1;
    if (held >= size) return undefined;
    const start = randomBelow(size);
    for (let i = 0; i < size; i++) {
      const number = first + ((start + i) % size);
      if (!this.#holders.has(number)) return number;
    }
    return undefined;
  }
}
