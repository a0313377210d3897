/**
 * A client of gRPC over one HTTP/2 connection.
 *
 * A message is a byte 0 (not compressed), its length in 4 bytes, and its bytes. The outcome of a call is in the trailers,
 * or in the response's headers if the call was refused at once. A call that ends without an outcome failed, and whether
 * the peer has carried it out is unknown, except where HTTP/2 says that the stream was not processed.
 */
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Pieces } from '../pieces.ts';
import { optimized } from '../switches.ts';
import { CallError, GrpcCode } from './call-error.ts';
import type { ClientRequest, ClientSession } from './client-session.ts';
import { type Headers, RequestHeaders } from './header-block.ts';
import { Http2Session } from './http2-session.ts';
import { NodeSession } from './node-session.ts';

/** Certificates for a connection over TLS, as PEM text. */
export interface ConnectionTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export interface ConnectionOptions extends ConnectionTls {
  /** Headers of every call. */
  readonly metadata?: Headers;
  /** What the peer should be, such as `etcd`; for messages. */
  readonly peer?: string;
  /** Whether HTTP/2 is spoken by our own code; by `node:http2` otherwise. */
  readonly ownHttp2?: boolean;
}

const FRAME_BYTES = 5;
/** Node's timers run out at once when they are set to more. */
const TIMER_MAX_MS = 2 ** 31 - 1;
/** Maximum size of a message: a page of large objects, or the events of one revision, can be large. */
const MESSAGE_BYTES_MAX = 2 ** 30;

export interface CallStream {
  write(message: Buffer): void;
  /** Writes the last message; answers still come. */
  end(message: Buffer): void;
  close(): void;
}

export interface StreamListener {
  readonly message: (message: Buffer) => void;
  /** Called once, also after close(); without an error if the peer has ended the call successfully. */
  readonly end: (error: CallError | undefined) => void;
}

export class Connection {
  readonly #session: ClientSession;
  /** Encoded headers that are the same in all requests, by path. */
  readonly #headers = new Map<string, RequestHeaders>();
  /** The same with the timeout used last, in whole milliseconds. */
  readonly #timedHeaders = new Map<
    string,
    { readonly timeoutMs: number; readonly headers: RequestHeaders }
  >();
  readonly #origin: Headers;
  #failure: CallError | undefined;
  #waiting = 0;
  #quietSinceMs = 0;

