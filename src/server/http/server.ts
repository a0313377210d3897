/**
 * The HTTP server. Every request goes the same way, in `#handle`, top to bottom:
 * local door → request info → (authentication, authorization: the secure door) → routing → handler → answer.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { badRequest, methodNotAllowed, requestTimeout, StatusError, unavailable } from '../../api/errors.ts';
import { authenticated, masters, type User } from '../../api/user.ts';
import type { Registry } from '../../registry/registry.ts';
import type { WatchDefault } from '../../registry/watch.ts';
import { StoreUnavailableError } from '../../store/store.ts';
import type { NodeWay } from '../../streams/nodeway.ts';
import { ClientGone } from '../../streams/tunnel.ts';
import type { Component } from '../computed/componentstatus.ts';
import type { UsageReports } from '../computed/usagereports.ts';
import { checkLocal } from '../doors/localdoor.ts';
import { type Watching, watchOverWebSocket } from '../objects/watching.ts';
import type { AuditLog } from '../observe/auditlog.ts';
import type { HealthCheck } from '../observe/health.ts';
import { Metrics } from '../observe/metrics.ts';
import { RequestMetrics } from '../observe/requestmetrics.ts';
import type { StoreMetrics } from '../observe/storemetrics.ts';
import { WatchMetrics } from '../observe/watchmetrics.ts';
import { OpenConnections } from '../pods/connecting.ts';
import { defaultAddressTypes } from '../pods/nodelocation.ts';
import { answerError, answerOverload } from './answer.ts';
import { Arrivals } from './arrivals.ts';
import { takeBearerProtocol } from './bearerprotocol.ts';
import { type ApiRequest, type ApiResponse, RequestContext } from './context.ts';
import { ExpressLane } from './expresslane.ts';
import type { LimitKeeper } from './limits.ts';
import { parseDurationMs } from './query.ts';
import { cutOff, refuse, refuseConnection } from './refusal.ts';
import { isLongRunning, parseRequest } from './requestinfo.ts';
import { Router } from './router.ts';
import { onSocketStarted, onStarted } from './statusline.ts';
import { isLong, Traffic } from './traffic.ts';

/** Go clients keep idle connections for 90 s; closing earlier would fail their next request. */
const keepAliveMs = 120_000;
const headersTimeoutMs = 30_000;
/** When closing, requests under way get this long. */
const drainMaxMs = 10_000;
/** When closing, clients get this long to take their last answer and let go of the connection. */
const partingMs = 100;
/** Requests of one connection that may wait for the answers before theirs. */
const pipelinedMax = 1_000;

/** Whoever comes through the local door. */
const localUser: User = { name: 'system:unsecured', groups: [masters, authenticated] };

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly createStatus: 200 | 201;
  readonly watchDefault: WatchDefault;
  readonly keeper: LimitKeeper;
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
  /** Figures of the store, to be shown with those of the server. */
  readonly storeMetrics?: StoreMetrics;
  /** Told of every request. The server does not close it. */
  readonly audit?: AuditLog;
  /** Told of failures that are the server's own. */
  readonly report: (error: Error) => void;
}

export class ApiServer {
  readonly #server: Server;
  readonly #router: Router;
  readonly #watching: Watching;
  readonly #traffic: Traffic;
  readonly #requests: RequestMetrics;
  readonly #metrics: Metrics;
  readonly #connections = new OpenConnections();
  #underWay = 0;
  /** Called when nothing is under way any more. */
  #onRest = (): void => undefined;
  /** Connections that are no longer HTTP's: nobody else would close them. */
  readonly #detached = new Set<Socket>();
  /** The newest request of each connection, to be answered before what follows it is refused. */
  readonly #newest = new WeakMap<Socket, ServerResponse>();
  /** How many requests of a connection wait for those before them. */
  readonly #waiting = new WeakMap<Socket, number>();
  readonly #arrivals = new Arrivals();
  readonly #express: ExpressLane;
  #closing = false;

