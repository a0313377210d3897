/**
 * A client of gRPC over one HTTP/2 connection to one member of etcd.
 *
 * A message is a byte 0 (not compressed), its length in 4 bytes, and its bytes. The outcome of a call is in the trailers,
 * or in the response's headers if the call was refused at once. A call that ends without an outcome failed, and whether
 * etcd has carried it out is unknown, except where HTTP/2 says that the stream was not processed.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { CallError, GrpcCode } from './callerror.ts';

/** Certificates for connections over TLS, as PEM text. */
export interface EtcdTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Lets large ranges and replays through without waiting for window updates. */
const WINDOW_BYTES = 16 * 1024 * 1024;
/** In megabytes; Node's default of 10 ends sessions with large answers. */
const SESSION_MEMORY_MAX = 1024;
const FRAME_BYTES = 5;

export interface CallStream {
  write(message: Buffer): void;
  close(): void;
}

export interface StreamListener {
  readonly message: (message: Buffer) => void;
  /** Called once, also after close(). */
  readonly end: (error: CallError) => void;
}

export class Connection {
  readonly #session: ClientHttp2Session;
  #failure: CallError | undefined;
  /** The newest stream that the member has processed before it ended the connection. */
  #lastProcessed = Number.POSITIVE_INFINITY;
  #waiting = 0;
  #quietSinceMs = 0;

  /** Resolves when the member has answered with its settings: TCP alone also connects to a process that is stopped. */
  static open(url: string, tls: EtcdTls, timeoutMs: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const session = connect(url, {
        ...(url.startsWith('https:') ? tls : {}),
        settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
        maxSessionMemory: SESSION_MEMORY_MAX,
      });
      const connection = new Connection(session);
      const timer = setTimeout(() => {
        connection.close(unavailable(`it did not answer within ${timeoutMs} ms`));
        reject(connection.failure);
      }, timeoutMs);
      session.once('connect', (_, socket) => {
        session.setLocalWindowSize(WINDOW_BYTES);
        // Node does not tell the session of an alert after the handshake, such as that a certificate is missing.
        socket.once('error', (error) => connection.close(unavailable(error.message, error)));
      });
      session.once('remoteSettings', () => {
        clearTimeout(timer);
        resolve(connection);
      });
      session.once('close', () => {
        clearTimeout(timer);
        reject(connection.#failure);
      });
    });
  }

  private constructor(session: ClientHttp2Session) {
    this.#session = session;
    session.on('error', (error) => {
      this.#failure ??= unavailable(error.message, error);
    });
    session.on('goaway', (_, lastProcessed) => {
      this.#lastProcessed = lastProcessed;
      this.#failure ??= unavailable('the member ended the connection');
      session.close();
    });
    session.on('close', () => {
      this.#failure ??= unavailable('the connection was closed');
    });
  }

  /** No new call can be made after a failure. */
  get failure(): CallError | undefined {
    return this.#failure;
  }

  /** How long nothing was received, in milliseconds, although a call waits for its answer. */
  silentMs(nowMs: number): number {
    return this.#waiting === 0 ? 0 : nowMs - this.#quietSinceMs;
  }

  /** Begins to count silence anew: this process was paused itself, and answers may be waiting. */
  excuse(): void {
    this.#quietSinceMs = performance.now();
  }

  /** Ends all calls with the error. */
  close(error: CallError): void {
    this.#failure ??= error;
    this.#session.destroy();
  }

  /** One message each way. */
  unary(path: string, message: Buffer, timeoutMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let answer: Buffer | undefined;
      if (this.#waiting++ === 0) this.excuse();
      const timer = setTimeout(
        () => call?.fail(new CallError(GrpcCode.deadlineExceeded, `no answer within ${timeoutMs} ms`)),
        timeoutMs,
      );
      const call = this.#call(
        path,
        {
          message: (bytes) => {
            answer ??= bytes;
          },
          end: (error) => {
            clearTimeout(timer);
            this.#waiting--;
            if (error.code === 0 && answer) resolve(answer);
            else reject(error.code === 0 ? new CallError(GrpcCode.internal, 'an answer is missing') : error);
          },
        },
        timeoutMs,
      );
      call?.stream.end(frame(message));
    });
  }

  /** Messages both ways, until one side ends it. */
  stream(path: string, listener: StreamListener): CallStream {
    const call = this.#call(path, listener);
    return {
      write: (message) => {
        if (call && !call.stream.writableEnded && !call.stream.destroyed) call.stream.write(frame(message));
      },
      close: () => call?.fail(new CallError(GrpcCode.cancelled, 'the call was given up')),
    };
  }

  /** Undefined when the call has already failed, and its listener knows. */
  #call(path: string, listener: StreamListener, timeoutMs?: number): Call | undefined {
    if (this.#failure || this.#session.destroyed || this.#session.closed) {
      const why = this.#failure?.message ?? 'the connection was closed';
      queueMicrotask(() => listener.end(new CallError(GrpcCode.unavailable, why, { unsent: true })));
      return undefined;
    }
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      // A member without a leader answers so at once instead of being silent.
      hasleader: 'true',
      ...(timeoutMs === undefined ? {} : { 'grpc-timeout': `${Math.ceil(timeoutMs)}m` }),
    });
    return new Call(stream, listener, {
      heard: () => this.excuse(),
      // Called when a stream ends without an outcome.
      lost: (problem) => {
        const unsent =
          stream.id === undefined ||
          stream.id > this.#lastProcessed ||
          stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
        const why = this.#failure?.message ?? problem?.message ?? `the call was reset (${stream.rstCode})`;
        return new CallError(GrpcCode.unavailable, why, { cause: problem, unsent });
      },
    });
  }
}

