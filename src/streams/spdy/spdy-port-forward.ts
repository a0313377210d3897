/**
 * Port-forward over SPDY. Each forwarded connection is a pair of streams, one for its data and one for errors, which the
 * client opens one after the other:
 *
 *   first stream → incomplete → (second stream) dialling → forwarding → over
 *                → dropped after a timeout, or when its stream is reset
 */
import type { Duplex } from 'node:stream';
import { copy, socketPace } from '../bytes/byte-copy.ts';
import { forwardFailure, type PortForwarding } from '../session/port-forward.ts';
import { SpdyConnection } from './spdy-connection.ts';
import { resetStatus } from './spdy-frame.ts';
import type { SpdyStream } from './spdy-stream.ts';

/** How long the second stream of a pair is awaited. */
const pairMs = 30_000;
/**
 * kubectl before 1.32 closes its side of a connection whose target has ended only after the error stream has
 * ended. So the error stream is ended when the client has sent nothing for this long.
 */
const quietMs = 1_000;
const portMax = 65_535;

interface Pair {
  readonly key: string;
  error?: SpdyStream;
  data?: SpdyStream;
  timer?: NodeJS.Timeout;
}

/** Serves SPDY on an upgraded socket, until it is closed. */
export async function forwardStreams(
  socket: Duplex,
  head: Buffer,
  forwarding: PortForwarding,
): Promise<void> {
  const targets = new Set<Duplex>();
  const forward = async (port: number, data: SpdyStream, error: SpdyStream): Promise<void> => {
    let target: Duplex;
    try {
      target = await forwarding.dial(port);
    } catch (failure) {
      data.resume();
      error.end(forwardFailure(forwarding, port, failure), () => data.end(() => data.reset()));
      return;
    }
    targets.add(target);
    target.once('close', () => targets.delete(target));
    if (connection.open && !data.destroyed) join(data, error, target);
    else {
      target.on('error', () => undefined);
      target.destroy();
      error.end();
    }
  };

  const pairs = new Pairs((data, error) => void forward(portOf(data)!, data, error));
  const connection = new SpdyConnection(socket, {
    role: 'server',
    head,
    idleMs: forwarding.idleMs,
    onStream: (stream) => pairs.take(stream),
  });
  const stop = () => connection.close();
  forwarding.ended?.addEventListener('abort', stop);
  if (forwarding.ended?.aborted) stop();
  await connection.closed;
  forwarding.ended?.removeEventListener('abort', stop);
  pairs.close();
  for (const target of targets) target.destroy();
}

/** Streams that wait for the other one of their pair. */
class Pairs {
  readonly #waiting = new Map<string, Pair>();

  constructor(private readonly complete: (data: SpdyStream, error: SpdyStream) => void) {}

  take(stream: SpdyStream): void {
    const kind = stream.headers['streamtype'];
    if ((kind !== 'error' && kind !== 'data') || portOf(stream) === undefined)
      return stream.reset(resetStatus.protocolError);
    stream.accept();
    const key = pairKey(stream, kind);
    const pair = this.#waiting.get(key) ?? this.#begin(key);
    if (pair[kind] !== undefined) {
      pair.error?.write(`error processing stream for request ${key}: ${kind} stream already assigned`);
      return stream.reset();
    }
    pair[kind] = stream;
    // Clients send nothing on an error stream: discard.
    if (kind === 'error') stream.resume();
    stream.once('close', () => {
      if (this.#waiting.get(key) === pair) this.#forget(pair);
    });
    if (pair.error === undefined || pair.data === undefined) return;
    clearTimeout(pair.timer);
    this.#waiting.delete(key);
    this.complete(pair.data, pair.error);
  }

  #begin(key: string): Pair {
    const pair: Pair = { key };
    pair.timer = setTimeout(() => {
      pair.error?.write(`timed out waiting for the streams of request ${key}`);
      this.#forget(pair);
    }, pairMs);
    this.#waiting.set(key, pair);
    return pair;
  }

  #forget(pair: Pair): void {
    clearTimeout(pair.timer);
    this.#waiting.delete(pair.key);
    pair.error?.end();
    pair.data?.reset();
  }

  /** The streams end with their connection. */
  close(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
  }
}

/** Copies both ways; each direction ends separately. */
function join(data: SpdyStream, error: SpdyStream, target: Duplex): void {
  let broken = false;
  target.on('error', () => {
    broken = true;
  });
  // kubectl ends the whole port-forward when it gets an error text, so none is sent for a connection that
  // broke later.
  target.once('close', () => {
    // Not CANCEL, which some clients take for a regular end.
    if (broken) data.reset(resetStatus.internalError);
    else data.end();
    // Discard what the client still sends, so that it does not block the other streams.
    data.resume();
    error.end();
  });
  data.once('reset', () => target.destroy());
  target.once('end', () => endWhenQuiet(data, error, target));
  copy(data, target, socketPace);
  copy(target, data, socketPace);
  data.once('end', () => target.end());
  target.once('end', () => data.end());
}

function endWhenQuiet(data: SpdyStream, error: SpdyStream, target: Duplex): void {
  let spoke = false;
  data.on('data', () => {
    spoke = true;
  });
  const timer = setInterval(() => {
    if (!spoke) {
      clearInterval(timer);
      error.end();
    }
    spoke = false;
  }, quietMs);
  target.once('close', () => clearInterval(timer));
}

/** Clients of 1.0 send no request id, but open the error stream right before the data stream. */
const pairKey = (stream: SpdyStream, kind: 'error' | 'data'): string =>
  stream.headers['requestid'] || `${kind === 'error' ? stream.id : stream.id - 2}`;

function portOf({ headers }: SpdyStream): number | undefined {
  const text = headers['port'] ?? '';
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port > 0 && port <= portMax ? port : undefined;
}
