/** Joining TCP connections: what a client of a service says goes to one who answers for it, and back. */
import type { Socket } from 'node:net';

/** A peer that has vanished is found by TCP's own means. */
const keepAliveMs = 60_000;

/**
 * Passes everything on in both directions, ends included, until both have ended or one has failed. Neither is read
 * faster than the other takes it.
 */
export function join(client: Socket, target: Socket): void {
  for (const socket of [client, target]) {
    socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
    // One side may have said everything and still listen.
    socket.allowHalfOpen = true;
  }
  const watch = (socket: Socket, other: Socket): void => {
    socket.on('error', () => reset(other));
    socket.once('close', () => {
      // Cut off before its end: the other is not to take that for one.
      if (!socket.readableEnded || !socket.writableFinished) reset(other);
    });
  };
  watch(client, target);
  watch(target, client);
  client.pipe(target);
  target.pipe(client);
}

/** Ends a connection so that the other side sees it fail. */
export function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}
