/**
 * Sockets that read into the same memory again, when those who have taken what was read say that they have no more use
 * for it. So it stays in the processor's cache, and there is nothing to collect.
 */
import { Socket, type SocketConstructorOpts } from 'node:net';
import type { Readable } from 'node:stream';
import { hand } from './handing.ts';
import { passed } from './passingbytes.ts';

/** As much as a pipe holds. */
const bufferBytes = 64 * 1024;
/** Shorter pieces are copied, so that a few bytes do not hold a whole buffer. */
const copiedBytesMax = 8 * 1024;
/** Kept for each socket. */
const buffersMax = 8;

export class ReusedReads {
  #current: Buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #handedOut = false;
  readonly #lent: ArrayBufferLike[] = [];
  readonly #free: ArrayBufferLike[] = [];

  /** To read into. */
  next(): Buffer {
    if (!this.#handedOut) return this.#current;
    this.#handedOut = false;
    const free = this.#free.pop();
    if (!free) passed(bufferBytes);
    this.#current = free ? Buffer.from(free) : Buffer.allocUnsafeSlow(bufferBytes);
    return this.#current;
  }

  /** The piece that was read. */
  piece(bytes: number): Buffer {
    const piece = this.#current.subarray(0, bytes);
    if (bytes <= copiedBytesMax) return Buffer.from(piece);
    this.#handedOut = true;
    return piece;
  }

  /** A piece is with somebody who will say when it is not needed any more. Others are never read into again. */
  lend(piece: Buffer): void {
    if (piece.length > copiedBytesMax && this.#lent.length + this.#free.length < buffersMax)
      this.#lent.push(piece.buffer);
  }

  /** All that was lent is not needed any more. */
  takeBack(): void {
    while (this.#lent.length > 0) this.#free.push(this.#lent.pop()!);
  }
}

const readings = new WeakMap<Readable, ReusedReads>();

/** Whoever reads from it and never says so has memory of his own, as with any other socket. */
export function reusingSocket(options: SocketConstructorOpts): Socket {
  const reads = new ReusedReads();
  const onread = {
    buffer: () => reads.next(),
    callback: (bytes: number) => hand(socket, reads.piece(bytes)),
  };
  const socket: Socket = new Socket({ ...options, onread } as SocketConstructorOpts);
  readings.set(socket, reads);
  return socket;
}

export const reusedReads = (source: Readable): ReusedReads | undefined => readings.get(source);
