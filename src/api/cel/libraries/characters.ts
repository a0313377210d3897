/** A string by its characters: CEL counts code points, JavaScript UTF-16 units. They differ where surrogates are. */

const surrogates = /[\ud800-\udfff]/;

export class Characters {
  readonly #text: string;
  readonly #flat: boolean;
  readonly length: number;

  constructor(text: string) {
    this.#text = text;
    this.#flat = !surrogates.test(text);
    this.length = this.#flat ? text.length : this.#count(text.length);
  }

  slice(from: number, to: number): string {
    return this.#text.slice(this.unit(from), this.unit(to));
  }

  /** The character position of a position in UTF-16 units, and the other way round. */
  position(unit: number): number {
    return this.#flat || unit < 0 ? unit : this.#count(unit);
  }
  unit(position: number): number {
    if (this.#flat) return position;
    let unit = 0;
    for (let left = position; left > 0 && unit < this.#text.length; left--) unit += this.#width(unit);
    return unit;
  }

  #count(end: number): number {
    let count = 0;
    for (let unit = 0; unit < end; unit += this.#width(unit)) count++;
    return count;
  }

  #width(unit: number): 1 | 2 {
    return (this.#text.codePointAt(unit) ?? 0) > 0xff_ff ? 2 : 1;
  }
}
