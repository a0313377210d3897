/** Handing bytes to the reader of a stream that is not fed from elsewhere. */
import type { Readable } from 'node:stream';

/**
 * What `push` does, at once when the reader is waiting for it: `push` would also ask for more in a moment, which takes
 * longer than all the rest. What comes after the reader has had enough is pushed, so the answer, whether there is room
 * for more, is yes here.
 */
export function hand(stream: Readable, chunk: Buffer): boolean {
  if (stream.readableFlowing !== true || stream.readableLength > 0 || stream.destroyed)
    return stream.push(chunk);
  stream.emit('data', chunk);
  return true;
}
