/**
 * The kubelet API: what the API server asks a node for. It is served over TLS to those who have the right
 * certificate, and through memory to an API server of the same process. Errors are plain text.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { memoryPipe } from '../../streams/memorypipe.ts';
import { refuseUpgrade } from '../../streams/upgraderequest.ts';
import {
  type KubeletHost,
  KubeletRefusal,
  notFound,
  podConnection,
  sessionRoutes,
} from './kubeletsessions.ts';
import { answer } from './kubeletviews.ts';

const headerBytesMax = 1024 * 1024;
const keepAliveMs = 90_000;
const handshakeMaxMs = 10_000;
const urlCharactersMax = 1024 * 1024;
/** What is under way when the agent closes has this long to come to its end, and clients to be told of it. */
const goodbyeMs = 3_000;

export interface KubeletListening {
  readonly host: string;
  readonly port: number;
  /** The certificate of this agent, and the authority whose client certificates are let in. */
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
}

export class KubeletServer {
  readonly #inside: Server;
  readonly #sockets = new Set<Duplex>();
  /** Answers and sessions that have not come to their end. */
  readonly #underWay = new Set<Promise<unknown>>();
  #outside: Server | undefined;
  #closed = false;

  constructor(
    private readonly host: KubeletHost,
    private readonly onError: (error: Error) => void,
  ) {
    this.#inside = this.#serve(createServer({ maxHeaderSize: headerBytesMax }), () => true);
  }

  /** Listens on the network, and answers the port. */
  async listen({ host, port, tls }: KubeletListening): Promise<number> {
    // Clients without a certificate are let in far enough to get a 401.
    const server = createSecureServer({
      ...tls,
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
      maxHeaderSize: headerBytesMax,
      handshakeTimeout: handshakeMaxMs,
    });
    this.#outside = this.#serve(server, ({ socket }) => (socket as TLSSocket).authorized === true);
    server.on('secureConnection', (socket) => this.#track(socket));
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, host, () => {
        server.off('error', reject).on('error', this.onError);
        resolve();
      });
    });
    return (server.address() as AddressInfo).port;
  }

  /** A connection of this process. */
  connect(): Duplex {
    const [client, served] = memoryPipe();
    if (this.#closed) {
      served.destroy();
      return client;
    }
    this.#inside.emit('connection', served);
    return client;
  }

  /**
   * Takes no more. Sessions end with their containers, and a client whose session is cut off takes that for a success:
   * so they are waited for, within reason, before all connections are cut.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const outside = this.#outside;
    const closed = new Promise<void>((resolve) => {
      if (outside?.listening) outside.close(() => resolve());
      else resolve();
    });
    await this.#goodbye();
    for (const socket of this.#sockets) socket.destroy();
    outside?.closeAllConnections();
    await closed;
  }

  async #goodbye(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, goodbyeMs);
    });
    await Promise.race([Promise.allSettled(this.#underWay), late]);
    clearTimeout(timer);
  }

  async #attend(work: () => Promise<void>): Promise<void> {
    if (this.#closed) throw new KubeletRefusal(503, 'the agent is shutting down');
    const underWay = work();
    this.#underWay.add(underWay);
    try {
      await underWay;
    } finally {
      this.#underWay.delete(underWay);
    }
  }

  #track(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => this.#sockets.delete(socket));
  }

  #serve(server: Server, isKnown: (request: IncomingMessage) => boolean): Server {
    server.keepAliveTimeout = keepAliveMs;
    server.maxHeadersCount = 0;
    server.on('connection', (socket) => this.#track(socket));
    server.on('clientError', (_error, socket) => socket.destroy());
    server.on('request', (request, response) => {
      request.on('error', () => undefined);
      response.on('error', () => undefined);
      if (!isKnown(request)) return refuse(response, new KubeletRefusal(401, 'Unauthorized'));
      this.#attend(() => this.#answer(request, response)).catch((error: Error) =>
        this.#fail(response, error),
      );
    });
    server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => undefined);
      if (!isKnown(request)) return refuseUpgrade(socket, { status: 401, text: 'Unauthorized' });
      this.#attend(() => this.#upgrade(request, socket, head)).catch((error: Error) => {
        const { code, message } = asRefusal(error, this.onError);
        refuseUpgrade(socket, {
          status: code,
          text: message,
          ...(code === 429 ? { headers: retryAfter } : {}),
        });
      });
    });
    return server;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, query } = locationOf(request);
    if (sessionRoutes.has(path[0] ?? '')) {
      // Wrong pods and containers are told of before the missing upgrade, as with it.
      podConnection(this.host, request, path, query);
      throw new KubeletRefusal(400, 'Upgrade request required');
    }
    await answer(this.host, request, response, path, query);
    // What was handed over last is still on its way.
    if (!response.closed) await new Promise((resolve) => response.once('close', resolve));
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { path, query } = locationOf(request);
    if (!sessionRoutes.has(path[0] ?? '')) throw notFound();
    await podConnection(this.host, request, path, query)(socket, head);
  }

  #fail(response: ServerResponse, error: Error): void {
    if (response.headersSent) response.destroy();
    else refuse(response, asRefusal(error, this.onError));
  }
}

const retryAfter = [['Retry-After', '1']] as const;

function asRefusal(error: Error, onError: (error: Error) => void): KubeletRefusal {
  if (error instanceof KubeletRefusal) return error;
  onError(error);
  return new KubeletRefusal(500, error.message);
}

function refuse(response: ServerResponse, { code, message, allow }: KubeletRefusal): void {
  response
    .writeHead(code, {
      'Content-Type': 'text/plain; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
      ...(allow ? { Allow: allow } : {}),
    })
    .end(message);
}

/** The path in decoded segments. Dot segments are resolved: they come from nobody with good intentions. */
function locationOf({ url = '/' }: IncomingMessage): { path: string[]; query: URLSearchParams } {
  try {
    if (url.length > urlCharactersMax) throw new Error('too long');
    const { pathname, searchParams } = new URL(url, 'http://kubelet');
    const path = pathname.split('/').slice(1).map(decodeURIComponent);
    if (path.at(-1) === '') path.pop();
    return { path, query: searchParams };
  } catch {
    throw new KubeletRefusal(400, 'Bad Request');
  }
}
