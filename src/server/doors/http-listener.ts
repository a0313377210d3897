/**
 * The HTTP listener of a door: a Node HTTP or HTTPS server whose events all lead to the server's chain, or are
 * refused with a Status.
 */
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { methodNotAllowed, StatusError } from '../../api/errors/errors.ts';
import { isOfferOnly, withoutOffer } from '../../streams/dial/http2-offer.ts';
import { markDoor } from '../../streams/dial/machine-doors.ts';
import { TurnQueue } from '../../turn-queue.ts';
import type { Door, Reception } from '../http/door.ts';
import type { Limits } from '../http/limits.ts';
import { overload } from '../http/traffic.ts';
import type { Arrivals } from '../lane/arrivals.ts';
import { headersMax } from '../wire/header-count.ts';
import { type ProtocolRefusal, protocolRefusal } from '../wire/protocol-refusal.ts';
import { cuts, refuse, refuseConnection, refusePlainly } from '../wire/refusal.ts';
import { OpenHeads } from './open-heads.ts';
import { Pipelining } from './pipelining.ts';

/** Go clients keep idle connections for 90 s; closing earlier would fail their next request. */
export const keepAliveMs = 120_000;
export const headersTimeoutMs = 30_000;
/**
 * How often Node looks for connections that exceed a timeout. With Node's default of 30 s, a request head could take
 * twice its allowed time.
 */
const timeoutCheckMs = 1_000;
/** On close, clients get this long to read their last answer and close the connection. */
const partingMs = 100;

/**
 * Upgrades that begin in one turn of the event loop: many can come at once. Each takes some milliseconds in all, and its
 * steps, such as finding the pod, dialling its node and starting a program, meet those of others that began before.
 */
const upgradesMax = 1;

/** Options for Node's server, for HTTP and HTTPS. */
export const listenerOptions = ({ headerBytesMax }: Limits): ServerOptions => ({
  maxHeaderSize: headerBytesMax,
  keepAliveTimeout: keepAliveMs,
  headersTimeout: headersTimeoutMs,
  connectionsCheckingInterval: timeoutCheckMs,
  requestTimeout: 0,
  // Node would refuse a request without Host by itself, in other words than Go.
  requireHostHeader: false,
  noDelay: true,
});

export class HttpListener {
  /** Upgraded sockets: Node's server does not track them, so they are closed here. */
  readonly #detached = new Set<Socket>();
  readonly #upgrades = new TurnQueue(upgradesMax);
  readonly #pipelining = new Pipelining();
  readonly #heads = new OpenHeads();
  /** Answers of requests that were passed on, until they are sent or their connections are gone. */
  readonly #unsent = new Set<ServerResponse>();
  /** Connections with a request that was refused by its head: what its body is like does not matter any more. */
  readonly #refused = new WeakSet<Socket>();
  #closed: Promise<void> | undefined;
  #unmark: () => void = () => undefined;

