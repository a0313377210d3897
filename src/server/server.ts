/**
 * The HTTP server. Every request goes the same way, in `#handle`, top to bottom:
 * local door → request info → (authentication, authorization: the secure door) → routing → handler → answer.
 */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { badRequest, methodNotAllowed, requestTimeout, StatusError, unavailable } from '../api/errors.ts';
import type { Registry } from '../registry/registry.ts';
import type { WatchDefault } from '../registry/watch.ts';
import { StoreUnavailableError } from '../store/store.ts';
import type { NodeWay } from '../streams/nodeway.ts';
import { ClientGone } from '../streams/tunnel.ts';
import { answerError } from './answer.ts';
import { takeBearerProtocol } from './bearerprotocol.ts';
import type { BodyLimits } from './body.ts';
import type { Component } from './componentstatus.ts';
import { OpenConnections } from './connecting.ts';
import { RequestContext, type User } from './context.ts';
import type { HealthCheck } from './health.ts';
import { checkLocal } from './localdoor.ts';
import { defaultAddressTypes } from './nodelocation.ts';
import { parseDurationMs } from './query.ts';
import { isLongRunning, parseRequest, type RequestInfo } from './requestinfo.ts';
import { Router } from './router.ts';
import type { UsageReports } from './usagereports.ts';
import { type Watching, watchOverWebSocket } from './watching.ts';

/** Go clients keep idle connections for 90 s; closing earlier would fail their next request. */
const keepAliveMs = 120_000;
/** Selectors and tokens can be long. */
const headerBytesMax = 1024 * 1024;
const headersTimeoutMs = 30_000;
/** Any request but a watch or a connection is answered within this time. */
const requestMaxMs = 60_000;
/** When closing, requests under way get this long. */
const drainMaxMs = 10_000;
/** When closing, clients get this long to take their last answer and let go of the connection. */
const partingMs = 100;
/** A client that was refused gets this long to read why; it may still be sending. */
const lingerMs = 1_000;

/** Whoever comes through the local door. */
const localUser: User = { name: 'system:unsecured', groups: ['system:masters', 'system:authenticated'] };

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly createStatus: 200 | 201;
  readonly watchDefault: WatchDefault;
  readonly limits: BodyLimits;
  readonly components: readonly Component[];
  /** What the health of this process is made of. */
  readonly health: readonly HealthCheck[];
  /** Where pods find this server. */
  readonly clusterIP?: string;
  /** How the agents of nodes are reached. */
  readonly nodes: NodeWay;
  /** What nodes and pods use. */
  readonly usage: UsageReports;
  /** Types of node addresses in the order they are tried. Default: Hostname, InternalDNS, InternalIP, ExternalDNS, ExternalIP. */
  readonly nodeAddressTypes?: readonly string[];
  /** Told of failures that are the server's own. */
  readonly report: (error: Error) => void;
}

export class ApiServer {
  readonly #server: Server;
  readonly #router: Router;
  readonly #watching: Watching;
  readonly #connections = new OpenConnections();
  readonly #underWay = new Set<Promise<void>>();
  /** Connections that are no longer HTTP's: nobody else would close them. */
  readonly #detached = new Set<Socket>();
  /** The newest request of each connection, to be answered before what follows it is refused. */
  readonly #newest = new WeakMap<Socket, ServerResponse>();
  #closing = false;

