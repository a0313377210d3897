/** Large amounts of test data, generated and compared while streaming, never held in memory as a whole. */
import { createCipheriv, createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { isRelease } from '../support/tier.ts';

export const megabyte = 1_000_000;
/** More than every buffer and window on the way together. */
export const much = (isRelease ? 64 : 16) * megabyte;
const chunkBytes = 65_536;

export interface Sum {
  readonly bytes: number;
  readonly sha256: string;
}

/** Pseudo-random bytes, the same every time. `sum` is known when all have been read. */
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

/** Length and hash of a stream. */
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

/** The sum of this many zeros. */
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
