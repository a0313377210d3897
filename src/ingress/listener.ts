/** Listeners: accept HTTP or HTTPS connections, with idle timeouts and a limit on their number. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import type { TLSSocket } from 'node:tls';
import { paced } from '../pki/first-flights.ts';
import { isOfferOnly, withoutOffer } from '../streams/dial/http2-offer.ts';
import { type Certificate, type Certificates, minVersion } from './certificates.ts';

export interface ListenerLimits {
  /** Maximum concurrent connections; further ones are closed. */
  readonly connectionsMax: number;
  /** Timeout for the head of a request, and for the TLS handshake. */
  readonly headMs: number;
  /** Idle timeout of a request, in both directions. */
  readonly idleMs: number;
  /** Idle timeout between two requests on a connection. */
  readonly keepAliveMs: number;
}

export const defaultLimits: ListenerLimits = {
  connectionsMax: 4_096,
  headMs: 15_000,
  idleMs: 300_000,
  keepAliveMs: 60_000,
};

/** Maximum pipelined requests waiting on one connection; more is an attack. */
const waitingMax = 64;
/** How many times per timeout slow connections are checked. */
const checksPerLimit = 4;

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: ListenerLimits;
  /** If given, the listener speaks HTTPS. */
  readonly certificates?: Certificates;
  readonly request: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly upgrade: (request: IncomingMessage, socket: Socket, head: Buffer) => Promise<void>;
  readonly onError: (error: Error) => void;
}

interface Queue {
  length: number;
  last: Promise<void>;
}

export class Listener {
  readonly #server: Server | SecureServer;
  readonly #sockets = new Set<Socket>();
  readonly #queues = new WeakMap<Socket, Queue>();
  #shown: Certificate | undefined;

  constructor(private readonly options: ListenerOptions) {
    const { limits, certificates } = options;
    const common = {
      headersTimeout: limits.headMs,
      // No total limit: large bodies take their time, and stalled ones hit the idle timeout.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.ceil(limits.headMs / checksPerLimit),
    };
    this.#server = certificates
      ? createSecureServer({
          ...common,
          minVersion,
          handshakeTimeout: limits.headMs,
          // Undefined means the default context.
          SNICallback: (name, done) => done(null, certificates.find(name.toLowerCase())?.context),
        })
      : createServer(common);
    if (certificates) {
      // Handshakes that come at once would all begin in one turn of the event loop.
      const flights = paced(this.#server as SecureServer, limits.headMs);
      this.#server.on('secureConnection', (socket: TLSSocket) => flights.finish(socket, undefined));
    }
    this.#server.maxConnections = limits.connectionsMax;
    // No limit on the number of headers: Node would silently drop the rest. Their bytes are limited.
    this.#server.maxHeadersCount = 0;
    this.#server
      .on('connection', this.#track)
      .on('secureConnection', this.#track)
      .on('request', (request: IncomingMessage, response: ServerResponse) => this.#request(request, response))
      .on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) =>
        this.#upgrade(request, socket, head),
      );
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  listen(): Promise<void> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      server.once('error', reject).listen(this.options.port, this.options.host, () => {
        server.off('error', reject).on('error', this.options.onError);
        resolve();
      });
    });
  }

  /** Uses the current default certificate. */
  renew(): void {
    const certificate = this.options.certificates?.default;
    if (certificate === this.#shown) return;
    this.#shown = certificate;
    const { cert, key } = certificate ?? {};
    (this.#server as SecureServer).setSecureContext({ cert, key, minVersion });
  }

  /** Closes every open connection. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  readonly #track = (socket: Socket): void => {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
  };

  #request(request: IncomingMessage, response: ServerResponse): void {
    request.on('error', () => undefined);
    response
      .on('error', () => undefined)
      .setTimeout(this.options.limits.idleMs, () => {
        if (response.headersSent) response.destroy();
        else response.writeHead(504, { 'Content-Length': '0', Connection: 'close' }).end();
      });
    this.#enqueue(request, response);
  }

  /** Serves the requests of a connection one at a time: otherwise a single client could occupy all backends. */
  #enqueue(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const queue = this.#queues.get(socket) ?? { length: 0, last: Promise.resolve() };
    this.#queues.set(socket, queue);
    if (queue.length > waitingMax) return void socket.destroy();
    queue.length++;
    queue.last = queue.last
      .then(() => this.#serve(request, response))
      .catch(this.options.onError)
      .finally(() => {
        queue.length--;
      });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.socket.destroyed) return;
    await this.options.request(request, response);
    // Wait until this answer is sent: pipelined answers must come in order.
    await finished(response).catch(() => undefined);
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const before = this.#queues.get(socket)?.last ?? Promise.resolve();
    before
      .then(async () => {
        if (socket.destroyed) return;
        if (isOfferOnly(request)) this.#again(request, socket, head);
        else await this.options.upgrade(request, socket, head);
      })
      .catch(this.options.onError);
  }

  /** Feeds the request to the server again, without its upgrade headers. */
  #again(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.unshift(withoutOffer(request, head));
    const event = this.options.certificates ? 'secureConnection' : 'connection';
    this.#server.emit(event, socket);
    socket.resume();
  }
}
