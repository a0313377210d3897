/** The two ends of a carrier (a SPDY stream, a WebSocket channel) as streams of their own, with their own ends. */
import { Readable, Writable } from 'node:stream';
import { hand, passesQueue } from './handing.ts';

/** What waits in such a stream before its writer is stopped. */
const bufferBytes = 64 * 1024;
/** What may be written in one turn, even when everything could be written at once. */
const turnBytesMax = 4 * 1024 * 1024;

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
    return hand(this, chunk);
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

/** Takes data for the client. False when that is enough for now: then `onRoom` is called once there is room for more. */
export type Sink = (chunk: Buffer, onRoom: () => void) => boolean;

/** To the client. Ending it only means that there is no more; the carrier decides when to tell. */
export class Outflow extends Writable {
  readonly #sink: Sink;
  readonly #carried: () => number | undefined;
  /** Written in this turn. */
  #turnBytes = 0;
  /** More than may be written in one turn: the rest waits for the next. */
  #tooMuch = false;
  /** The carrier has enough for now, or this turn has. */
  #full = false;
  /** The write that waits for room. */
  #waiting: (() => void) | undefined;
  /** A writer was told to wait, and is to hear when it need not any more. */
  #drainOwed = false;

  /** `carried` tells what lies with the carrier; one that copies has nothing of what it was given. */
  constructor(sink: Sink, carried: () => number | undefined = () => 0) {
    super({ highWaterMark: bufferBytes });
    this.#sink = sink;
    this.#carried = carried;
    this.on('error', ignore);
  }

  /** Straight to the carrier, as long as that has room and nothing is waiting. */
  override write(chunk: unknown, ...rest: unknown[]): boolean {
    if (this.#full || !passesQueue(this, chunk, rest))
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

  /** All is with the carrier when that has room again. */
  override _final(callback: () => void): void {
    if (this.#full) this.#waiting = callback;
    else callback();
  }

  #pass(chunk: Buffer): void {
    this.#full = !this.#sink(chunk, this.#resume);
    if (this.#turnBytes === 0) setImmediate(this.#endTurn);
    this.#turnBytes += chunk.length;
    // A writer that never waits for anything else would keep the process from noticing that the client has gone.
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
