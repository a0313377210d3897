/** Connections that send a megabyte of header lines and never end the head, at a server with little memory. */
import type { TLSSocket } from 'node:tls';
import type { Attack } from '../attack.ts';

const lines = 'a: b\r\n'.repeat(160_000);
const long = `a: ${'b'.repeat(950_000)}`;

export const attack: Attack = {
  name: 'heads that never end',
  flags: ['--max-old-space-size=128'],
  run: async (server, isShort) => {
    const sockets: TLSSocket[] = [];
    const count = isShort ? 50 : 200;
    for (let i = 0; i < count; i++) {
      const socket = await server.connection();
      sockets.push(socket);
      socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\n${i % 4 ? lines : long}`);
    }
    const answers = [];
    for (let i = 0; i < (isShort ? 5 : 10); i++)
      answers.push(await server.ask('neighbour', '/api/v1/namespaces/default/pods'));
    const gotIn = answers
      .filter(({ status }) => status !== 200)
      .map(({ status }) => `the neighbour gets ${status}`);
    const cut = sockets.filter((socket) => socket.destroyed).length;
    for (const socket of sockets) socket.destroy();
    return { gotIn, says: `${count} heads of a megabyte, ${cut} cut off` };
  },
};
