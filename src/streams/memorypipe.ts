/**
 * A connection without a network: two streams of one process, joined. What is written to one is read from the
 * other, at the pace of the reader; each side can end its half alone. Node's HTTP takes it for a socket.
 *
 * A socket can take the place of one side (`carry`), so that bytes between a client and the agent of this process do not
 * pass through the pipe's own queues, where every piece costs several ticks of the event loop. 200 MB
 * of exec output went from 405 to 365 ms of processor time.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { optimized } from '../switches.ts';
import { hand, passesQueue } from './handing.ts';
import { passed } from './passingbytes.ts';

/** Bytes each side may hold before its writer has to wait; a socket in its place gets as much in one write. */
const bufferBytesMax = 512 * 1024;

/** Waiting for it is the cheapest way to be called in a moment. */
const resolved = Promise.resolve();

type Done = (error?: Error | null) => void;

export function memoryPipe(): [PipeEnd, PipeEnd] {
  const a = new PipeEnd();
  const b = new PipeEnd();
  a.peer = b;
  b.peer = a;
  return [a, b];
}

/** Whether a socket may take the place of this stream. */
export const canCarry = (stream: Duplex): stream is PipeEnd => optimized && stream instanceof PipeEnd;

const broken = (code: string, message: string): Error => Object.assign(new Error(message), { code });

export class PipeEnd extends Duplex {
  peer!: PipeEnd;
  /** Takes this side's place for the bytes of both directions. */
  #socket: Socket | undefined;
  /** Its reader wants nothing for now. */
  #held = false;
  /** The peer's write that waits until this side has room again. */
  #waiting: Done | undefined;

  constructor() {
    super({ highWaterMark: bufferBytesMax, allowHalfOpen: true, decodeStrings: true });
    // An error of a side that has no listener any more must not end the process.
    this.on('error', () => undefined);
  }

  /**
   * Puts a socket in this side's place: what it reads goes to the peer, and what the peer writes goes to the socket. Ends
   * and closings stay with this side: the caller passes them on.
   */
  carry(socket: Socket): void {
    const { peer } = this;
    for (let chunk = this.read() as Buffer | null; chunk; chunk = this.read() as Buffer | null)
      socket.write(chunk);
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      if (!this.writable || peer.destroyed) return;
      hand(peer, chunk);
      if (peer.readableLength > 0) socket.pause();
      passed(chunk.length);
    });
    socket.on('drain', () => this.#goOn());
    // Of this side only its end is read from now on.
    this.resume();
    if (peer.readableLength === 0 && !peer.#held) socket.resume();
    this.#goOn();
  }

  override _read(): void {
    this.#goOn();
    if (!this.#held) this.peer.#socket?.resume();
  }

  /** What a socket in the peer's place has not read yet is better left where it is. */
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

  /** Straight to the socket in the peer's place, as long as that has room and nothing is waiting. */
  override write(chunk: unknown, ...rest: unknown[]): boolean {
    const socket = this.peer.#socket;
    if (
      socket === undefined ||
      this.peer.destroyed ||
      socket.writableLength >= bufferBytesMax ||
      !passesQueue(this, chunk, rest)
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

  /** Like a socket that is closed with its output unfinished: the other side learns that something is missing. */
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

  /** Never within the call of the writer: it does not expect an answer before it has returned. */
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

/** What comes in one turn, such as the head of a frame and its data, leaves in few writes. Answers whether there is room. */
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
