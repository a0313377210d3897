/**
 * CRI over the unix socket of an engine (containerd, CRI-O), with one connection, which is made again when it has
 * ended. Errors are `CallError`, with the engine's own words.
 */
import { CallError, GrpcCode } from '../../../grpc/call-error.ts';
import { type CallStream, Connection, type StreamListener } from '../../../grpc/connection.ts';
import { decode, encode } from '../../../grpc/message-table.ts';
import { type Answer, containerEvents, type Method, methods, type Request } from './cri-messages.ts';

const connectMs = 5_000;
/** Limit for calls that do not wait for a container. */
const callMs = 120_000;
/** The longest time limit that gRPC can express in milliseconds. */
const longestMs = 99_999_999;

export interface CallOptions {
  /** Default 2 minutes; 0 for none. */
  readonly timeoutMs?: number;
  /** Aborting it cancels the call. */
  readonly signal?: AbortSignal;
}

export class CriApi {
  #connecting: Promise<Connection> | undefined;
  #connection: Connection | undefined;
  #closed = false;

  constructor(readonly socketPath: string) {}

  async call<M extends Method>(
    method: M,
    request: Request<M>,
    { timeoutMs = callMs, signal }: CallOptions = {},
  ): Promise<Answer<M>> {
    const [service, wanted, answer] = methods[method];
    const connection = await this.#connected();
    const bytes = await connection.unary(
      `/runtime.v1.${service}/${method}`,
      encode(wanted, request),
      timeoutMs || longestMs,
      signal,
    );
    return decode(answer, bytes) as Answer<M>;
  }

  /** Follows the events of all containers. */
  async events(listener: StreamListener): Promise<CallStream> {
    const stream = (await this.#connected()).stream(containerEvents.path, listener);
    stream.end(Buffer.alloc(0));
    return stream;
  }

  close(): void {
    this.#closed = true;
    this.#connection?.close(new CallError(GrpcCode.cancelled, 'the runtime is closed'));
  }

  #connected(): Promise<Connection> {
    if (this.#closed) return Promise.reject(new CallError(GrpcCode.cancelled, 'the runtime is closed'));
    if (this.#connection && !this.#connection.failure) return Promise.resolve(this.#connection);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Connection> {
    const url = `unix://${encodeURI(this.socketPath)}`;
    this.#connection = await Connection.open(url, { peer: 'a container engine' }, connectMs);
    if (this.#closed) this.close();
    return this.#connection;
  }
}

const hasCode =
  (...codes: readonly number[]) =>
  (error: unknown): boolean =>
    error instanceof CallError && codes.includes(error.code);

/** Whether the object of a call does not exist, or no longer. */
export const isGone = hasCode(GrpcCode.notFound);
/** Whether the engine does not answer, so that nothing is known. */
export const isUnreachable = hasCode(GrpcCode.unavailable, GrpcCode.cancelled, GrpcCode.deadlineExceeded);
/** Whether the engine lacks this method, or has CRI switched off. */
export const isMissing = hasCode(GrpcCode.unimplemented);
