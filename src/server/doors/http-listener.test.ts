/** Proves that slow heads are cut off in time, and that a connection ends with its last answer. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { Door, Reception } from '../http/door.ts';

import type { Limits } from '../http/limits.ts';
import { Arrivals } from '../lane/arrivals.ts';
import { HttpListener, listenerOptions } from './http-listener.ts';

it('a dripped head is refused within a second of its time, not within thirty', async () => {
  const server = createServer({
    ...listenerOptions({ headerBytesMax: 1_000 } as Limits),
    headersTimeout: 50,
  });
  const refused = new Promise<string | undefined>((resolve) =>
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      resolve(error.code);
      socket.destroy();
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\n');
  const drip = setInterval(() => socket.write('A: b\r\n'), 10);
  expect(await refused).toBe('ERR_HTTP_REQUEST_TIMEOUT');
  clearInterval(drip);
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

it('requests behind the last answer of a connection are not carried out, and do not hold closing up', async () => {
  const seen: string[] = [];
  const reception = {
    request: (_: Door, request: IncomingMessage, response: ServerResponse) => {
      seen.push(request.url!);
      response.writeHead(200, { Connection: 'close' }).end('last');
    },
  } as unknown as Reception;
  const server = createServer();
  const listener = new HttpListener(server, {} as Door, reception, new Arrivals());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(['/a', '/b', '/c'].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  await once(socket.resume(), 'close');
  expect(seen).toEqual(['/a']);
  listener.shut();
  await listener.close(() => undefined);
});

it('upgrades that come all at once begin a few in a turn', async () => {
  let begun = 0;
  const reception = { upgrade: () => begun++ } as unknown as Reception;
  const request = { httpVersion: '1.1', rawHeaders: ['Host', 'a', 'Upgrade', 'websocket'] };
  const server = createServer();
  const listener = new HttpListener(server, {} as Door, reception, new Arrivals());
  for (let i = 0; i < 20; i++) server.emit('upgrade', request, new Socket(), Buffer.alloc(0));
  const counts = [0, begun];
  while (begun < 20) {
    await new Promise((resolve) => setImmediate(resolve));
    counts.push(begun);
  }
  expect(Math.max(...counts.slice(1).map((count, i) => count - counts[i]!))).toBeLessThanOrEqual(2);
  listener.shut();
});

it('connections that are cut off all at once are refused a few in a turn', async () => {
  const server = createServer();
  const reception = { keeper: { limits: {} } } as unknown as Reception;
  const listener = new HttpListener(server, {} as Door, reception, new Arrivals());
  let refused = 0;
  for (let i = 0; i < 100; i++) {
    const socket = new Socket();
    socket.end = () => {
      refused++;
      return socket;
    };
    Object.defineProperty(socket, 'writable', { value: true });
    server.emit('clientError', Object.assign(new Error(), { code: 'HPE_INVALID_EOF_STATE' }), socket);
  }
  const counts = [0, refused];
  while (refused < 100) {
    await new Promise((resolve) => setImmediate(resolve));
    counts.push(refused);
  }
  expect(Math.max(...counts.slice(1).map((count, i) => count - counts[i]!))).toBeLessThanOrEqual(20);
  listener.shut();
});
