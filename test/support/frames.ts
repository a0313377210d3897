/** Watches in protobuf, read frame by frame: each event has its length in four bytes before it. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { decodedEvent } from '../../src/api/protobuf/protobuf-decoder.fixture.ts';

const lengthBytes = 4;

export class FrameReader {
  readonly headers: IncomingHttpHeaders;
  #rest = Buffer.alloc(0);
  readonly #chunks: AsyncIterator<Buffer>;

  constructor(private readonly response: IncomingMessage) {
    this.headers = response.headers;
    this.#chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** The next event, whose object is a document; undefined when the watch has ended. */
  async next(): Promise<{ type: string; object: Buffer } | undefined> {
    for (;;) {
      const length = this.#rest.length < lengthBytes ? Infinity : this.#rest.readUInt32BE(0) + lengthBytes;
      if (this.#rest.length >= length) {
        const event = decodedEvent(this.#rest.subarray(lengthBytes, length));
        this.#rest = this.#rest.subarray(length);
        return event;
      }
      const { done, value } = await this.#chunks.next();
      if (done) return undefined;
      this.#rest = Buffer.concat([this.#rest, value]);
    }
  }

  close(): void {
    this.response.destroy();
  }
}
