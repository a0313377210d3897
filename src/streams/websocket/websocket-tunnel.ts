/**
 * Port-forward over a WebSocket for kubelets that speak only SPDY: the messages carry the bytes of a SPDY
 * connection, which are copied without parsing.
 */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { WebSocketBytes } from './websocket-bytes.ts';

/** Time one side has to finish after the other has closed. */
const lingerMs = 10_000;

/**
 * Joins an accepted WebSocket and an upgraded socket; `head` was received after the upgrade. Resolves when
 * both are closed.
 */
export async function untunnel(webSocket: WebSocket, spdySocket: Duplex, head?: Buffer): Promise<void> {
  const bytes = new WebSocketBytes(webSocket);
  const sides = [bytes, spdySocket];
  let linger: NodeJS.Timeout | undefined;
  const closed = sides.map((side, index) => {
    const other = sides[1 - index]!;
    // Data read before an error is still passed on; then the other side is closed.
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
