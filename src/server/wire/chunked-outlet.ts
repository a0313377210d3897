/**
 * Chunked outlets: watch lines as chunks of an HTTP answer. Node would frame every line for every watcher; here a
 * chunk is built once for all watchers that get the same notices, and written to their sockets directly. With 200
 * watchers, telling one of a change went from 14 to 10 µs. Streams of HTTP/2 share bytes, too, and Node frames them.
 */
import type { ServerResponse } from 'node:http';
import { optimized } from '../../switches.ts';
import type { Outlet } from './outlet.ts';

const lineEnd = '\r\n';

/** For an answer whose header is sent. Node ends the answer, with the last, empty chunk. */
export function chunkedOutlet(response: ServerResponse, onDrain: () => void): Outlet {
  const { socket } = response;
  // An answer queued behind another (pipelining) has no socket yet; then Node does the framing.
  const target = optimized && socket && !response.writableNeedDrain ? socket : undefined;
  (target ?? response).on('drain', onDrain);
  if (target) response.on('close', () => target.off('drain', onDrain));
  const send = target ? (chunk: Buffer) => target.write(chunk) : undefined;
  return {
    write: (lines) => {
      const bytes = joined(lines);
      return send ? send(framed([bytes])) : response.write(bytes);
    },
    writeShared: (notices, form) =>
      send
        ? send(notices[0]!.bytesWith(notices, form, framed))
        : response.write(notices[0]!.bytesWith(notices, form, joined)),
    end: () => response.end(),
  };
}

const joined = (lines: readonly Buffer[]): Buffer => (lines.length === 1 ? lines[0]! : Buffer.concat(lines));

function framed(lines: readonly Buffer[]): Buffer {
  let length = 0;
  for (const line of lines) length += line.length;
  const size = length.toString(16) + lineEnd;
  const chunk = Buffer.allocUnsafe(size.length + length + lineEnd.length);
  let at = chunk.write(size, 0, 'latin1');
  for (const line of lines) at += line.copy(chunk, at);
  chunk.write(lineEnd, at, 'latin1');
  return chunk;
}
