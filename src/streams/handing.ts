/**
 * Shortcuts past the queues of Node's streams. `push` and `write` schedule work for later ticks (asking the source for
 * more, telling the writer that it may go on), which takes longer than passing a piece on. A stream between a pod and a
 * client is one of four in a row, so a piece that finds nothing waiting before it is handed on within the call. Together
 * with memory that is read into again (`reusedreads.ts`) this took 200 MB of output from 290 to 200 ms of processor time.
 */
import type { Readable, Writable } from 'node:stream';
import { optimized } from '../switches.ts';

/**
 * Gives a chunk to the reader of a stream, at once when the reader is waiting for one. Otherwise it is pushed. Answers
 * whether there is room for more, as `push` does: after a chunk that was taken at once there is.
 */
export function hand(stream: Readable, chunk: Buffer): boolean {
  if (!optimized || stream.readableFlowing !== true || stream.readableLength > 0 || stream.destroyed)
    return stream.push(chunk);
  stream.emit('data', chunk);
  return true;
}

const nothing: readonly unknown[] = [];

/** Whether what `write` was called with may go straight to what is behind the stream: nothing waits before it. */
export const passesQueue = (
  stream: Writable,
  chunk: unknown,
  rest: readonly unknown[] = nothing,
): chunk is Buffer =>
  optimized && rest.length === 0 && Buffer.isBuffer(chunk) && stream.writableLength === 0 && stream.writable;
