/**
 * The bytes that a client has sent and that are not worked off: frames are read from them in place. A frame that is not
 * complete waits for the rest, except for data, which is passed on as it comes.
 */
import { HEAD_BYTES } from '../../http2/frame-rules.ts';
import { Pieces } from '../../pieces.ts';

export class FrameInput {
  readonly #pieces = new Pieces();
  #wanted = 1;

  add(chunk: Buffer): void {
    this.#pieces.add(chunk);
  }

  /** All bytes together, if what is awaited has arrived; then they have to be given back. */
  take(): Buffer | undefined {
    const { bytes } = this.#pieces;
    if (bytes < this.#wanted || bytes === 0) return undefined;
    this.#wanted = 1;
    return this.#pieces.take();
  }

  /** @param wanted bytes with which it makes sense to go on */
  giveBack(rest: Buffer, wanted = HEAD_BYTES): void {
    if (rest.length > 0) this.#pieces.add(rest);
    this.#wanted = wanted;
  }

  drop(): void {
    this.#pieces.clear();
  }
}

/** The bytes of a client's preface. */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Whether bytes are the beginning of the preface, or begin with it. */
export const mayBePreface = (bytes: Buffer): boolean =>
  bytes.subarray(0, preface.length).equals(preface.subarray(0, bytes.length));
