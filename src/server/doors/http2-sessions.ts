/**
 * HTTP/2 at a door by `node:http2`, with `WHERRY_PLAIN=1`: to find out whether a failure is caused by our own code
 * (`server/http2/`). Each stream of a session is a request. A session ends with GOAWAY, which says which streams were
 * served. Node works off all that has arrived, and all requests of a connection that closes, in one turn of the event loop.
 */
import { METHODS } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { methodNotAllowed } from '../../api/errors/errors.ts';
import type { Door, Reception } from '../http/door.ts';
import { Http2Response } from '../http/http2-response.ts';
import {
  frameBytesMax,
  type Http2Options,
  headerListBytesMax,
  idleCheckMs,
  idleMaxMs,
  resetsMax,
  sessionWindowBytes,
  streamsMaxDefault,
  windowBytes,
} from '../http2/session-settings.ts';
import { UnreadAnswers } from '../http2/unread-answers.ts';
import { type Arrivals, SessionArrivals } from '../lane/arrivals.ts';
import { headersMax } from '../wire/header-count.ts';
import { NodeRequest } from '../wire/node-request.ts';

/**
 * Memory a session may use, in megabytes, before it refuses streams; large, because many watches wait in one session.
 */
const sessionMegabytesMax = 64;

/** HTTP/2 error code for a client that causes too much load. */
const enhanceYourCalm = 0x0b;

const knownMethods = new Set(METHODS.filter((method) => method !== 'CONNECT'));

export class Http2Sessions {
  readonly #sessions = new Set<Session>();
  readonly #idleTimer: NodeJS.Timeout;
  #shut = false;

  constructor(
    private readonly door: Door,
    private readonly reception: Reception,
    private readonly arrivals: Arrivals,
    private readonly options: Http2Options,
  ) {
    this.#idleTimer = setInterval(() => this.#closeIdle(), idleCheckMs);
    this.#idleTimer.unref();
  }

  take(socket: TLSSocket): void {
    socket.on('error', () => undefined);
    const made = this.#madeOn(socket);
    const session = new Session(made, socket);
    this.#sessions.add(session);
    made.on('error', () => made.destroy());
    made.on('close', () => {
      this.#sessions.delete(session);
      session.unread.rest();
      socket.destroy();
    });
    made.once('remoteSettings', () => made.setLocalWindowSize(sessionWindowBytes));
    const receive = (
      stream: ServerHttp2Stream,
      headers: IncomingHttpHeaders,
      _flags: number,
      received: readonly string[],
    ): void => this.#receive(session, socket, stream, headers, received);
    made.on('stream', receive as never);
    if (this.#shut) made.close();
  }

  #madeOn(socket: TLSSocket): ServerHttp2Session {
    // Loaded for the first HTTP/2 client: it takes Node some milliseconds, which would delay every start.
    return process.getBuiltinModule('node:http2').performServerHandshake(socket, {
      settings: {
        maxConcurrentStreams: this.options.streamsMax || streamsMaxDefault,
        initialWindowSize: windowBytes,
        maxFrameSize: frameBytesMax,
        maxHeaderListSize: headerListBytesMax,
        enableConnectProtocol: false,
      },
      // Node resets a request with more headers.
      maxHeaderListPairs: headersMax,
      maxSessionMemory: sessionMegabytesMax,
    });
  }

  /** Takes no more requests; those under way are answered. */
  shut(): void {
    this.#shut = true;
    clearInterval(this.#idleTimer);
    for (const { http2 } of this.#sessions) http2.close();
  }

  closeAll(): void {
    for (const session of this.#sessions) session.cut();
  }

  #closeIdle(): void {
    const untilMs = performance.now() - idleMaxMs;
    for (const session of this.#sessions) if (session.idleSinceMs < untilMs) session.http2.close();
  }

  #receive(
    session: Session,
    socket: TLSSocket,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    received: readonly string[],
  ): void {
    // Reset in the packet that opened it: there will be no 'close' event.
    if (stream.destroyed || stream.closed) return session.addReset();
    const begunMs = performance.now();
    const request = new NodeRequest(stream, socket, headers, received);
    const response = new Http2Response(stream, request.method === 'HEAD', session.unread);
    session.open(response);
    const { door, reception } = this;
    if (!knownMethods.has(request.method) || request.url === undefined)
      return reception.turnAway(door, request, response, begunMs, methodNotAllowed());
    session.unread.whenRead(() =>
      this.arrivals.addOf(session.arrivals, () => {
        if (!response.destroyed) reception.request(door, request, response, begunMs);
      }),
    );
  }
}

/** The state of a session besides its streams. */
class Session {
  readonly arrivals = new SessionArrivals();
  readonly unread = new UnreadAnswers(() => this.#endFor('the client reads none of its answers'));
  #streams = 0;
  #resets = 0;
  /** When the session became idle; Infinity while it has streams. */
  idleSinceMs = performance.now();

  constructor(
    readonly http2: ServerHttp2Session,
    private readonly socket: TLSSocket,
  ) {}

  /** Closes the connection at once: closing the session would wait for its client. */
  cut(): void {
    this.http2.destroy();
    this.socket.destroy();
  }

  open(response: Http2Response): void {
    this.#streams++;
    this.idleSinceMs = Number.POSITIVE_INFINITY;
    response.on('close', () => {
      this.#streams--;
      if (this.#streams === 0) this.idleSinceMs = performance.now();
      if (response.headersSent) this.#resets = Math.max(0, this.#resets - 1);
      else this.addReset();
    });
  }

  addReset(): void {
    if (++this.#resets > resetsMax) this.#endFor('too many resets');
  }

  #endFor(reason: string): void {
    this.http2.destroy(new Error(reason), enhanceYourCalm);
  }
}
