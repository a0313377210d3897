/**
 * The bytes that a client has sent and that are not worked off: frames are read from them in place. A frame that is not
 * complete waits for the rest, except for data, which is passed on as it comes.
 */
import { HEAD_BYTES } from '../../http2/frame-rules.ts';

export class FrameInput {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = 1;

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /** All bytes together, if what is awaited has arrived; then they have to be given back. */
  take(): Buffer | undefined {
    if (this.#bytes < this.#wanted || this.#bytes === 0) return undefined;
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#bytes);
    this.#chunks = [];
    this.#bytes = 0;
    this.#wanted = 1;
    return all;
  }

  /** @param wanted bytes with which it makes sense to go on */
  giveBack(rest: Buffer, wanted = HEAD_BYTES): void {
    if (rest.length > 0) this.#chunks.unshift(rest);
    this.#bytes += rest.length;
    this.#wanted = wanted;
  }

  drop(): void {
    this.#chunks = [];
    this.#bytes = 0;
  }
}

/** The bytes of a client's preface. */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Whether bytes are the beginning of the preface, or begin with it. */
export const mayBePreface = (bytes: Buffer): boolean =>
  bytes.subarray(0, preface.length).equals(preface.subarray(0, bytes.length));
