/** The two ends of a carrier (a SPDY stream, a WebSocket channel) as streams of their own, with their own ends. */
import { Readable, Writable } from 'node:stream';

/** What waits in such a stream before its writer is stopped. */
const bufferBytes = 256 * 1024;
/** After this much is written, others get their turn, even when everything could be written at once. */
const burstBytes = 256 * 1024;

/** From the client. The carrier is told when there is room for more. */
export class Inflow extends Readable {
  readonly #onRoom: () => void;
  #ended = false;

  constructor(onRoom: () => void) {
    super({ highWaterMark: bufferBytes });
    this.#onRoom = onRoom;
    this.on('error', ignore);
  }

  /** False when the carrier has to wait for room. What nobody wants any more is dropped. */
  offer(chunk: Buffer): boolean {
    if (this.#ended || this.destroyed || chunk.length === 0) return true;
    return this.push(chunk);
  }

  finish(): void {
    if (this.#ended || this.destroyed) return;
    this.#ended = true;
    this.push(null);
  }

  override _read(): void {
    this.#onRoom();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#onRoom();
    callback(error);
  }
}

/** To the client. Ending it only means that there is no more; the carrier decides when to tell. */
export class Outflow extends Writable {
  readonly #sink: (chunk: Buffer, done: () => void) => void;
  #burst = 0;

  constructor(sink: (chunk: Buffer, done: () => void) => void) {
    super({ highWaterMark: bufferBytes });
    this.#sink = sink;
    this.on('error', ignore);
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.#sink(chunk, () => {
      this.#burst += chunk.length;
      if (this.#burst < burstBytes) return callback();
      // A writer that never waits for anything else would keep the process from noticing that the client has gone.
      this.#burst = 0;
      setImmediate(callback);
    });
  }

  /** Resolves when all that was written is with the carrier, or never will be. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      if (this.closed || this.writableFinished) return resolve();
      this.once('finish', resolve);
      this.once('close', resolve);
      this.end();
    });
  }
}

const ignore = () => undefined;
