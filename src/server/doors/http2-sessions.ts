/**
 * HTTP/2 at a door: each stream of a session is a request. Clients put hundreds of watches on one session, so a session
 * without streams is idle, and one with a silent watch is not.
 *
 * A session ends with GOAWAY, which says which streams were served: after an unauthenticated request, after a long idle
 * time, when its client misbehaves, and when the server closes.
 */
import { METHODS } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { methodNotAllowed } from '../../api/errors/errors.ts';
import { TurnQueue } from '../../turn-queue.ts';
import type { Door, Reception } from '../http/door.ts';
import { Http2Response, type UnreadBytes } from '../http/http2-response.ts';
import { type Arrivals, SessionArrivals } from '../lane/arrivals.ts';
import { Http2Request } from '../wire/http2-request.ts';
import { headersMax } from './http-listener.ts';
import { withOwnEnd } from './session-ends.ts';
import { type ReadSession, SessionReading } from './session-reading.ts';

export interface Http2Options {
  /** Requests that one session may have open. Default 100. */
  readonly streamsMax?: number;
}

/** As kube-apiserver. Clients that need more open another connection. */
const streamsMaxDefault = 100;
const windowBytes = 256 * 1024;
const frameBytesMax = 256 * 1024;
/** Flow-control window of a session, for all its streams together. */
const sessionWindowBytes = 100 * windowBytes;
const headerListBytesMax = 1_048_896;
/**
 * Memory a session may use, in megabytes, before it refuses streams; large, because many watches wait in one session.
 */
const sessionMegabytesMax = 64;
const idleMaxMs = 90_000;
const idleCheckMs = 30_000;
/**
 * How many requests a client may cancel before they are answered, beyond the number of answered ones. Clients that open
 * and reset streams as fast as they can would keep the server busy for nothing (rapid reset).
 */
const resetsMax = 500;

/**
 * Maximum bytes of answers that the client of a session has not read. Beyond it, further requests of the session wait,
 * as they would behind each other in HTTP/1.1.
 */
const unreadBytesMax = 16 * 1024 * 1024;
/** A session with that many unread bytes whose client reads nothing for this long is closed. */
const unreadMaxMs = 10_000;
const unreadCheckMs = 2_000;

/**
 * Bytes that new sessions have sent already and that are read in one turn of the event loop; one session may exceed it.
 * Node reads them after the session has begun, so their requests cannot be counted before.
 */
const newBytesMax = 2_000;

/**
 * Requests that end in one turn of the event loop. A client can have a hundred open and close its connection; to end one
 * takes up to half a millisecond, because its watch is given up and each write that waits fails.
 */
const endsMax = 8;
/** When many wait, this part of them ends in a turn: clients who come and go faster must not fill the memory. */
const endsPart = 1 / 32;

/** HTTP/2 error code of a request that nobody waits for any more. */
const cancel = 0x08;
/** HTTP/2 error code for a client that causes too much load. */
const enhanceYourCalm = 0x0b;

const knownMethods = new Set(METHODS.filter((method) => method !== 'CONNECT'));

export class Http2Sessions {
  readonly #sessions = new Set<Session>();
  readonly #reading = new SessionReading();
  /** Requests of connections that have closed; see `session-ends.ts`. */
  readonly #endings = new TurnQueue(endsMax, endsPart);
  /** Connections that wait for their first turn. */
  readonly #new: TLSSocket[] = [];
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

