/**
 * Port-forward over a WebSocket for kubelets that speak only SPDY: the payload of the messages is a SPDY connection, so
 * it is copied to one, unread.
 */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { WebSocketBytes } from './websocketbytes.ts';

/** How long one side may take to finish when the other has gone. */
const lingerMs = 10_000;

/** Joins an accepted WebSocket and an upgraded socket; `head` came behind the upgrade. Resolves when both are closed. */
export async function untunnel(webSocket: WebSocket, spdySocket: Duplex, head?: Buffer): Promise<void> {
  const bytes = new WebSocketBytes(webSocket);
  const sides = [bytes, spdySocket];
  let linger: NodeJS.Timeout | undefined;
  const closed = sides.map((side, index) => {
    const other = sides[1 - index]!;
    // What was read is passed on, also when the side broke; then the other has nobody to talk to.
    side.on('error', () => side.destroy());
    side.once('close', () => {
      other.end();
      linger ??= setTimeout(() => other.destroy(), lingerMs);
      other.resume();
    });
    return new Promise<void>((resolve) => (side.closed ? resolve() : side.once('close', () => resolve())));
  });
  if (head !== undefined && head.length > 0) bytes.write(head);
  bytes.pipe(spdySocket);
  spdySocket.pipe(bytes);
  await Promise.all(closed);
  clearTimeout(linger);
}
