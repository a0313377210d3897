/** Copying bytes from one stream to another, in few and large writes. */
import type { Duplex } from 'node:stream';
import { passed } from './passingbytes.ts';

/** What one side may be ahead of the other: with less, every piece waits for the one before it to leave. */
const aheadBytesMax = 512 * 1024;

/**
 * Pieces that come in one turn, such as the head of a frame and its data, leave in one write. Ends are not passed on.
 */
export function copy(from: Duplex, to: Duplex): void {
  let corked = false;
  const uncork = (): void => {
    corked = false;
    to.uncork();
  };
  from.on('data', (chunk: Buffer) => {
    if (!to.writable) return;
    if (!corked) {
      corked = true;
      to.cork();
      setImmediate(uncork);
    }
    to.write(chunk);
    passed(chunk.length);
    if (to.writableLength >= aheadBytesMax) from.pause();
  });
  to.on('drain', () => from.resume());
  if (to.writableLength >= aheadBytesMax) from.pause();
  else from.resume();
}
