/** Pseudo-random numbers that are the same for the same seed: the generator mulberry32. Not for secrets. */

export class Randomness {
  #state: number;

  constructor(seed: number | string) {
    this.#state = digestOf(String(seed));
  }

  /** The position in the sequence; set it to continue from there. */
  get position(): number {
    return this.#state;
  }

  set position(position: number) {
    this.#state = position;
  }

  /** A number from 0 (inclusive) to 1 (exclusive). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 (inclusive) to the bound (exclusive). */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound);
  }

  /** A uid in the form of a random one. */
  uid(): string {
    const digits = Array.from({ length: 32 }, () => this.below(16).toString(16));
    digits[12] = '4';
    digits[16] = (8 + (Number.parseInt(digits[16]!, 16) & 3)).toString(16);
    const text = digits.join('');
    return [8, 12, 16, 20, 32].map((end, i) => text.slice([0, 8, 12, 16, 20][i], end)).join('-');
  }
}

/** FNV-1a, 32 bits. */
function digestOf(text: string): number {
  let digest = 0x811c9dc5;
  for (const byte of Buffer.from(text)) digest = Math.imul(digest ^ byte, 0x01000193);
  return digest | 0;
}
