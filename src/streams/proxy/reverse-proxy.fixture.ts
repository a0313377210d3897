/** For tests of the reverse proxy: a target, a proxy in front of it, and clients. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request as openRequest,
  type RequestListener,
  type RequestOptions,
  type Server,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { StatusError } from '../../api/errors/errors.ts';
import { dialTcp } from '../dial/dialing.ts';
import { forward, forwardUpgrade, type ProxyTarget } from './reverse-proxy.ts';

/** Closes something at the end of the test. */
export const closing = (close: () => void): void => onTestFinished(() => close());

export async function listening(server: Server | import('node:net').Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

export const prefix = '/api/v1/namespaces/ns/pods/p/proxy';

export interface Proxy {
  readonly port: number;
  /** The errors that `forward` threw, in order. */
  readonly failures: unknown[];
  /** Resolves when a request is finished on the proxy's side. */
  idle(): Promise<void>;
}

/** A proxy for the target on a port of this machine. */
export async function proxyTo(targetPort: number, changes: Partial<ProxyTarget> = {}): Promise<Proxy> {
  const failures: unknown[] = [];
  const underWay = new Set<Promise<void>>();
  const track = (work: Promise<void>): void => {
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  };
  const targetOf = ({ url }: IncomingMessage): ProxyTarget => ({
    connect: () => dialTcp(['127.0.0.1'], targetPort),
    host: `127.0.0.1:${targetPort}`,
    path: url!,
    prefix,
    rewrite: true,
    dropCors: true,
    ownOrigin: true,
    keepHost: true,
    ...changes,
  });
  const server = createServer((request, response) => {
    track(
      forward(request, response, targetOf(request)).catch((error) => {
        failures.push(error);
        const { status } = error as StatusError;
        response.writeHead(status?.code ?? 599, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify(status ?? String(error)));
      }),
    );
  });
  server.on('upgrade', (request, socket, head) => {
    track(
      forwardUpgrade(request, socket as Socket, head, targetOf(request)).catch((error) => {
        failures.push(error);
        const body = JSON.stringify(error instanceof StatusError ? error.status : String(error));
        socket.end(`HTTP/1.1 ${error.code ?? 599} No\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      }),
    );
  });
  return {
    port: await listening(server),
    failures,
    idle: async () => void (await Promise.allSettled(underWay)),
  };
}

export const serve = (handler: RequestListener): Promise<number> => listening(createServer(handler));

export interface Answer {
  readonly status: number;
  readonly message: string;
  readonly headers: IncomingMessage['headers'];
  readonly raw: string[];
  readonly body: Buffer;
}

export async function ask(
  port: number,
  options: RequestOptions = {},
  body?: Buffer | string,
): Promise<Answer> {
  const sent = openRequest({ host: '127.0.0.1', port, agent: false, ...options });
  if (body !== undefined) sent.setHeader('Content-Length', Buffer.byteLength(body));
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return {
    status: answer.statusCode!,
    message: answer.statusMessage!,
    headers: answer.headers,
    raw: answer.rawHeaders,
    body: Buffer.concat(chunks),
  };
}

/** Sends bytes; resolves with all that is received until the connection ends. */
export async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  closing(() => socket.destroy());
  socket.on('error', () => undefined).write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

/** A raw TCP target: answers the first request with a fixed text, and records what it received. */
export async function speak(
  answer: string | Buffer,
  end = true,
): Promise<{ port: number; heard: () => string }> {
  const { createServer: createNetServer } = await import('node:net');
  let heard = '';
  const port = await listening(
    createNetServer((socket) => {
      socket.on('data', (chunk) => {
        const first = heard === '';
        heard += chunk.toString('latin1');
        if (!first) return;
        if (end) socket.end(answer);
        else socket.write(answer);
      });
    }),
  );
  return { port, heard: () => heard };
}

/** What a client gets for an answer with these header lines and body; adds a Content-Length if it is missing. */
export const answered = async (head: string[], body = '', changes = {}, options = {}) => {
  const length = head.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const lines = [...head, ...(length ? [] : [`Content-Length: ${Buffer.byteLength(body)}`])];
  const target = await speak(`HTTP/1.1 ${lines.join('\r\n')}\r\n\r\n${body}`);
  const proxy = await proxyTo(target.port, changes);
  return ask(proxy.port, { headers: { Host: 'localhost:8001' }, ...options });
};
