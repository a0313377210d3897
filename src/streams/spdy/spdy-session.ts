/** A session over SPDY: the client opens its streams, the command runs, and everything ends in the right order. */
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { Inflow, Outflow } from '../bytes/carrier-streams.ts';
import { type CarriedSession, LiveSession } from '../session/live-session.ts';
import { ResizeReader } from '../session/resize-reader.ts';
import type { SessionWish } from '../session/session.ts';
import { statusBytes } from '../session/session-status.ts';
import { SpdyConnection } from './spdy-connection.ts';
import { resetStatus } from './spdy-frame.ts';
import type { SpdyStream } from './spdy-stream.ts';

/** Time the client has to open its streams. */
const streamsMs = 30_000;
/** How long an optional stream is awaited after the one before it. */
const optionalStreamMs = 1_000;
/** Time the client has to close the connection after its streams have ended. */
const closeMs = 10_000;

type StreamType = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize';

/** What each version supports. v5 is the same as v4 here, and no kubelet chooses it. */
export const sessionProtocols: ReadonlyMap<string, { resize: boolean; statusObject: boolean }> = new Map([
  ['v4.channel.k8s.io', { resize: true, statusObject: true }],
  ['v3.channel.k8s.io', { resize: true, statusObject: false }],
  ['v2.channel.k8s.io', { resize: false, statusObject: false }],
  ['channel.k8s.io', { resize: false, statusObject: false }],
]);

/** Serves a session on an upgraded socket, until it is closed. */
export async function serveSpdySession(
  socket: Duplex,
  head: Buffer,
  protocol: string,
  { wish, handler, idleMs, status, ended }: CarriedSession,
  optionalOutputs: boolean,
): Promise<void> {
  const { resize, statusObject } = sessionProtocols.get(protocol)!;
  const streams = new StreamSet(wish, resize, optionalOutputs);
  const connection = new SpdyConnection(socket, {
    role: 'server',
    head,
    idleMs,
    onStream: (stream) => streams.take(stream),
  });
  if (!(await streams.gather(connection.closed))) {
    connection.close();
    return connection.closed;
  }

  const session = liveSession(wish, streams);
  void connection.closed.then(() => session.leave());
  // The streams close before the socket does, so listen here as well.
  const error = streams.get('error')!;
  error.once('close', () => session.leave());
  if (error.closed) session.leave();

  const result = await session.run(handler, ended);
  if (result !== undefined) {
    await end(streams, statusBytes(status(result), statusObject));
    // Let the client close: clients of 1.1 lose unread data when the server closes first.
    const patience = setTimeout(() => connection.close(), closeMs);
    await connection.closed;
    clearTimeout(patience);
  }
  connection.close();
  return connection.closed;
}

/** The streams that the client opens. */
class StreamSet {
  readonly #wanted: ReadonlySet<string>;
  readonly #required: readonly string[];
  readonly #streams = new Map<string, SpdyStream>();
  #onTaken: () => void = () => undefined;

  constructor(wish: SessionWish, resize: boolean, optionalOutputs: boolean) {
    const types: StreamType[] = ['error'];
    if (wish.stdin) types.push('stdin');
    if (wish.tty && resize) types.push('resize');
    const outputs = (['stdout', 'stderr'] as const).filter((type) => wish[type]);
    this.#wanted = new Set([...types, ...outputs]);
    this.#required = optionalOutputs ? types : [...types, ...outputs];
  }

  get(type: StreamType): SpdyStream | undefined {
    return this.#streams.get(type);
  }

  /** In the order in which they are ended. */
  all(): SpdyStream[] {
    const order: StreamType[] = ['error', 'stdout', 'stderr', 'stdin', 'resize'];
    return order.map((type) => this.get(type)).filter((stream) => stream !== undefined);
  }

  take(stream: SpdyStream): void {
    const type = stream.headers['streamtype'] ?? '';
    if (!this.#wanted.has(type) || this.#streams.has(type)) return stream.reset(resetStatus.refusedStream);
    stream.accept();
    this.#streams.set(type, stream);
    // Clients send nothing on these: discard.
    if (type !== 'stdin' && type !== 'resize') stream.resume();
    this.#onTaken();
  }

  /** Waits for the streams. False when they are not opened in time, or the connection has ended. */
  gather(over: Promise<void>): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (gathered: boolean) => {
        clearTimeout(timer);
        clearTimeout(grace);
        this.#onTaken = () => undefined;
        resolve(gathered);
      };
      const timer = setTimeout(() => settle(false), streamsMs);
      let grace: NodeJS.Timeout | undefined;
      void over.then(() => settle(false));
      this.#onTaken = () => {
        clearTimeout(grace);
        if (this.#streams.size === this.#wanted.size) settle(true);
        else if (this.#required.every((type) => this.#streams.has(type)))
          grace = setTimeout(() => settle(true), optionalStreamMs);
      };
    });
  }
}

function liveSession(wish: SessionWish, streams: StreamSet): LiveSession {
  const session = new LiveSession({
    tty: wish.tty,
    stdin: inflow(streams.get('stdin')),
    stdout: outflow(streams.get('stdout')),
    stderr: outflow(streams.get('stderr')),
  });
  const sizes = new ResizeReader();
  streams.get('resize')?.on('data', (piece: Buffer) => {
    for (const size of sizes.read(piece)) session.resized(size);
  });
  return session;
}

function inflow(stream: SpdyStream | undefined): Inflow | undefined {
  if (stream === undefined) return undefined;
  const flow = new Inflow(() => stream.resume());
  stream.on('data', (chunk: Buffer) => {
    if (!flow.offer(chunk)) stream.pause();
  });
  stream.once('end', () => flow.finish());
  stream.once('close', () => flow.finish());
  return flow;
}

/** A stream that the client has reset accepts everything and sends nothing. */
const outflow = (stream: SpdyStream | undefined): Outflow | undefined =>
  stream &&
  new Outflow(
    (chunk, onRoom) => {
      if (stream.sendAtOnce(chunk)) return true;
      stream.write(chunk, () => onRoom());
      return false;
    },
    () => stream.unsentBytes,
  );

/**
 * Sends the status first: clients of v1 do not read it after the outputs have ended, and all clients take a
 * missing status for success. Then ends every stream, because clients wait for all of them.
 */
async function end(streams: StreamSet, bytes: Buffer): Promise<void> {
  const [error, ...others] = streams.all();
  if (bytes.length > 0) error!.write(bytes);
  await finish(error!);
  await Promise.all(others.map(finish));
}

async function finish(stream: SpdyStream): Promise<void> {
  if (stream.destroyed) return;
  const over = new AbortController();
  stream.end();
  await Promise.race([
    once(stream, 'finish', over).catch(() => undefined),
    once(stream, 'close', over).catch(() => undefined),
  ]);
  over.abort();
}
