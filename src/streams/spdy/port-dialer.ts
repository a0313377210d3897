/**
 * Opens TCP connections to ports of a pod through its kubelet's port-forward.
 *
 * This SPDY has no flow-control windows, so the streams of one connection wait for each other's readers. A
 * connection therefore carries one dial at a time and is kept for the next one; concurrent dials get their
 * own connections, up to a bound.
 */
import type { Duplex } from 'node:stream';
import { SpdyConnection } from './spdy-connection.ts';
import type { SpdyStream } from './spdy-stream.ts';

const defaultIdleMs = 60_000;
/** Maximum number of connections; further dials share them. */
const connectionsMax = 32;
/** Maximum length of an error text. */
const errorBytesMax = 8 * 1024;

export interface PortDialerOptions {
  /** Opens a connection that is upgraded to port-forward of the pod. */
  readonly open: () => Promise<{ readonly socket: Duplex; readonly head: Buffer }>;
  /** Idle timeout of a connection without a dial. */
  readonly idleMs?: number;
}

/** A connection, open or being opened. */
interface Line {
  readonly connection: Promise<SpdyConnection>;
  dials: number;
  nextRequestId: number;
  idle: NodeJS.Timeout | undefined;
}

export class PortDialer {
  readonly #open: PortDialerOptions['open'];
  readonly #idleMs: number;
  readonly #lines = new Set<Line>();
  #closed = false;

  constructor({ open, idleMs = defaultIdleMs }: PortDialerOptions) {
    this.#open = open;
    this.#idleMs = idleMs;
  }

  /**
   * Resolves with the connection when the kubelet has accepted it; half close works. Rejects if the port
   * cannot be dialled and that is known by then. A kubelet may accept first and dial later: then the
   * connection fails with the same error.
   */
  async dial(port: number): Promise<Duplex> {
    for (;;) {
      if (this.#closed) throw new Error('the dialer is closed');
      const line = this.#freeLine();
      const kept = line.nextRequestId > 0;
      line.dials++;
      clearTimeout(line.idle);
      try {
        return await this.#dialOn(line, port);
      } catch (error) {
        this.#release(line);
        // A kept connection may have ended meanwhile: retry once with a new one.
        if (!kept || error instanceof DialError || this.#lines.has(line)) throw error;
      }
    }
  }

  /** Closes all connections, including those in use. */
  close(): void {
    this.#closed = true;
    for (const line of this.#lines) this.#drop(line);
  }

  #freeLine(): Line {
    let least: Line | undefined;
    for (const line of this.#lines) if (least === undefined || line.dials < least.dials) least = line;
    if (least !== undefined && (least.dials === 0 || this.#lines.size >= connectionsMax)) return least;
    return this.#newLine();
  }

  #newLine(): Line {
    const connection = this.#connect();
    const line: Line = { connection, dials: 0, nextRequestId: 0, idle: undefined };
    this.#lines.add(line);
    connection.then(
      (opened) => {
        if (!this.#lines.has(line)) opened.close();
        void opened.closed.then(() => this.#drop(line));
      },
      () => this.#drop(line),
    );
    return line;
  }

  async #connect(): Promise<SpdyConnection> {
    const { socket, head } = await this.#open();
    return new SpdyConnection(socket, { role: 'client', head });
  }

  async #dialOn(line: Line, port: number): Promise<Duplex> {
    const connection = await line.connection;
    if (!connection.open) {
      this.#drop(line);
      throw new Error('the connection is closed');
    }
    const headers = { port: `${port}`, requestid: `${line.nextRequestId++}` };
    const error = await connection.openStream({ streamtype: 'error', ...headers });
    const failure = new Failure(error);
    let data: SpdyStream;
    try {
      data = await connection.openStream({ streamtype: 'data', ...headers });
    } catch (cause) {
      error.reset();
      throw failure.error ?? cause;
    }
    data.strictEnd = true;
    // From here on the stream ends by itself or by its owner, and then the line is free.
    if (failure.error !== undefined) {
      data.destroy();
      throw failure.error;
    }
    failure.onError = (reason) => data.destroy(reason);
    data.once('close', () => {
      error.destroy();
      this.#release(line);
    });
    return data;
  }

  #release(line: Line): void {
    line.dials--;
    if (line.dials > 0 || !this.#lines.has(line)) return;
    clearTimeout(line.idle);
    line.idle = setTimeout(() => this.#drop(line), this.#idleMs);
  }

  #drop(line: Line): void {
    clearTimeout(line.idle);
    this.#lines.delete(line);
    line.connection.then(
      (connection) => connection.close(),
      () => {},
    );
  }
}

/** The kubelet reports why it cannot reach the port. */
class DialError extends Error {
  override readonly name = 'DialError';
}

/** The text of the error stream: empty, or why the port cannot be reached. */
class Failure {
  error: DialError | undefined;
  onError: (error: DialError) => void = () => {};

  constructor(stream: SpdyStream) {
    const chunks: Buffer[] = [];
    let bytes = 0;
    stream.end();
    stream.on('data', (chunk: Buffer) => {
      if (bytes < errorBytesMax) chunks.push(chunk);
      bytes += chunk.length;
    });
    stream.once('end', () => {
      if (bytes === 0) return;
      this.error = new DialError(Buffer.concat(chunks).toString('utf8', 0, errorBytesMax));
      this.onError(this.error);
    });
  }
}