  /**
   * Opens a connection; `url` is that of a server, or `unix://` and the path of a socket. Resolves when the peer has
   * sent its settings: TCP alone also connects to a stopped process.
   */
  static open(url: string, options: ConnectionOptions, timeoutMs: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connectSocket(new URL(url), options);
      let connection: Connection | undefined;
      const fail = (error: Error): void => {
        clearTimeout(timer);
        socket.destroy();
        reject(unavailable(error.message, error));
      };
      const timer = setTimeout(() => fail(new Error(`it did not answer within ${timeoutMs} ms`)), timeoutMs);
      socket.once('error', (error: NodeJS.ErrnoException) => {
        const isEarly = url.startsWith('https:') && !connection && error.code === 'ECONNRESET';
        fail(isEarly ? new Error(`${error.message} before secure TLS connection was established`) : error);
      });
      socket.once('close', () => fail(connection?.failure ?? new Error('the connection was closed')));
      socket.once(url.startsWith('https:') ? 'secureConnect' : 'connect', () => {
        const opened = new Connection(socket, new URL(url), options, () => {
          clearTimeout(timer);
          resolve(opened);
        });
        connection = opened;
      });
    });
  }

  private constructor(
    socket: Socket,
    { host, protocol }: URL,
    private readonly options: ConnectionOptions,
    ready: () => void,
  ) {
    this.#origin = {
      ':scheme': protocol === 'https:' ? 'https' : 'http',
      ':authority': host || 'localhost',
    };
    this.#session = new ((options.ownHttp2 ?? optimized) ? Http2Session : NodeSession)(socket, {
      ready,
      failed: (error) => {
        this.#failure ??= unavailable(error.message, error);
      },
    });
  }

  /** The failure after which no new call can be made; undefined while the connection works. */
  get failure(): CallError | undefined {
    return this.#failure;
  }

  /** How long nothing was received, in milliseconds, although a call waits for its answer. */
  silentMs(nowMs: number): number {
    return this.#waiting === 0 ? 0 : nowMs - this.#quietSinceMs;
  }

  /** Restarts the measurement of silence, because this process itself was paused and answers may be waiting. */
  excuse(): void {
    this.#quietSinceMs = performance.now();
  }

  /** Ends all calls with the error. */
  close(error: CallError): void {
    this.#failure ??= error;
    this.#session.destroy(error);
  }

  /** A call with one message each way. The signal cancels the call. */
  unary(path: string, message: Buffer, timeoutMs: number, signal?: AbortSignal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let answer: Buffer | undefined;
      const giveUp = (): void => call?.fail(new CallError(GrpcCode.cancelled, 'the call was given up'));
      if (this.#waiting++ === 0) this.excuse();
      const timer = setTimeout(
        () =>
          call?.fail(
            new CallError(GrpcCode.deadlineExceeded, `no answer within ${Math.round(timeoutMs)} ms`),
          ),
        Math.min(Math.ceil(timeoutMs), TIMER_MAX_MS),
      ).unref();
      const call = this.#call(
        path,
        {
          message: (bytes) => {
            answer ??= bytes;
          },
          end: (error) => {
            clearTimeout(timer);
            signal?.removeEventListener('abort', giveUp);
            this.#waiting--;
            if (!error && answer) resolve(answer);
            else reject(error ?? new CallError(GrpcCode.internal, 'an answer is missing'));
          },
        },
        timeoutMs,
      );
      signal?.addEventListener('abort', giveUp);
      if (signal?.aborted) giveUp();
      else call?.send(message, true);
    });
  }

  /** A call with messages both ways, until one side ends it. */
  stream(path: string, listener: StreamListener): CallStream {
    const call = this.#call(path, listener);
    return {
      write: (message) => call?.send(message, false),
      end: (message) => call?.send(message, true),
      close: () => call?.fail(new CallError(GrpcCode.cancelled, 'the call was given up')),
    };
  }

  /** Starts a call; undefined when it has failed at once, which was reported to its listener. */
  #call(path: string, listener: StreamListener, timeoutMs?: number): Call | undefined {
    if (this.#failure) {
      const why = this.#failure.message;
      queueMicrotask(() => listener.end(new CallError(GrpcCode.unavailable, why, { unsent: true })));
      return undefined;
    }
    return new Call(this.#session, this.#headersOf(path, timeoutMs), listener, {
      peer: this.options.peer,
      heard: () => this.excuse(),
      lost: (unsent, why = this.#failure?.message ?? 'the call was ended without an answer') =>
        new CallError(GrpcCode.unavailable, why, { unsent }),
    });
  }

  #headersOf(path: string, timeoutMs: number | undefined): RequestHeaders {
    let headers = this.#headers.get(path);
    if (!headers) {
      headers = new RequestHeaders({
        ':method': 'POST',
        ...this.#origin,
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...this.options.metadata,
      });
      this.#headers.set(path, headers);
    }
    if (timeoutMs === undefined) return headers;
    const wholeMs = Math.ceil(timeoutMs);
    const last = this.#timedHeaders.get(path);
    if (last?.timeoutMs === wholeMs) return last.headers;
    headers = headers.with({ 'grpc-timeout': `${wholeMs}m` });
    this.#timedHeaders.set(path, { timeoutMs: wholeMs, headers });
    return headers;
  }
}

