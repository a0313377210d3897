/**
 * The express lane: connections whose requests are plain (`plain-request.ts`) are served without Node's HTTP server,
 * which takes as long for a request as all other work on it. A read at 32 connections went from 66 to 50 µs, a create
 * at 16 in memory from 180 to 161. The first request that is not plain, or is long-running (a watch, a connection
 * into a pod), moves its connection to Node's server, from the first byte of that request and for good. With
 * `WHERRY_PLAIN=1` all connections go to Node's server.
 *
 *   idle ──(a request)──► busy ──(answered)──► idle
 *    └──(a part of one)──► waiting ──(the rest)──► busy
 */
import type { Socket } from 'node:net';
import { optimized } from '../../switches.ts';
import { TurnQueue } from '../../turn-queue.ts';
import { PlainReader, type PlainRequest } from '../wire/plain-request.ts';
import { Departures } from './departures.ts';
import { PlainResponse } from './plain-response.ts';

/** A request that is not complete by then is handed over to Node's server, which has its own timeouts. */
const restMaxMs = 1_000;

export interface ExpressOptions {
  readonly headerBytesMax: number;
  /** Idle timeouts of a connection: before its first request, and between two requests. */
  readonly firstMaxMs: number;
  readonly keepAliveMs: number;
  /** Header lines of every answer, each with its line end; absent: none. */
  readonly standingLines?: string;
  /** Whether a request can be answered here. */
  readonly accepts: (method: string, url: string) => boolean;
  /** `isNew`: the request was read just now, and the client had sent nothing before it that was not answered. */
  readonly serve: (request: PlainRequest, response: PlainResponse, isNew: boolean) => void;
  /** Hands a connection over to Node's server; the bytes read so far are unshifted into the socket. */
  readonly handOver: (socket: Socket) => void;
  /** Answers a client that closed its side in the middle of a request. */
  readonly refuseCut: (socket: Socket) => void;
}

/**
 * Connections that are closed in one turn of the event loop: over TLS that takes a fifth of a millisecond, and a client
 * can close thousands at once.
 */
const closedMax = 16;

export class ExpressLane {
  readonly #connections = new Set<Connection>();
  readonly #departures = new Departures();
  readonly #endings = new TurnQueue(closedMax);

  constructor(
    private readonly options: ExpressOptions,
    private readonly enabled = optimized,
  ) {}

  take(socket: Socket): void {
    if (!this.enabled) return this.options.handOver(socket);
    const connection = new Connection(socket, this.options, this.#departures, this.#endings, () =>
      this.#connections.delete(connection),
    );
    this.#connections.add(connection);
  }

  closeIdle(): void {
    for (const connection of this.#connections) if (connection.idle) connection.leave();
  }

  closeAll(): void {
    for (const connection of this.#connections) connection.close();
  }
}

class Connection {
  readonly #reader: PlainReader;
  /** As it was before: what it is handed over with. */
  readonly #isHalfOpen: boolean;
  /** The answer under way. */
  #response: PlainResponse | undefined;
  /** Bytes of an incomplete request, or of one that waits for the previous answer. */
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Total bytes of the incomplete request. */
  #expected = 0;
  #restTimer: NodeJS.Timeout | undefined;
  #ended = false;
  /** Whether the client has sent a request before it got the previous answer. */
  #isAhead = false;

  constructor(
    private readonly socket: Socket,
    private readonly options: ExpressOptions,
    private readonly departures: Departures,
    private readonly endings: TurnQueue,
    private readonly gone: () => void,
  ) {
    this.#reader = new PlainReader(socket, options.headerBytesMax);
    // Otherwise Node ends connections over TLS itself, all that were closed at once in one turn.
    this.#isHalfOpen = socket.allowHalfOpen;
    socket.allowHalfOpen = true;
    socket.setTimeout(options.firstMaxMs);
    socket
      .on('data', this.#onData)
      .on('end', this.#onEnd)
      .on('close', this.#onClose)
      .on('error', this.#onError)
      .on('timeout', this.#onTimeout);
  }

  get idle(): boolean {
    return this.#response === undefined && this.#bytes === 0;
  }

  /** Closes the connection once all answers are sent. */
  leave(): void {
    this.socket.destroySoon();
  }

  close(): void {
    this.socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#response) {
      this.#isAhead = true;
      this.#keep(chunk);
      this.socket.pause();
    } else if (this.#bytes === 0) this.#read(chunk);
    else {
      this.#keep(chunk);
      if (this.#bytes >= this.#expected) this.#read(this.#kept());
    }
  };

  #keep(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
  }

  #kept(): Buffer {
    clearTimeout(this.#restTimer);
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    return bytes;
  }

  #read(bytes: Buffer): void {
    const request = this.#reader.read(bytes);
    if (typeof request === 'number' && !this.#ended) {
      this.#expected = request;
      this.#keep(bytes);
      this.#restTimer = setTimeout(() => this.#handOver(this.#kept()), restMaxMs);
      return;
    }
    if (typeof request !== 'object' || !this.options.accepts(request.method, request.url))
      return this.#ended ? this.#cutOff() : this.#handOver(bytes);
    const { keepAliveMs, standingLines } = this.options;
    this.#response = new PlainResponse(
      this.socket,
      keepAliveMs / 1000,
      this.departures,
      this.#onAnswered,
      standingLines,
    );
    this.options.serve(request, this.#response, !this.#isAhead);
  }

  readonly #onAnswered = (): void => {
    const { socket } = this;
    // Back-pressure: no further request is read until the client has taken its answers.
    if (socket.writableNeedDrain && !socket.destroyed) return void socket.once('drain', this.#onAnswered);
    this.#response = undefined;
    if (socket.destroyed) return;
    if (socket.timeout !== this.options.keepAliveMs) socket.setTimeout(this.options.keepAliveMs);
    if (this.#bytes > 0) {
      socket.resume();
      this.#read(this.#kept());
    } else if (this.#ended) socket.end();
  };

  #handOver(bytes: Buffer): void {
    this.#leave();
    this.socket.setTimeout(0);
    this.socket.unshift(bytes);
    this.options.handOver(this.socket);
  }

  #leave(): void {
    clearTimeout(this.#restTimer);
    this.socket.allowHalfOpen = this.#isHalfOpen;
    this.socket
      .off('data', this.#onData)
      .off('end', this.#onEnd)
      .off('close', this.#onClose)
      .off('error', this.#onError)
      .off('timeout', this.#onTimeout);
    this.gone();
  }

  readonly #onEnd = (): void => {
    this.#ended = true;
    if (this.#response) return;
    if (this.#bytes === 0) this.endings.add(() => this.socket.end());
    else this.#cutOff();
  };

  /** Called when the client has closed its side, and its last bytes are not a complete plain request. */
  #cutOff(): void {
    this.#leave();
    this.options.refuseCut(this.socket);
  }

  readonly #onClose = (): void => {
    clearTimeout(this.#restTimer);
    this.#response?.closed();
    this.gone();
  };

  readonly #onError = (): void => {
    this.socket.destroy();
  };

  /** The idle timeout of the socket. It does not apply while a request is being handled. */
  readonly #onTimeout = (): void => {
    if (!this.#response) this.socket.destroy();
  };
}
