/**
 * A message that arrives in pieces, whose sender chooses their sizes: small ones are copied together. Kept alone, one of a
 * single byte takes 350 (bodies of three megabytes took a gigabyte), and holds all that came with it.
 */

/** Smaller pieces are copied. */
export const copiedMax = 1024;
const blockMax = 16 * 1024;

export class Pieces {
  /** What has arrived, in order. */
  list: Buffer[] = [];
  bytes = 0;
  /** The block that small pieces are copied to, and how much of it is used. */
  #block: Buffer | undefined;
  #used = 0;
  /** Whether the last of the list ends where the used part of the block does. */
  #isOpen = false;

  /** Returns how many bytes there are now. The first piece is never copied, because most messages have no second. */
  add(piece: Buffer): number {
    const { length } = piece;
    if (length < copiedMax && this.list.length > 0) this.#copy(piece);
    else this.#keep(piece);
    return (this.bytes += length);
  }

  #keep(piece: Buffer): void {
    this.#isOpen = false;
    this.list.push(piece);
  }

  #copy(piece: Buffer): void {
    let block = this.#block;
    if (!block || block.length - this.#used < piece.length) {
      // What is small as a whole takes no large block.
      block = Buffer.allocUnsafe(Math.min(Math.max(this.bytes, copiedMax), blockMax));
      this.#block = block;
      this.#used = 0;
      this.#isOpen = false;
    }
    const begin = this.#isOpen ? this.#used - this.list.pop()!.length : this.#used;
    this.#used += piece.copy(block, this.#used);
    this.list.push(block.subarray(begin, this.#used));
    this.#isOpen = true;
  }

  /** Takes the first piece out. */
  shift(): Buffer | undefined {
    const first = this.list.shift();
    this.bytes -= first?.length ?? 0;
    if (this.list.length === 0) this.clear();
    return first;
  }

  /** Everything together, which stays here. */
  whole(): Buffer {
    if (this.list.length !== 1) {
      this.list = [Buffer.concat(this.list, this.bytes)];
      this.#isOpen = false;
    }
    return this.list[0]!;
  }

  /** Everything together, which is taken out. */
  take(): Buffer {
    const whole = this.whole();
    this.clear();
    return whole;
  }

  clear(): void {
    this.list = [];
    this.bytes = 0;
    this.#block = undefined;
    this.#isOpen = false;
  }
}