  constructor(
    private readonly server: Server,
    private readonly door: Door,
    private readonly reception: Reception,
    private readonly arrivals: Arrivals,
    /** Node's event for new connections; undefined for a door whose connections come from this process. */
    private readonly connected?: 'connection' | 'secureConnection',
  ) {
    if (connected) server.on(connected, (socket: Socket) => this.#heads.begin(socket));
    // Node silently drops headers beyond this number. One more than allowed, so that too many can be detected.
    server.maxHeadersCount = headersMax + 1;
    server.on('request', (request, response) => this.#receive(request, response));
    server.on('checkExpectation', (request, response) => {
      const why = 'the server cannot meet the expectation of the request';
      const error = new StatusError(417, undefined, why);
      reception.turnAway(door, request, response, performance.now(), error);
    });
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head));
    server.on('connect', (_request, socket) => {
      this.#detach(socket as Socket);
      refuse(socket as Socket, methodNotAllowed());
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      this.#refuseConnection(error, socket as Socket),
    );
  }

  async listen(host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port }, () => {
        this.server.off('error', reject);
        resolve();
      });
    });
    const unmark = await markDoor((this.server.address() as AddressInfo).port);
    // It may have been closed meanwhile.
    if (this.#closed) unmark();
    else this.#unmark = unmark;
  }

  /** `127.0.0.1:8080`, `[::1]:8080`. */
  get authority(): string {
    const { address, family, port } = this.server.address() as AddressInfo;
    return `${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** Stops accepting connections, and closes idle ones. */
  shut(): void {
    this.#unmark();
    this.#closed ??= new Promise((resolve) => this.server.close(() => resolve()));
  }

  /** @param cut closes connections that Node's server does not track */
  async close(cut: () => void): Promise<void> {
    const forced = setTimeout(() => {
      this.server.closeAllConnections();
      cut();
      for (const socket of this.#detached) socket.destroy();
    }, partingMs);
    // Node calls a connection idle as soon as its answer has ended, although the last bytes may not have been sent.
    await Promise.all([...this.#unsent].filter((response) => response.writableEnded).map(sent));
    this.server.closeIdleConnections();
    await this.#closed;
    clearTimeout(forced);
  }

  /** @returns gives the socket back to Node's server */
  #detach(socket: Socket): () => void {
    const destroy = (): void => void socket.destroy();
    const forget = (): void => void this.#detached.delete(socket);
    this.#detached.add(socket);
    socket.on('error', destroy).on('close', forget);
    return () => {
      forget();
      socket.off('error', destroy).off('close', forget);
    };
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const begunMs = performance.now();
    const { socket } = request;
    const { door, reception } = this;
    this.#heads.end(socket);
    if (hasTooManyHeaders(request))
      return reception.turnAway(door, request, response, begunMs, tooManyHeaders());
    const refusal = protocolRefusal(request);
    if (refusal) {
      this.#refused.add(socket);
      return answerPlainly(response, refusal);
    }
    const before = this.#pipelining.add(socket, response);
    response.once('close', () => {
      this.#unsent.delete(response);
      this.#pipelining.done(socket, response);
      if (this.connected && !this.#pipelining.unfinished(socket)) this.#heads.begin(socket);
    });
    if (!before) {
      this.#unsent.add(response);
      return this.arrivals.add(() => reception.request(door, request, response, begunMs));
    }
    const waits = this.#pipelining.after(before, socket, () => {
      // If the previous answer closed the connection, do not carry out the request: its answer could not be sent, and
      // Node would never report it as closed.
      if (!socket.writable) return;
      this.#unsent.add(response);
      reception.request(door, request, response, begunMs);
    });
    if (waits) return;
    reception.keeper.reached('readsInFlightMax');
    reception.turnAway(door, request, response, begunMs, overload);
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const begunMs = performance.now();
    this.#heads.end(socket);
    const attach = this.#detach(socket);
    if (hasTooManyHeaders(request)) return refuse(socket, tooManyHeaders());
    const refusal = protocolRefusal(request);
    if (refusal) return refusePlainly(socket, refusal);
    const proceed = isOfferOnly(request)
      ? () => {
          attach();
          this.#again(request, socket, head);
        }
      : () => this.reception.upgrade(this.door, request, { socket, head }, begunMs);
    const before = this.#pipelining.unfinished(socket);
    // An upgrade is the last request of its connection, so the bound on waiting requests does not apply.
    if (before) before.once('close', proceed);
    else this.#upgrades.add(() => void (socket.destroyed || proceed()));
  }

  /** Begins with the connection again, as if its client had offered no other protocol. */
  #again(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.unshift(withoutOffer(request, head));
    this.server.emit(this.connected ?? 'connection', socket);
    socket.resume();
  }

  /** Answers what Node's parser refuses (not HTTP, header too large) with a Status, after pending answers. */
  #refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
    if (this.#refused.has(socket)) return;
    const { keeper } = this.reception;
    if (error.code === 'HPE_HEADER_OVERFLOW') keeper.reached('headerBytesMax');
    const refused = (): void => refuseConnection(error, socket, keeper.limits.headerBytesMax);
    const before = this.#pipelining.unfinished(socket);
    if (before?.req.complete) before.once('close', refused);
    // Nothing waits for those of clients that are gone; they can be thousands.
    else cuts.add(refused);
  }
}

const hasTooManyHeaders = ({ rawHeaders }: IncomingMessage): boolean => rawHeaders.length > 2 * headersMax;

const tooManyHeaders = (): StatusError =>
  new StatusError(431, undefined, `the request has more than ${headersMax} header lines`);

function answerPlainly(response: ServerResponse, { code, text }: ProtocolRefusal): void {
  const type = { 'Content-Type': 'text/plain; charset=utf-8' };
  response.writeHead(code, { ...type, 'Content-Length': text.length, Connection: 'close' }).end(text);
}

/** Resolves when an answer that has ended is sent, or its connection is gone. */
const sent = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    if (response.writableFinished || response.destroyed) resolve();
    else response.once('finish', resolve).once('close', resolve);
  });