  /** A client may send a hundred requests with the end of its handshake: they begin when a turn has room for them. */
  take(socket: TLSSocket): void {
    socket.on('error', () => undefined);
    if (this.#new.push(socket) === 1) setImmediate(this.#takeNew);
  }

  readonly #takeNew = (): void => {
    for (let bytes = 0; this.#new.length > 0 && this.#reading.hasRoom && bytes < newBytesMax; ) {
      const socket = this.#new.shift()!;
      if (socket.destroyed) continue;
      bytes += socket.readableLength;
      this.#begin(socket);
    }
    if (this.#new.length > 0) setImmediate(this.#takeNew);
  };

  #begin(socket: TLSSocket): void {
    const session = withOwnEnd(
      socket,
      () => new Session(this.#madeOn(socket), socket, this.#reading, this.#endings),
      (ended, byNode) => ended.end(byNode),
    );
    const made = session.http2;
    this.#sessions.add(session);
    this.#reading.add(session);
    made.on('error', () => made.destroy());
    made.on('close', () => {
      this.#sessions.delete(session);
      this.#reading.remove(session);
      session.rest();
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
    for (const socket of this.#new) socket.destroy();
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
    const request = new Http2Request(stream, socket, headers, received);
    const response = new Http2Response(stream, request.method === 'HEAD', session);
    session.open(stream, response);
    const { door, reception } = this;
    if (!knownMethods.has(request.method) || request.url === undefined)
      return reception.turnAway(door, request, response, begunMs, methodNotAllowed());
    session.whenRead(() =>
      this.arrivals.addOf(session.arrivals, () => {
        if (!response.destroyed && !session.isEnding) reception.request(door, request, response, begunMs);
      }),
    );
  }
}

/** The state of a session besides its streams. */
class Session implements UnreadBytes, ReadSession {
  readonly arrivals = new SessionArrivals();
  readonly #streams = new Set<ServerHttp2Stream>();
  /** Whether its requests are not served any more. */
  isEnding = false;
  #resets = 0;
  /** Bytes that its client has not read yet. */
  #unread = 0;
  /** Requests that wait until the client has read more. */
  #waiting: (() => void)[] = [];
  #stallTimer: NodeJS.Timeout | undefined;
  #readMs = 0;
  /** When the session became idle; Infinity while it has streams. */
  idleSinceMs = performance.now();

  constructor(
    readonly http2: ServerHttp2Session,
    readonly socket: TLSSocket,
    private readonly reading: SessionReading,
    private readonly endings: TurnQueue,
  ) {}

  get backlog(): number {
    return this.arrivals.waiting.length;
  }

  get streams(): number {
    return this.#streams.size;
  }

  /** Closes the connection at once: closing the session would wait for its client. */
  cut(): void {
    this.http2.destroy();
    this.socket.destroy();
  }

  /** Ends its requests a few at a time, and reads no further ones. @param done called after the last */
  end(done: () => void): void {
    this.isEnding = true;
    this.reading.stop(this);
    for (const stream of this.#streams)
      this.endings.add(() => {
        stream.close(cancel);
        stream.destroy();
      });
    this.endings.add(done);
  }

  open(stream: ServerHttp2Stream, response: Http2Response): void {
    this.#streams.add(stream);
    this.reading.note();
    this.idleSinceMs = Number.POSITIVE_INFINITY;
    response.on('close', () => {
      this.reading.note();
      this.#streams.delete(stream);
      if (this.#streams.size === 0) this.idleSinceMs = performance.now();
      if (response.headersSent) this.#resets = Math.max(0, this.#resets - 1);
      else this.addReset();
    });
  }

  /** Runs a request now, or when the client has read enough of the answers before it. */
  whenRead(begin: () => void): void {
    if (this.#unread <= unreadBytesMax) return begin();
    this.#waiting.push(begin);
  }

  add(bytes: number): void {
    this.#unread += bytes;
    if (this.#unread <= unreadBytesMax || this.#stallTimer) return;
    this.#readMs = performance.now();
    this.#stallTimer = setInterval(() => {
      if (performance.now() - this.#readMs > unreadMaxMs) this.#cutStalled();
    }, unreadCheckMs);
    this.#stallTimer.unref();
  }

  remove(bytes: number): void {
    this.#unread -= bytes;
    this.#readMs = performance.now();
    if (this.#unread > unreadBytesMax) return;
    this.rest();
    for (const begin of this.#waiting.splice(0)) begin();
  }

  #cutStalled(): void {
    this.rest();
    this.#waiting = [];
    this.#endFor('the client reads none of its answers');
  }

  rest(): void {
    clearInterval(this.#stallTimer);
    this.#stallTimer = undefined;
  }

  addReset(): void {
    if (++this.#resets > resetsMax) this.#endFor('too many resets');
  }

  #endFor(reason: string): void {
    if (!this.isEnding) this.end(() => this.http2.destroy(new Error(reason), enhanceYourCalm));
  }
}
