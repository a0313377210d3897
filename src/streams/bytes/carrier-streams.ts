/**
 * The two directions of a carrier (a SPDY stream, a WebSocket channel) as separate Node streams, each with
 * its own end.
 */
import { Readable, Writable } from 'node:stream';
import { canBypassQueue, pushDirect } from './queue-bypass.ts';

/** Bytes buffered in such a stream before its writer has to wait. */
const bufferBytes = 64 * 1024;
/** Maximum bytes written in one event loop tick, even if the carrier would accept more. */
const turnBytesMax = 4 * 1024 * 1024;

/** Data from the client. The carrier is called when there is room for more. */
export class Inflow extends Readable {
  readonly #onRoom: () => void;
  #ended = false;

  constructor(onRoom: () => void) {
    super({ highWaterMark: bufferBytes });
    this.#onRoom = onRoom;
    this.on('error', ignore);
  }

  /** Returns false when the carrier has to wait for room. Data after the end is dropped. */
  offer(chunk: Buffer): boolean {
    if (this.#ended || this.destroyed || chunk.length === 0) return true;
    return pushDirect(this, chunk);
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

/** Takes data for the client. False means wait: `onRoom` is called once when there is room again. */
export type Sink = (chunk: Buffer, onRoom: () => void) => boolean;

/** Data to the client. Ending it means that no more data will come; the carrier decides when to tell the client. */
export class Outflow extends Writable {
  readonly #sink: Sink;
  readonly #carried: () => number | undefined;
  /** Bytes written in this tick. */
  #turnBytes = 0;
  /** This tick's limit is reached: the rest waits for the next tick. */
  #tooMuch = false;
  /** The carrier, or this tick's limit, has no room. */
  #full = false;
  /** The write callback that waits for room. */
  #waiting: (() => void) | undefined;
  /** A `write` has returned false, so `drain` must be emitted. */
  #drainOwed = false;

  /** `carried` returns the bytes still held by the carrier; 0 for a carrier that copies its data. */
  constructor(sink: Sink, carried: () => number | undefined = () => 0) {
    super({ highWaterMark: bufferBytes });
    this.#sink = sink;
    this.#carried = carried;
    this.on('error', ignore);
  }

  /** Passes the chunk directly to the carrier while it has room and nothing is queued. */
  override write(chunk: unknown, ...rest: unknown[]): boolean {
    if (this.#full || !canBypassQueue(this, chunk, rest))
      return (super.write as (...args: unknown[]) => boolean)(chunk, ...rest);
    this.#pass(chunk);
    this.#drainOwed = this.#full;
    return !this.#full;
  }

  get unsentBytes(): number | undefined {
    const carried = this.#carried();
    return carried === undefined ? undefined : this.writableLength + carried;
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    const pass = () => {
      this.#pass(chunk);
      if (this.#full) this.#waiting = callback;
      else callback();
    };
    if (this.#full) this.#waiting = pass;
    else pass();
  }

  /** Finishes when the carrier has room again, so that all data is with it. */
  override _final(callback: () => void): void {
    if (this.#full) this.#waiting = callback;
    else callback();
  }

  #pass(chunk: Buffer): void {
    this.#full = !this.#sink(chunk, this.#resume);
    if (this.#turnBytes === 0) setImmediate(this.#endTurn);
    this.#turnBytes += chunk.length;
    // Limit the bytes per tick: a writer that never yields would keep the event loop from seeing that the
    // client has gone.
    this.#tooMuch = !this.#full && this.#turnBytes >= turnBytesMax;
    if (this.#tooMuch) this.#full = true;
  }

  readonly #endTurn = (): void => {
    this.#turnBytes = 0;
    if (!this.#tooMuch) return;
    this.#tooMuch = false;
    this.#resume();
  };

  readonly #resume = (): void => {
    this.#full = false;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
    if (!this.#drainOwed || this.#full) return;
    this.#drainOwed = false;
    this.emit('drain');
  };

  /** Resolves when all data is with the carrier, or the stream was destroyed. */
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
