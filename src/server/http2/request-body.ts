/**
 * The body of a request while it arrives: it waits here until its handler reads it, and the client gets room for as much
 * as was read.
 */
import { Readable } from 'node:stream';
import { copiedMax, Pieces } from '../../pieces.ts';

export class RequestBody {
  readonly #pieces = new Pieces();
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
    // The first piece, too, may be a small part of what it came with.
    const isSmall = this.#pieces.bytes === 0 && chunk.length < copiedMax;
    this.#pieces.add(isSmall ? Buffer.from(chunk) : chunk);
  }

  end(): void {
    this.#isWhole = true;
    if (this.#isAwaited) this.#reader?.push(null);
  }

  /** Everything, if it has arrived before anybody read it. */
  get all(): Buffer | undefined {
    if (!this.#isWhole || this.#reader) return undefined;
    return this.#pieces.whole();
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
    const chunk = this.#pieces.shift();
    if (chunk) this.#push(chunk);
    else if (this.#isWhole) this.#reader!.push(null);
    else this.#isAwaited = true;
  }

  #push(chunk: Buffer): void {
    this.consumed(chunk.length);
    this.#reader!.push(chunk);
  }

  /** No more comes, and what is here is dropped. */
  drop(): void {
    this.#isDropped = true;
    this.#pieces.clear();
    this.#isAwaited = false;
    this.#reader?.destroy();
  }
}