  constructor(
    registry: Registry,
    private readonly options: ServerOptions,
  ) {
    this.#watching = {
      registry,
      watchDefault: options.watchDefault,
      streams: new Set(),
      report: options.report,
    };
    this.#router = new Router(
      { registry, limits: options.limits, createStatus: options.createStatus },
      this.#watching,
      options.components,
      {
        registry,
        nodes: options.nodes,
        addressTypes: options.nodeAddressTypes ?? defaultAddressTypes,
        open: this.#connections,
      },
      options.usage,
      options.health,
    );
    this.#server = createServer(
      {
        maxHeaderSize: headerBytesMax,
        keepAliveTimeout: keepAliveMs,
        headersTimeout: headersTimeoutMs,
        requestTimeout: 0,
        // A request without one is refused like every other that is not local: with a Status.
        requireHostHeader: false,
        noDelay: true,
      },
      (request, response) => this.#handle(request, response),
    );
    this.#server.on('checkExpectation', (request, response) =>
      answerError(
        noContext(request, response),
        new StatusError(417, undefined, 'the server cannot meet the expectation of the request'),
        options.report,
      ),
    );
    this.#server.on('upgrade', (request, socket, head) => {
      this.#detach(socket as Socket);
      this.#track(this.#upgrade(request, socket as Socket, head));
    });
    this.#server.on('connect', (_request, socket) => {
      this.#detach(socket as Socket);
      refuse(socket as Socket, methodNotAllowed());
    });
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      this.#refuseConnection(error, socket as Socket),
    );
  }

  async listen(): Promise<void> {
    const { host, port } = this.options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
  }

  get url(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** Takes no more requests, ends watches, cuts connections, lets the rest be answered. Safe to call twice. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const stream of this.#watching.streams) stream.end();
    this.#connections.cutAll();
    const deadline = new Promise<void>((resolve) => setTimeout(resolve, drainMaxMs).unref());
    await Promise.race([Promise.allSettled(this.#underWay), deadline]);
    this.#server.closeIdleConnections();
    const forced = setTimeout(() => {
      this.#server.closeAllConnections();
      for (const socket of this.#detached) socket.destroy();
    }, partingMs);
    await closed;
    clearTimeout(forced);
  }

  #track(work: Promise<void>): void {
    this.#underWay.add(work);
    void work.finally(() => this.#underWay.delete(work));
  }

  #detach(socket: Socket): void {
    this.#detached.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#detached.delete(socket));
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    let context: RequestContext | undefined;
    const fail = (error: unknown): void =>
      answerError(context ?? noContext(request, response), asStatus(error), this.options.report);
    this.#newest.set(request.socket, response);
    try {
      const info = this.#requestInfo(request);
      context = new RequestContext(request, response, info, localUser);
      checkLocal(request, this.options.clusterIP);
      if (this.#closing) throw unavailable('the server is shutting down');
      const work = this.#withinTime(context);
      if (work) this.#track(work.catch(fail));
    } catch (error) {
      fail(error);
    }
  }

  #requestInfo(request: IncomingMessage): RequestInfo {
    return parseRequest(request.method!, request.url!);
  }

  /** Runs the handler; whatever is not a watch or a connection must be done in time. */
  #withinTime(context: RequestContext): void | Promise<void> {
    const { method, queryText, resource } = context.info;
    if (isLongRunning(resource)) return this.#router.route(context);
    const limitMs = queryText.includes('timeout') ? this.#timeLimitMs(context) : requestMaxMs;
    // Reads are answered from memory; only those that may wait need a clock.
    const mayWait = method !== 'GET' || queryText !== '';
    if (!mayWait || this.#router.watchTarget(context)) return this.#router.route(context);
    return this.#onTheClock(context, limitMs);
  }

  async #onTheClock(context: RequestContext, limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(requestTimeout()), limitMs);
    });
    try {
      await Promise.race([this.#router.route(context), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #timeLimitMs(context: RequestContext): number {
    const text = context.query.get('timeout');
    if (!text) return requestMaxMs;
    const wishMs = parseDurationMs(text);
    if (wishMs === undefined)
      throw badRequest(
        `invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`,
      );
    return wishMs > 0 ? Math.min(wishMs, requestMaxMs) : requestMaxMs;
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    try {
      const context = new RequestContext(request, undefined as never, this.#requestInfo(request), localUser);
      checkLocal(request, this.options.clusterIP);
      if (this.#closing) throw unavailable('the server is shutting down');
      // Everybody who comes through the local door is known already, but a token is never passed on.
      takeBearerProtocol(request);
      await this.#answeredBefore(socket);
      const target = this.#router.watchTarget(context);
      if (target && request.headers.upgrade?.toLowerCase() === 'websocket')
        await watchOverWebSocket(this.#watching, context, target.kind, target.info, socket, head, (error) =>
          refuse(socket, error),
        );
      else await this.#router.upgrade(context, { socket, head });
    } catch (error) {
      if (error instanceof ClientGone) return void socket.destroy();
      const known = asStatus(error);
      if (!(known instanceof StatusError)) this.options.report(known as Error);
      refuse(
        socket,
        known instanceof StatusError ? known : unavailable('the connection could not be upgraded'),
      );
    }
  }

  /** Requests sent without waiting for answers get those in their order, also when the last is an upgrade. */
  async #answeredBefore(socket: Socket): Promise<void> {
    const newest = this.#newest.get(socket);
    if (!newest || newest.writableFinished || newest.destroyed) return;
    await new Promise<void>((resolve) => newest.once('close', () => resolve()));
  }

  /** What is not even HTTP, or is too much of it, gets a Status all the same, once those before it have theirs. */
  #refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
    const newest = this.#newest.get(socket);
    if (newest?.req.complete && !newest.writableFinished && !newest.destroyed)
      newest.once('close', () => refuseConnection(error, socket));
    else refuseConnection(error, socket);
  }
}

/** For answers to what could not be understood. */
const noContext = (request: IncomingMessage, response: ServerResponse): RequestContext =>
  new RequestContext(
    request,
    response,
    { method: request.method!, path: '', queryText: '', resource: undefined },
    localUser,
  );

/** A store that has stopped working is not the client's fault. */
const asStatus = (error: unknown): unknown =>
  error instanceof StoreUnavailableError ? unavailable(error.message) : error;

function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return refuse(
      socket,
      new StatusError(431, undefined, `request header is larger than ${headerBytesMax} bytes`),
    );
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return refuse(socket, new StatusError(408, 'Timeout', 'the request took too long to arrive'));
  if (error.code === 'HPE_INVALID_EOF_STATE')
    return refuse(socket, badRequest('the request ended before its body did'));
  refuse(socket, badRequest('the request is not valid HTTP'));
}

function refuse(socket: Socket, { status }: StatusError): void {
  const body = `${JSON.stringify(status)}\n`;
  socket.end(
    `HTTP/1.1 ${status.code} ${STATUS_CODES[status.code]}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
