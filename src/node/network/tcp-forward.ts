/** Joins two TCP connections: a client's, and the one to an endpoint of the service. */
import type { Socket } from 'node:net';

/** TCP keep-alive finds peers that have vanished. */
const keepAliveMs = 60_000;

/**
 * Copies bytes and ends of stream both ways until both have ended or one has failed. Back-pressure: neither
 * side is read faster than the other accepts.
 */
export function join(client: Socket, target: Socket): void {
  for (const socket of [client, target]) {
    socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
    // A side that has finished sending may still receive.
    socket.allowHalfOpen = true;
  }
  const watch = (socket: Socket, other: Socket): void => {
    socket.on('error', () => reset(other));
    socket.once('close', () => {
      // Closed before its end: reset the other side, so that it does not take that for a regular end.
      if (!socket.readableEnded || !socket.writableFinished) reset(other);
    });
  };
  watch(client, target);
  watch(target, client);
  client.pipe(target);
  target.pipe(client);
}

/** Closes a connection with a TCP reset, so that the peer sees a failure. */
export function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}
