/**
 * An in-memory connection: two joined streams of one process. What is written to one is read from the other,
 * with back-pressure; each side can end its half alone. Node's HTTP accepts it as a socket.
 *
 * A socket can take over one side (`carry`), so that bytes between a client and the agent of this process
 * bypass the pipe's own queues, where every piece costs several event loop ticks. 200 MB of exec output
 * went from 405 to 365 ms of processor time.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { optimized } from '../../switches.ts';
import { passed } from './minor-collections.ts';
import { canBypassQueue, pushDirect } from './queue-bypass.ts';

/**
 * Bytes each side may buffer before its writer has to wait; a socket that has taken over a side gets as much
 * in one write.
 */
const bufferBytesMax = 512 * 1024;

/** Awaiting it is the cheapest way to defer a call. */
const resolved = Promise.resolve();

type Done = (error?: Error | null) => void;

export function memoryPipe(): [PipeEnd, PipeEnd] {
  const a = new PipeEnd();
  const b = new PipeEnd();
  a.peer = b;
  b.peer = a;
  return [a, b];
}

/** Whether a socket may take over this stream. */
export const canCarry = (stream: Duplex): stream is PipeEnd => optimized && stream instanceof PipeEnd;

const broken = (code: string, message: string): Error => Object.assign(new Error(message), { code });

export class PipeEnd extends Duplex {
  peer!: PipeEnd;
  /** The socket that has taken over this side, in both directions. */
  #socket: Socket | undefined;
  /** Whether the reader has paused. */
  #held = false;
  /** The peer's write callback, which waits until this side has room. */
  #waiting: Done | undefined;

  constructor() {
    super({ highWaterMark: bufferBytesMax, allowHalfOpen: true, decodeStrings: true });
    // Without a listener, a late error would end the process.
    this.on('error', () => undefined);
  }

  /**
   * Lets a socket take over this side: its data goes to the peer, and the peer's data goes to the socket.
   * Ends and closing are still signalled on this side: the caller passes them on.
   */
  carry(socket: Socket): void {
    const { peer } = this;
    for (let chunk = this.read() as Buffer | null; chunk; chunk = this.read() as Buffer | null)
      socket.write(chunk);
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      if (!this.writable || peer.destroyed) return;
      pushDirect(peer, chunk);
      if (peer.readableLength > 0) socket.pause();
      passed(chunk.length);
    });
    socket.on('drain', () => this.#goOn());
    // From now on this side only emits its end.
    this.resume();
    if (peer.readableLength === 0 && !peer.#held) socket.resume();
    this.#goOn();
  }

  override _read(): void {
    this.#goOn();
    if (!this.#held) this.peer.#socket?.resume();
  }

  /** Pauses the peer's socket as well, so that unread data stays in the kernel. */
  override pause(): this {
    this.#held = true;
    this.peer.#socket?.pause();
    return super.pause();
  }

  override resume(): this {
    this.#held = false;
    this.peer.#socket?.resume();
    return super.resume();
  }

  /** Writes directly to the socket that has taken over the peer, while it has room and nothing is queued. */
  override write(chunk: unknown, ...rest: unknown[]): boolean {
    const socket = this.peer.#socket;
    if (
      socket === undefined ||
      this.peer.destroyed ||
      socket.writableLength >= bufferBytesMax ||
      !canBypassQueue(this, chunk, rest)
    )
      return (super.write as (...args: unknown[]) => boolean)(chunk, ...rest);
    pour([chunk], socket);
    return true;
  }

  get unsentBytes(): number | undefined {
    const socket = this.peer.#socket;
    return socket && this.writableLength + socket.writableLength;
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
    void resolved.then(() => {
      if (!this.peer.destroyed) this.peer.push(null);
      done();
    });
  }

  /** Like a socket closed with unsent output: the peer gets ECONNRESET. */
  override _destroy(error: Error | null, done: Done): void {
    const { peer } = this;
    if (!this.writableFinished && !peer.destroyed)
      void resolved.then(() => peer.destroy(broken('ECONNRESET', 'read: connection reset by peer')));
    this.#goOn(broken('EPIPE', 'write: broken pipe'));
    done(error);
  }

  #goOn(error?: Error): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(error);
  }

  /** Deferred: a writer does not expect its callback before `write` has returned. */
  #deliver(chunks: readonly Buffer[], done: Done): void {
    void resolved.then(() => {
      const { peer } = this;
      if (peer.destroyed) return done(broken('EPIPE', 'write: broken pipe'));
      if (peer.#socket) for (const chunk of chunks) passed(chunk.length);
      if (peer.#socket ? pour(chunks, peer.#socket) : peer.#take(chunks)) done();
      else peer.#waiting = done;
    });
  }

  #take(chunks: readonly Buffer[]): boolean {
    let room = true;
    for (const chunk of chunks) room = this.push(chunk);
    return room;
  }

  // Methods that Node's HTTP calls on a socket. They do nothing: there is no network to tune, and no idle timeout.

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

/**
 * Corks the socket for this tick, so that pieces such as the head of a frame and its data leave in few
 * writes. Returns whether there is room.
 */
function pour(chunks: readonly Buffer[], socket: Socket): boolean {
  if (socket.writableCorked === 0) {
    socket.cork();
    setImmediate(() => socket.uncork());
  }
  for (const chunk of chunks) socket.write(chunk);
  if (socket.writableLength >= bufferBytesMax) {
    socket.uncork();
    socket.cork();
  }
  return socket.writableLength < bufferBytesMax;
}
