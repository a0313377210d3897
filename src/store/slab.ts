/**
 * Slabs: small buffers are cut from larger ones, because V8 tracks and frees each buffer that has memory of its own. A slab
 * is freed when the last buffer that was cut from it is.
 *
 * It is shared memory, which V8 does not count: it goes through all objects with each 64 MB of other memory that comes, so
 * a start among a million objects of 2 KB was 45 times as long a search for garbage, of which there is none.
 *
 * Used where many buffers are made in a row that are freed together, or hardly ever: values read from disk, and the texts
 * of the objects that are there at a start.
 */
import { optimized } from '../switches.ts';

const slabBytes = 64 * 1024;
/** Larger buffers get memory of their own. */
const cutBytesMax = slabBytes / 8;

export class Slabs {
  #slab: Buffer = Buffer.alloc(0);
  #end = 0;

  /** A buffer whose bytes may be anything. LMDB must not be given it. */
  take(bytes: number): Buffer {
    if (bytes > cutBytesMax || !optimized) return Buffer.allocUnsafeSlow(bytes);
    if (this.#end + bytes > this.#slab.length) {
      this.#slab = Buffer.from(new SharedArrayBuffer(slabBytes));
      this.#end = 0;
    }
    const begin = this.#end;
    this.#end += bytes;
    return this.#slab.subarray(begin, this.#end);
  }
}
