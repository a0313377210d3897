/** Connections for watches, opened by a user without rights until no more are let in. */
import type { TLSSocket } from 'node:tls';
import { type Attack, smallLimits } from '../attack.ts';

/** As in `smallLimits`. */
const connectionsMax = 60;

/** Asks for one, and tells whether it was opened. */
async function opened(socket: TLSSocket, token: string): Promise<boolean> {
  socket.write(
    `GET /wherry/watches HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\n` +
      'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  const answer = await new Promise<Buffer | undefined>((resolve) =>
    socket.once('data', resolve).once('close', () => resolve(undefined)),
  );
  return answer?.toString('latin1').startsWith('HTTP/1.1 101') ?? false;
}

export const attack: Attack = {
  name: 'connections for watches',
  options: smallLimits,
  run: async (server) => {
    const gotIn: string[] = [];
    const sockets: TLSSocket[] = [];
    let own = 0;
    for (let i = 0; i < connectionsMax + 5; i++) {
      const socket = await server.connection(i % 2 ? '127.0.0.2' : '127.0.0.1');
      sockets.push(socket);
      if (await opened(socket, 'nobody-token')) own++;
    }
    if (own > connectionsMax / 2) gotIn.push(`${own} of ${connectionsMax} connections`);
    const late = await server.connection();
    sockets.push(late);
    if (!(await opened(late, 'admin-token'))) gotIn.push('the administrator finds no room');
    for (const socket of sockets) socket.destroy();
    return { gotIn, says: `${own} of ${connectionsMax} connections opened` };
  },
};
