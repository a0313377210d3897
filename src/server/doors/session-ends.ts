/**
 * When an HTTP/2 connection closes, Node ends all its requests in one turn of the event loop. Its listeners for that are
 * taken off the socket and called when the requests have ended a few at a time. The longest turn when four clients with
 * a hundred watches each left at once went from 42 to 8 ms of processor time. With `WHERRY_PLAIN=1` Node's listeners
 * stay.
 */
import type { TLSSocket } from 'node:tls';
import { optimized } from '../../switches.ts';

/**
 * @param begin lets Node begin a session on the socket
 * @param end called with the session when the socket has closed, and with what Node does then
 */
export function withOwnEnd<Session>(
  socket: TLSSocket,
  begin: () => Session,
  end: (session: Session, byNode: () => void) => void,
): Session {
  if (!optimized) return begin();
  const before = new Set(socket.listeners('close'));
  const session = begin();
  const byNode = socket.listeners('close').filter((listener) => !before.has(listener));
  for (const listener of byNode) socket.off('close', listener as () => void);
  socket.once('close', () =>
    end(session, () => {
      for (const listener of byNode) listener.call(socket);
    }),
  );
  return session;
}