function connectSocket(
  { protocol, hostname, port, pathname }: URL,
  { ca, cert, key }: ConnectionTls,
): Socket {
  if (protocol === 'unix:') return connectPlain({ path: decodeURIComponent(pathname) });
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (protocol !== 'https:') return connectPlain({ host, port: Number(port || 80) });
  return connectTls({
    host,
    port: Number(port || 443),
    ca,
    cert,
    key,
    ALPNProtocols: ['h2'],
    ...(isIP(host) ? {} : { servername: host }),
  });
}

interface CallContext {
  /** What the peer should be, for messages. */
  readonly peer: string | undefined;
  readonly heard: () => void;
  /** Makes the error of a call that has ended without an outcome. */
  readonly lost: (unsent: boolean, why: string | undefined) => CallError;
}

/** One call: assembles messages and determines the outcome. */
class Call {
  readonly #request: ClientRequest;
  readonly #listener: StreamListener;
  /** The outcome that the peer has reported: an error, or null for success. */
  #outcome: CallError | null | undefined;
  #isOver = false;
  readonly #pieces = new Pieces();
  /** Size of the frame that is being received; known when its head has arrived. */
  #wanted = FRAME_BYTES;

  constructor(
    session: ClientSession,
    headers: RequestHeaders,
    listener: StreamListener,
    context: CallContext,
  ) {
    this.#listener = listener;
    this.#request = session.request(headers, {
      headers: (fields) => {
        context.heard();
        this.#conclude(fields, context.peer);
      },
      data: (chunk) => {
        context.heard();
        this.#take(chunk);
      },
      closed: (unprocessed, why) =>
        this.#end(this.#outcome === undefined ? context.lost(unprocessed, why) : this.#outcome),
    });
  }

  send(message: Buffer, isLast: boolean): void {
    if (!this.#isOver) this.#request.send(frame(message), isLast);
  }

  /** Cancels the call with an error. */
  fail(error: CallError): void {
    if (this.#isOver) return;
    this.#request.cancel();
    this.#end(this.#outcome ?? error);
  }

  #end(outcome: CallError | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.end(outcome ?? undefined);
  }

  #conclude(headers: Headers, peer: string | undefined): void {
    if (this.#outcome !== undefined) return;
    const status = headers['grpc-status'];
    const http = headers[':status'];
    if (status === '0') this.#outcome = null;
    else if (status !== undefined)
      this.#outcome = new CallError(Number(status), decoded(headers['grpc-message'] ?? ''));
    else if (http !== undefined && http !== '200')
      this.#outcome = new CallError(
        GrpcCode.unavailable,
        `it answered HTTP ${http}${peer === undefined ? '' : `: is it ${peer}?`}`,
      );
  }

  #take(chunk: Buffer): void {
    this.#pieces.add(chunk);
    while (this.#pieces.bytes >= this.#wanted && !this.#isOver) {
      const all = this.#pieces.take();
      this.#wanted = FRAME_BYTES + all.readUInt32BE(1);
      if (this.#wanted > MESSAGE_BYTES_MAX) {
        this.fail(new CallError(GrpcCode.internal, `a message has ${this.#wanted} bytes`));
        return;
      }
      const rest = all.length >= this.#wanted ? all.subarray(this.#wanted) : all;
      if (rest.length) this.#pieces.add(rest);
      if (rest === all) return;
      const message = all.subarray(FRAME_BYTES, this.#wanted);
      this.#wanted = FRAME_BYTES;
      this.#deliver(message);
    }
  }

  /** Delivers a message; one that cannot be parsed ends the call. */
  #deliver(message: Buffer): void {
    if (this.#outcome) return;
    try {
      this.#listener.message(message);
    } catch (error) {
      this.fail(
        error instanceof CallError
          ? error
          : new CallError(GrpcCode.internal, (error as Error).message, { cause: error }),
      );
    }
  }
}

const unavailable = (message: string, cause?: Error): CallError =>
  new CallError(GrpcCode.unavailable, message, { cause });

function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(FRAME_BYTES + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  message.copy(framed, FRAME_BYTES);
  return framed;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
