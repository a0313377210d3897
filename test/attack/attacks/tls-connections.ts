/** Thousands of connections: handshakes that never end, and such that end and ask for nothing. */
import { connect, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer } from '../attacked-server.ts';

/** The beginning of a ClientHello, of which the rest never comes. */
const hello = Buffer.from('160301020001000000', 'hex');
/** Connections that are being opened at once. */
const together = 50;
const path = '/api/v1/namespaces/default/configmaps?limit=1';

/** One of several addresses of this machine, none of which is the neighbour's. */
const addressOf = (i: number): string => `127.0.0.${2 + (i % 8)}`;

async function slow(server: AttackedServer, i: number): Promise<Socket> {
  const { hostname, port } = new URL(server.secureUrl);
  const local = hostname.startsWith('127.') ? { localAddress: addressOf(i) } : {};
  const socket = connect({ host: hostname, port: Number(port), ...local });
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve));
  socket.write(i % 2 ? hello : hello.subarray(0, 1));
  return socket;
}

async function inGroups<T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let i = 0; i < count; i += together) {
    const group = Array.from({ length: Math.min(together, count - i) }, (_, j) => make(i + j));
    made.push(...(await Promise.all(group)));
  }
  return made;
}

export const attack: Attack = {
  name: 'thousands of connections',
  run: async (server, isShort) => {
    const count = isShort ? 120 : 5_000;
    const gotIn: string[] = [];
    const codes: number[] = [];
    const check = async (when: string): Promise<void> => {
      for (const rank of ['neighbour', 'admin'] as const) {
        const { status, text } = await server.askAnew(rank, path);
        codes.push(status);
        if (status !== 200) gotIn.push(`${when}, the ${rank} gets ${status} on a new connection: ${text}`);
      }
    };
    const unfinished = await inGroups(count, (i) => slow(server, i));
    await check('beside slow handshakes');
    const cut = unfinished.filter((socket) => socket.destroyed).length;
    const idle: TLSSocket[] = await inGroups(count, (i) => server.connection(addressOf(i)));
    await check('beside idle connections');
    const refused = idle.filter((socket) => socket.destroyed).length;
    for (const socket of [...unfinished, ...idle]) socket.destroy();
    return {
      gotIn,
      says: `${count} slow handshakes (${cut} cut off), ${count} idle connections (${refused} refused); ${codesText(codes)}`,
    };
  },
};
