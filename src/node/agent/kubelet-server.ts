/**
 * The kubelet API, through which the API server reaches a node. Served over TLS to clients with a certificate
 * of the authority for nodes, and in memory to an API server of the same process. Errors are plain text.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { subjectOf } from '../../pki/certificate.ts';
import { readSubject } from '../../pki/distinguished-name.ts';
import { paced } from '../../pki/first-flights.ts';
import { Handshakes, handshakeMaxMs } from '../../pki/handshakes.ts';
import { apiServerSubject } from '../../pki/node-certificates.ts';
import { memoryPipe } from '../../streams/bytes/memory-pipe.ts';
import { refuseUpgrade } from '../../streams/dial/upgrade-request.ts';
import {
  type KubeletHost,
  KubeletRefusal,
  notFound,
  podConnection,
  sessionRoutes,
} from './kubelet-sessions.ts';
import { answer } from './kubelet-views.ts';
import { Strangers } from './strangers.ts';

const headerBytesMax = 1024 * 1024;
const keepAliveMs = 90_000;
const urlCharactersMax = 1024 * 1024;
/** Time that requests and sessions under way get to finish when the agent closes. */
const goodbyeMs = 3_000;
/** Handshakes under way: the API server has few, and everybody who reaches the port can begin many. */
const handshakesMax = 500;

export interface KubeletListening {
  readonly host: string;
  readonly port: number;
  /** This agent's certificate and key, and the authority that client certificates must be signed by. */
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
}

/**
 * Whether the client is the API server. The authority signs certificates of agents, too, but only the API server may
 * act on pods.
 */
function isApiServer(socket: TLSSocket): boolean {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  if (!certificate) return false;
  return readSubject(subjectOf(certificate.raw)).commonName === apiServerSubject.commonName;
}

export class KubeletServer {
  readonly #inside: Server;
  readonly #sockets = new Set<Duplex>();
  /** Responses and sessions that have not finished. */
  readonly #underWay = new Set<Promise<unknown>>();
  #outside: Server | undefined;
  #secure: SecureServer | undefined;
  #closed = false;

  constructor(
    private readonly host: KubeletHost,
    private readonly onError: (error: Error) => void,
  ) {
    this.#inside = this.#serve(createServer({ maxHeaderSize: headerBytesMax }), () => true);
  }

  /** Listens on the network; resolves with the port. */
  async listen({ host, port, tls }: KubeletListening): Promise<number> {
    // Accept connections without a client certificate, so that they can be answered with 401.
    const server = createSecureServer({
      ...tls,
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
      maxHeaderSize: headerBytesMax,
      handshakeTimeout: handshakeMaxMs,
    });
    this.#secure = server;
    const flights = paced(server, handshakeMaxMs);
    new Handshakes(server, handshakesMax);
    this.#outside = this.#serve(server, ({ socket }) => isApiServer(socket as TLSSocket));
    const byNode = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
    const strangers = new Strangers();
    server.removeAllListeners('secureConnection').on('secureConnection', (socket: TLSSocket) => {
      flights.finish(socket, socket.getPeerX509Certificate());
      this.#track(socket);
      if (isApiServer(socket)) for (const take of byNode) take.call(server, socket);
      else strangers.take(socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, host, () => {
        server.off('error', reject).on('error', this.onError);
        resolve();
      });
    });
    return (server.address() as AddressInfo).port;
  }

  /** Uses another certificate for new connections. */
  useCertificate(tls: KubeletListening['tls']): void {
    this.#secure?.setSecureContext({ ...tls, minVersion: 'TLSv1.2' });
  }

  /** An in-memory connection from this process. */
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
   * Stops accepting, then waits up to `goodbyeMs` for sessions to end with their containers before cutting
   * all connections: a client whose session is cut off takes that for success.
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
      // Report a wrong pod or container before the missing upgrade, as the upgrade path does.
      podConnection(this.host, request, path, query);
      throw new KubeletRefusal(400, 'Upgrade request required');
    }
    await answer(this.host, request, response, path, query);
    // Wait until the response is flushed to the socket.
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

/** The path in decoded segments, dot segments resolved: regular clients never send them. */
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