  constructor(
    registry: Registry,
    private readonly options: ServerOptions,
  ) {
    const { keeper } = options;
    const { limits } = keeper;
    const watches = new WatchMetrics();
    this.#watching = {
      registry,
      watchDefault: options.watchDefault,
      streams: new Set(),
      keeper,
      metrics: watches,
      report: options.report,
    };
    this.#router = new Router(
      { registry, keeper, createStatus: options.createStatus },
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
      () => this.#metrics.text(),
    );
    this.#traffic = new Traffic(keeper);
    this.#requests = new RequestMetrics((...of) => this.#router.serves(...of));
    this.#metrics = new Metrics({
      registry,
      keeper,
      traffic: this.#traffic,
      requests: this.#requests,
      watches,
      store: options.storeMetrics,
      audit: options.audit,
    });
    this.#server = createServer(
      {
        maxHeaderSize: limits.headerBytesMax,
        keepAliveTimeout: keepAliveMs,
        headersTimeout: headersTimeoutMs,
        requestTimeout: 0,
        // A request without one is refused like every other that is not local: with a Status.
        requireHostHeader: false,
        noDelay: true,
      },
      (request, response) => this.#receive(request, response),
    );
    // Their bytes are bounded. Node would drop those beyond 2,000, or refuse them, as its version has it.
    this.#server.maxHeadersCount = 0;
    this.#server.on('checkExpectation', (request, response) => {
      const context = noContext(request, response);
      const why = 'the server cannot meet the expectation of the request';
      this.#fail(context, new StatusError(417, undefined, why));
      this.#finish(context);
    });
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
    this.#express = this.#expressLane();
  }

  /** All connections begin there; Node's server has those that are handed over. */
  #expressLane(): ExpressLane {
    const server = this.#server;
    const byNode = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
    const lane = new ExpressLane({
      headerBytesMax: this.options.keeper.limits.headerBytesMax,
      firstMaxMs: headersTimeoutMs,
      keepAliveMs,
      accepts: (method, url) => isShort(method, url),
      serve: (request, response) => {
        const begunMs = performance.now();
        this.#arrivals.add(() => this.#handle(request, response, begunMs));
      },
      handOver: (socket) => {
        for (const take of byNode) take.call(server, socket);
      },
      refuseCut: (socket) => refuse(socket, cutOff()),
    });
    server.removeAllListeners('connection').on('connection', (socket) => lane.take(socket));
    return lane;
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
    this.#express.closeIdle();
    for (const stream of this.#watching.streams) stream.end();
    this.#connections.cutAll();
    const deadline = new Promise<void>((resolve) => setTimeout(resolve, drainMaxMs).unref());
    const rest = new Promise<void>((resolve) => {
      this.#onRest = resolve;
      if (this.#underWay === 0) resolve();
    });
    await Promise.race([rest, deadline]);
    this.#server.closeIdleConnections();
    this.#express.closeIdle();
    const forced = setTimeout(() => {
      this.#server.closeAllConnections();
      this.#express.closeAll();
      for (const socket of this.#detached) socket.destroy();
    }, partingMs);
    await closed;
    clearTimeout(forced);
    this.#metrics.close();
  }

  #track(work: Promise<void>): void {
    this.#underWay++;
    const over = (): void => {
      if (--this.#underWay === 0) this.#onRest();
    };
    void work.then(over, over);
  }

  #detach(socket: Socket): void {
    this.#detached.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#detached.delete(socket));
  }

  /** Requests sent without waiting for answers are carried out one after the other: a connection is one client. */
  #receive(request: IncomingMessage, response: ServerResponse): void {
    const begunMs = performance.now();
    const { socket } = request;
    const before = this.#newest.get(socket);
    this.#newest.set(socket, response);
    if (!before || before.writableFinished || before.destroyed)
      return this.#arrivals.add(() => this.#handle(request, response, begunMs));
    const waiting = this.#waiting.get(socket) ?? 0;
    if (waiting >= pipelinedMax) {
      this.options.keeper.reached('readsInFlightMax');
      const context = noContext(request, response, begunMs);
      answerOverload(context);
      return this.#record(context, 429);
    }
    this.#waiting.set(socket, waiting + 1);
    before.once('close', () => {
      this.#waiting.set(socket, this.#waiting.get(socket)! - 1);
      if (!socket.destroyed) this.#handle(request, response, begunMs);
    });
  }

  #handle(request: ApiRequest, response: ApiResponse, begunMs: number): void {
    let context: RequestContext | undefined;
    let work: undefined | void | Promise<void>;
    try {
      const info = parseRequest(request.method!, request.url!);
      context = new RequestContext(request, response, info, localUser, begunMs);
      if (this.options.audit) context.address = request.socket.remoteAddress;
      checkLocal(request, this.options.clusterIP);
      if (this.#closing) throw unavailable('the server is shutting down');
      context.letIn = true;
      work = this.#admit(context);
    } catch (error) {
      context ??= noContext(request, response, begunMs);
      this.#fail(context, error);
    }
    if (!work) return this.#finish(context);
    const asked = context;
    this.#track(
      work.then(
        () => this.#finish(asked),
        (error: unknown) => {
          this.#fail(asked, error);
          this.#finish(asked);
        },
      ),
    );
  }

  #fail(context: RequestContext, error: unknown): void {
    answerError(context, asStatus(error), this.options.report);
  }

  /** Counts the request in and has it carried out, or turns it away. */
  #admit(context: RequestContext): void | Promise<void> {
    const { method, resource } = context.info;
    if (isLongRunning(resource)) return this.#startLong(context, 'connection');
    if (this.#router.watchTarget(context)) return this.#startLong(context, 'watch');
    const lane = method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'readOnly' : 'mutating';
    // Who looks after a server must get in when it is full.
    if (!this.#traffic.enter(context, lane) && !isLookingAfter(context)) return answerOverload(context);
    return this.#withinTime(context);
  }

  #startLong(context: RequestContext, lane: 'watch' | 'connection'): void | Promise<void> {
    this.#enterLong(context, lane);
    if (this.options.audit)
      onStarted(context.http.response, (code) => this.options.audit!.tell(context, 'ResponseStarted', code));
    return this.#router.route(context);
  }

  #enterLong(context: RequestContext, lane: 'watch' | 'connection'): void {
    context.watching = lane === 'watch';
    this.#traffic.enterLong(context, lane);
    this.#requests.addLongRunning(context.info, context.watching, 1);
  }

  /** Runs the handler; whatever is not a watch or a connection must be done in time. */
  #withinTime(context: RequestContext): void | Promise<void> {
    const { method, queryText, resource } = context.info;
    const limitMs = queryText.includes('timeout') ? this.#timeLimitMs(context) : this.#requestMaxMs;
    // An object is read from memory. A list may be longer than its client is quick.
    const mayWait = method !== 'GET' || queryText !== '' || (resource && resource.name === undefined);
    return mayWait ? this.#onTheClock(context, limitMs) : this.#router.route(context);
  }

  #onTheClock(context: RequestContext, limitMs: number): void | Promise<void> {
    context.timeLimitMs = limitMs;
    const work = this.#router.route(context);
    if (!work) return;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.options.keeper.reached('requestTimeoutMs');
        reject(requestTimeout());
      }, limitMs);
      const settle = (settled: () => void): void => {
        clearTimeout(timer);
        settled();
      };
      work.then(
        () => settle(resolve),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }

  get #requestMaxMs(): number {
    return this.options.keeper.limits.requestTimeoutMs;
  }

  #timeLimitMs(context: RequestContext): number {
    const text = context.query.get('timeout');
    if (!text) return this.#requestMaxMs;
    const wishMs = parseDurationMs(text);
    if (wishMs === undefined)
      throw badRequest(
        `invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`,
      );
    return wishMs > 0 ? Math.min(wishMs, this.#requestMaxMs) : this.#requestMaxMs;
  }

  /** The handler is done. An answer that its client does not take is waited for as long as a request may take. */
  #finish(context: RequestContext): void {
    const { response } = context;
    if (response.writableLength === 0 || response.writableFinished || response.destroyed)
      return this.#record(context, response.headersSent ? response.statusCode : 0);
    const done = (): void => {
      clearTimeout(timer);
      response.off('close', done);
      this.#record(context, response.statusCode);
    };
    const timer = setTimeout(() => {
      this.options.keeper.reached('requestTimeoutMs');
      response.destroy();
      done();
    }, this.#requestMaxMs);
    response.on('close', done);
  }

  /** Counts the request out, and writes down what became of it. */
  #record(context: RequestContext, code: number): void {
    const { info, watching } = context;
    if (isLong(context.lane)) this.#requests.addLongRunning(info, watching, -1);
    this.#traffic.leave(context);
    this.#requests.record(info, watching, code, performance.now() - context.begunMs);
    this.options.audit?.tell(context, 'ResponseComplete', code);
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const begunMs = performance.now();
    let context = noContext(request, undefined as never, begunMs);
    let code = 0;
    onSocketStarted(socket, (started) => {
      code = started;
      if (code === 101) this.options.audit?.tell(context, 'ResponseStarted', code);
    });
    try {
      const info = parseRequest(request.method!, request.url!);
      context = new RequestContext(request, undefined as never, info, localUser, begunMs);
      context.address = socket.remoteAddress;
      checkLocal(request, this.options.clusterIP);
      if (this.#closing) throw unavailable('the server is shutting down');
      context.letIn = true;
      // Everybody who comes through the local door is known already, but a token is never passed on.
      takeBearerProtocol(request);
      const target = this.#router.watchTarget(context);
      this.#enterLong(context, target ? 'watch' : 'connection');
      await this.#answeredBefore(socket);
      if (target && request.headers.upgrade?.toLowerCase() === 'websocket')
        await watchOverWebSocket(this.#watching, context, target.kind, target.info, socket, head, (error) =>
          refuse(socket, error),
        );
      else await this.#router.upgrade(context, { socket, head });
    } catch (error) {
      this.#failUpgrade(context, socket, error);
    } finally {
      this.#record(context, code);
    }
  }

  #failUpgrade(context: RequestContext, socket: Socket, error: unknown): void {
    if (error instanceof ClientGone) return void socket.destroy();
    const known = asStatus(error);
    if (!(known instanceof StatusError)) this.options.report(known as Error);
    const status = known instanceof StatusError ? known : unavailable('the connection could not be upgraded');
    context.failure = status.status;
    refuse(socket, status);
  }

  /** Requests sent without waiting for answers get those in their order, also when the last is an upgrade. */
  async #answeredBefore(socket: Socket): Promise<void> {
    const newest = this.#newest.get(socket);
    if (!newest || newest.writableFinished || newest.destroyed) return;
    await new Promise<void>((resolve) => newest.once('close', () => resolve()));
  }

  /** What is not even HTTP, or is too much of it, gets a Status all the same, once those before it have theirs. */
  #refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
    const { keeper } = this.options;
    if (error.code === 'HPE_HEADER_OVERFLOW') keeper.reached('headerBytesMax');
    const refused = (): void => refuseConnection(error, socket, keeper.limits.headerBytesMax);
    const newest = this.#newest.get(socket);
    if (newest?.req.complete && !newest.writableFinished && !newest.destroyed) newest.once('close', refused);
    else refused();
  }
}

/** Paths by which a server is watched over. */
const lookingAfter = new Set(['/healthz', '/livez', '/metrics', '/readyz']);

const isLookingAfter = ({ info: { path } }: RequestContext): boolean => lookingAfter.has(path);

/** For answers to what could not be understood. */
const noContext = (
  request: ApiRequest,
  response: ApiResponse,
  begunMs = performance.now(),
): RequestContext => {
  const info = { method: request.method!, path: '', queryText: '', resource: undefined };
  return new RequestContext(request, response, info, localUser, begunMs);
};

/** Whether a request will be over soon; watches and connections last. */
function isShort(method: string, url: string): boolean {
  try {
    const { resource, queryText } = parseRequest(method, url);
    return !isLongRunning(resource) && !resource?.watchPrefix && !queryText.includes('watch');
  } catch {
    return true;
  }
}

/** A store that has stopped working is not the client's fault. */
const asStatus = (error: unknown): unknown =>
  error instanceof StoreUnavailableError ? unavailable(error.message) : error;
