/** Many bytes for tests, made and compared on the way: nobody ever holds them all. */
import { createCipheriv, createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';

export const megabyte = 1_000_000;
const chunkBytes = 65_536;

export interface Sum {
  readonly bytes: number;
  readonly sha256: string;
}

/** Bytes without any order in them; the same ones every time. `sum` is known when they have been read. */
export class Noise extends Readable {
  readonly #cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16));
  readonly #hash = createHash('sha256');
  #left: number;

  constructor(private readonly bytes: number) {
    super({ highWaterMark: 4 * chunkBytes });
    this.#left = bytes;
  }

  get sum(): Sum {
    return sumOf(this.bytes - this.#left, this.#hash);
  }

  override _read(): void {
    const size = Math.min(this.#left, chunkBytes);
    if (size === 0) {
      this.push(null);
      return;
    }
    const chunk = this.#cipher.update(Buffer.alloc(size));
    this.#left -= size;
    this.#hash.update(chunk);
    this.push(chunk);
  }
}

/** What a stream gives until it ends. */
export async function sumUp(stream: AsyncIterable<Buffer>): Promise<Sum> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  return sumOf(bytes, hash);
}

const sumOf = (bytes: number, hash: Hash): Sum => ({ bytes, sha256: hash.copy().digest('hex') });

/** The sum of that many zeros. */
export const zeros = (bytes: number): Promise<Sum> =>
  sumUp(
    Readable.from(
      (function* () {
        const chunk = Buffer.alloc(chunkBytes);
        for (let left = bytes; left > 0; left -= chunkBytes)
          yield chunk.subarray(0, Math.min(left, chunkBytes));
      })(),
    ),
  );
