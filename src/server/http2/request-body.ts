/**
 * The body of a request while it arrives: it waits here until its handler reads it, and the client gets room for as much
 * as was read. Small pieces are copied together: a piece of one byte would take a hundred here.
 */
import { Readable } from 'node:stream';

/** Smaller pieces are copied. */
const copiedMax = 1024;
const blockBytes = 16 * 1024;

export class RequestBody {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** The block that small pieces are copied to, and how much of it is used. */
  #block: Buffer | undefined;
  #used = 0;
  #isWhole = false;
  #reader: Readable | undefined;
  /** Whether the reader asked for more than there was. */
  #isAwaited = false;
  #isDropped = false;

  /** @param consumed called with the bytes that were read */
  constructor(private readonly consumed: (bytes: number) => void) {}

  get isWhole(): boolean {
    return this.#isWhole;
  }

  add(chunk: Buffer): void {
    if (this.#isAwaited) {
      this.#isAwaited = false;
      this.#push(chunk);
      return;
    }
    this.#bytes += chunk.length;
    if (chunk.length < copiedMax) this.#copy(chunk);
    else {
      this.#block = undefined;
      this.#chunks.push(chunk);
    }
  }

  #copy(chunk: Buffer): void {
    if (!this.#block || this.#block.length - this.#used < chunk.length) {
      // A body that is small as a whole takes no large block.
      this.#block = Buffer.allocUnsafe(this.#chunks.length === 0 ? copiedMax : blockBytes);
      this.#used = 0;
      this.#chunks.push(this.#block.subarray(0, 0));
    }
    const begin = this.#used - this.#chunks.at(-1)!.length;
    chunk.copy(this.#block, this.#used);
    this.#used += chunk.length;
    this.#chunks[this.#chunks.length - 1] = this.#block.subarray(begin, this.#used);
  }

  end(): void {
    this.#isWhole = true;
    if (this.#isAwaited) this.#reader?.push(null);
  }

  /** Everything, if it has arrived before anybody read it. */
  get all(): Buffer | undefined {
    if (!this.#isWhole || this.#reader) return undefined;
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks, this.#bytes)];
    return this.#chunks[0];
  }

  /** A stream of it. */
  get reader(): Readable {
    if (this.#reader) return this.#reader;
    this.#reader = new Readable({ read: () => this.#read() });
    // The client left before anybody read: the reader hears that it closes.
    if (this.#isDropped) this.#reader.destroy();
    return this.#reader;
  }

  #read(): void {
    const chunk = this.#chunks.shift();
    this.#block = undefined;
    if (chunk) {
      this.#bytes -= chunk.length;
      this.#push(chunk);
    } else if (this.#isWhole) this.#reader!.push(null);
    else this.#isAwaited = true;
  }

  #push(chunk: Buffer): void {
    this.consumed(chunk.length);
    this.#reader!.push(chunk);
  }

  /** No more comes, and what is here is dropped. */
  drop(): void {
    this.#isDropped = true;
    this.#chunks = [];
    this.#bytes = 0;
    this.#block = undefined;
    this.#isAwaited = false;
    this.#reader?.destroy();
  }
}