interface CallContext {
  readonly heard: () => void;
  readonly lost: (problem: Error | undefined) => CallError;
}

/** One stream: puts messages together and finds the outcome. */
class Call {
  #outcome: CallError | undefined;
  #problem: Error | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes of the frame that is being received; known when its head is there. */
  #wanted = FRAME_BYTES;

  constructor(
    readonly stream: ClientHttp2Stream,
    private readonly listener: StreamListener,
    context: CallContext,
  ) {
    stream.on('response', (headers) => {
      context.heard();
      this.#conclude(headers);
    });
    stream.on('trailers', (headers) => this.#conclude(headers));
    stream.on('data', (chunk: Buffer) => {
      context.heard();
      this.#take(chunk);
    });
    stream.on('error', (error) => {
      this.#problem = error;
    });
    stream.on('close', () => listener.end(this.#outcome ?? context.lost(this.#problem)));
  }

  /** Gives the call up. */
  fail(error: CallError): void {
    this.#outcome ??= error;
    this.stream.close(constants.NGHTTP2_CANCEL);
    // A stream that was never opened does not close by itself.
    if (this.stream.pending) this.stream.destroy();
  }

  #conclude(headers: IncomingHttpHeaders): void {
    const status = headers['grpc-status'];
    if (status === undefined) {
      const http = headers[':status'] as unknown as number | undefined;
      if (http !== undefined && http !== 200)
        this.#outcome ??= new CallError(GrpcCode.unavailable, `it answered HTTP ${http}: is it etcd?`);
      return;
    }
    this.#outcome ??= new CallError(Number(status), decoded(String(headers['grpc-message'] ?? '')));
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= this.#wanted) {
      const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#bytes);
      this.#wanted = FRAME_BYTES + all.readUInt32BE(1);
      const rest = all.length >= this.#wanted ? all.subarray(this.#wanted) : all;
      this.#chunks = rest.length ? [rest] : [];
      this.#bytes = rest.length;
      if (rest === all) return;
      const message = all.subarray(FRAME_BYTES, this.#wanted);
      this.#wanted = FRAME_BYTES;
      if (!this.#deliver(message)) return;
    }
  }

  /** A message that cannot be read ends the call. */
  #deliver(message: Buffer): boolean {
    if (this.#outcome && this.#outcome.code !== 0) return false;
    try {
      this.listener.message(message);
      return true;
    } catch (error) {
      this.fail(new CallError(GrpcCode.internal, (error as Error).message, { cause: error }));
      return false;
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
