/**
 * Lines of a text that arrives in pieces, as events of a watch do. A line of many pieces is put together once, when it
 * ends: searched with each of them from its beginning, a line of megabytes costs the square of its length.
 */
export class TextLines {
  #rest = '';

  /** @param charactersMax what a line has beyond is dropped, once that is known */
  constructor(private readonly charactersMax: number) {}

  /** The beginning of a line that has not ended; as long as `charactersMax` and a piece. */
  get rest(): string {
    return this.#rest;
  }

  /** Takes a piece; returns the lines that end in it. */
  take(piece: string): string[] {
    const lines = piece.split('\n');
    // Texts that are added are copied when the sum is read, not before.
    if (this.#rest.length <= this.charactersMax) lines[0] = this.#rest + lines[0]!;
    else lines[0] = this.#rest;
    this.#rest = lines.pop()!;
    return lines;
  }
}
