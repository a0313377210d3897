/**
 * A connection without a network: two streams of one process, joined. What is written to one is read from the
 * other, at the pace of the reader; each side can end its half alone. Node's HTTP takes it for a socket.
 */
import { Duplex } from 'node:stream';

/** Bytes each side may hold before its writer has to wait. */
const bufferBytesMax = 512 * 1024;

type Done = (error?: Error | null) => void;

export function memoryPipe(): [Duplex, Duplex] {
  const a = new PipeEnd();
  const b = new PipeEnd();
  a.peer = b;
  b.peer = a;
  return [a, b];
}

const broken = (code: string, message: string): Error => Object.assign(new Error(message), { code });

class PipeEnd extends Duplex {
  peer!: PipeEnd;
  /** The peer's write that waits until this side has room again. */
  #waiting: Done | undefined;

  constructor() {
    super({ highWaterMark: bufferBytesMax, allowHalfOpen: true, decodeStrings: true });
    // Whoever cares listens too; a side that nobody holds any more must not end the process.
    this.on('error', () => undefined);
  }

  override _read(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#deliver([chunk], done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    this.#deliver(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  override _final(done: Done): void {
    process.nextTick(() => {
      if (!this.peer.destroyed) this.peer.push(null);
      done();
    });
  }

  /** Like a socket that is closed with its output unfinished: the other side learns that something is missing. */
  override _destroy(error: Error | null, done: Done): void {
    const { peer } = this;
    if (!this.writableFinished && !peer.destroyed)
      process.nextTick(() => peer.destroy(broken('ECONNRESET', 'read: connection reset by peer')));
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(broken('EPIPE', 'write: broken pipe'));
    done(error);
  }

  /** Never within the call of the writer: it does not expect an answer before it has returned. */
  #deliver(chunks: readonly Buffer[], done: Done): void {
    process.nextTick(() => {
      const { peer } = this;
      if (peer.destroyed) return done(broken('EPIPE', 'write: broken pipe'));
      let room = true;
      for (const chunk of chunks) room = peer.push(chunk);
      if (room) done();
      else peer.#waiting = done;
    });
  }

  // What Node's HTTP asks of a socket. There is no network to tune, and silence is no reason to close.

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }
}
