/** For tests: an HTTP server that passes upgrade requests to the tested code, and tracks open sockets. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { onTestFinished, vi } from 'vitest';
import { SpdyConnection } from '../spdy/spdy-connection.ts';

export type Serve = (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;

export class UpgradeServer {
  readonly #server;
  /** The sockets that are still open. */
  readonly sockets = new Set<Socket>();
  /** One promise per upgrade, for its end. */
  readonly served: Promise<void>[] = [];

  constructor(serve: Serve) {
    this.#server = createServer((_request, response) => response.writeHead(404).end());
    this.#server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    this.#server.on('upgrade', (request, socket, head) => {
      const served = serve(request, socket, head);
      served.catch(() => undefined);
      this.served.push(served);
    });
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = '/'): string {
    return `ws://127.0.0.1:${this.port}${path}`;
  }

  /** Waits until everything that was served has ended. */
  async over(): Promise<void> {
    await Promise.all(this.served);
  }

  /** Safe to call twice: a test may close its server itself. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** A bare connection that has sent a request. */
  async send(request: string): Promise<Socket> {
    const socket = connect({ port: this.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(request);
    return socket;
  }

  /** The whole answer to a request, up to the end of the connection. */
  async answer(request: string): Promise<string> {
    const socket = await this.send(request);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    await once(socket, 'end');
    socket.destroy();
    return text;
  }

  /** A SPDY client, after the handshake. */
  async spdy(
    protocols: readonly string[],
  ): Promise<{ head: string; connection: SpdyConnection; socket: Socket }> {
    const socket = await this.send(spdyRequest(protocols));
    const { head, rest } = await readHead(socket);
    const connection = new SpdyConnection(socket, { role: 'client', head: rest });
    // The client adds its listener in the next tick.
    process.nextTick(() => socket.resume());
    return { head, connection, socket };
  }
}

/** The server of the running test: the last that `serveUpgrades` has started. */
export let server: UpgradeServer | undefined;

/** Starts the server of a test, which is closed at the test's end, in real time. Close it before starting another. */
export async function serveUpgrades(serve: Serve): Promise<UpgradeServer> {
  const started = await new UpgradeServer(serve).listen();
  onTestFinished(async () => {
    vi.useRealTimers();
    await started.close();
    if (server === started) server = undefined;
  });
  server = started;
  return started;
}

export const spdyRequest = (protocols: readonly string[]): string =>
  [
    'POST / HTTP/1.1',
    'Host: a',
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    'Content-Length: 0',
    ...protocols.map((name) => `X-Stream-Protocol-Version: ${name}`),
    '\r\n',
  ].join('\r\n');

export const webSocketRequest = (...more: string[]): string =>
  [
    'GET / HTTP/1.1',
    'Host: a',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...more,
    '\r\n',
  ].join('\r\n');

export async function readHead(socket: Socket): Promise<{ head: string; rest: Buffer }> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    bytes = Buffer.concat([bytes, chunk]);
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) continue;
    socket.pause();
    return { head: bytes.toString('latin1', 0, end), rest: bytes.subarray(end + 4) };
  }
}

/** All data of a stream until its end; unlike `for await` it does not destroy the other half. */
export function text(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const done = () => resolve(Buffer.concat(chunks).toString());
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.once('end', done).once('close', done);
    if (stream.closed) done();
  });
}

/** Waits until the check passes, however slow the machine is. */
export const until = (check: () => void): Promise<void> =>
  vi.waitFor(check, { timeout: 60_000, interval: 5 });
