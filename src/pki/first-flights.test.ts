/** Proves that TLS begins on few connections at once, fairly between addresses, and only when their ClientHello is there. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FirstFlights } from './first-flights.ts';

/** A record of TLS that holds a whole handshake message of 100 bytes. */
const hello = Buffer.concat([Buffer.from([22, 3, 1, 0, 104, 1, 0, 0, 100]), Buffer.alloc(100, 7)]);

let server: Server;
let clients: Socket[];
/** Addresses of connections in the order in which TLS began, and the bytes that it found. */
let begun: { address: string; bytes: string }[];
/** How many began in each turn of the event loop. */
let turns: Map<number, number>;
let accepted: Socket[];
/** How long each takes by the clock of the test. */
let stepMs: number;
let nowMs = 0;
let turn = 0;
let counting: NodeJS.Immediate;

beforeEach(async () => {
  [clients, begun, turns, accepted] = [[], [], new Map(), []];
  stepMs = 0;
  const count = (): void => {
    turn++;
    counting = setImmediate(count);
  };
  count();
  const begin = (socket: Socket): void => {
    nowMs += stepMs;
    turns.set(turn, (turns.get(turn) ?? 0) + 1);
    const bytes = (socket.read() as Buffer | null)?.toString('hex') ?? '';
    begun.push({ address: socket.remoteAddress!, bytes });
    setImmediate(() => flights.finish(socket as TLSSocket, undefined));
  };
  const flights = new FirstFlights(begin, 1_000, () => nowMs);
  server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket);
    flights.take(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  clearImmediate(counting);
  for (const socket of [...clients, ...accepted]) socket.destroy();
  server.close();
});

async function open(localAddress = '127.0.0.1'): Promise<Socket> {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined);
  clients.push(socket);
  await once(socket, 'connect');
  return socket;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

it('few begin in a turn, and addresses alternate', async () => {
  const many: Socket[] = [];
  for (let i = 0; i < 40; i++) many.push(await open());
  const other = await open('127.0.0.2');
  await until(() => accepted.length === 41);
  for (const socket of many) socket.write(hello);
  other.write(hello);
  await until(() => begun.length === 41);
  expect(Math.max(...turns.values())).toBeLessThanOrEqual(4);
  expect(begun.every(({ bytes }) => bytes === hello.toString('hex'))).toBe(true);
  expect(begun.findIndex(({ address }) => address === '127.0.0.2')).toBeLessThan(38);
});

it('fewer begin in a turn when they take long', async () => {
  stepMs = 1.5;
  const many: Socket[] = [];
  for (let i = 0; i < 12; i++) many.push(await open());
  await until(() => accepted.length === 12);
  for (const socket of many) socket.write(hello);
  await until(() => begun.length === 12);
  expect(Math.max(...turns.values())).toBeLessThanOrEqual(2);
});

it('begin when the last byte is there, also when it comes in parts and records', async () => {
  const parts = [hello.subarray(0, 1), hello.subarray(1, 50), hello.subarray(50)];
  const records = [
    Buffer.concat([Buffer.from([22, 3, 1, 0, 54, 1, 0, 0, 100]), Buffer.alloc(50, 7)]),
    Buffer.concat([Buffer.from([22, 3, 1, 0, 50]), Buffer.alloc(50, 7)]),
  ];
  for (const pieces of [parts, records]) {
    begun = [];
    const socket = await open();
    let sent = 0;
    for (const piece of pieces) {
      expect(begun).toEqual([]);
      socket.write(piece);
      sent += piece.length;
      await until(() => accepted.at(-1)!.bytesRead === sent);
    }
    await until(() => begun.length === 1);
    expect(begun[0]!.bytes).toBe(Buffer.concat(pieces).toString('hex'));
  }
});

it('what is not TLS is left to TLS to refuse, and what ends or says nothing is closed', async () => {
  (await open()).write('GET / HTTP/1.1\r\n\r\n');
  await until(() => begun.length === 1);
  const ended = await open();
  ended.write(hello.subarray(0, 20));
  ended.end();
  const silent = await open();
  await until(() => accepted.slice(1).every(({ destroyed }) => destroyed) && silent.closed);
  expect(accepted).toHaveLength(3);
  expect(begun).toHaveLength(1);
});
