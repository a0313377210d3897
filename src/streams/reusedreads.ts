/**
 * Memory that sockets read into again, when those who have taken what was read say that they have no more use for it. So
 * it stays in the processor's cache, and there is nothing to collect.
 *
 * What was read goes in pieces by way of parsers and streams that know nothing of this. Whoever stands at the end of the
 * way gives back each piece once. When all bytes of a read have come back, its memory is free; memory of which a byte
 * stays away is never read into again, and left to the collector.
 */
import { Socket, type SocketConstructorOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { hand } from './handing.ts';
import { passed } from './passingbytes.ts';

/** As much as a pipe holds. */
const smallBytes = 64 * 1024;
/** For connections: the system lets the other side send as much at a time as is read at a time. */
const largeBytes = 512 * 1024;
/** Shorter pieces are copied, so that a few bytes do not hold all the memory. */
const copiedBytesMax = 8 * 1024;
/** Free memory that is kept for each socket. */
const freeBytesMax = 1024 * 1024;

const memoryOf = Symbol('memory');

/** What pieces are parts of. */
interface Marked extends ArrayBuffer {
  [memoryOf]?: ReadMemory;
}

/** Memory to read into, and how much of what was read last is with somebody. */
class ReadMemory {
  /** Not filled with zeros: what is never read into takes no memory of the machine. */
  readonly whole: Buffer;
  owedBytes = 0;
  filled = false;

  constructor(
    readonly reads: ReusedReads,
    readonly bytes: number,
  ) {
    this.whole = Buffer.allocUnsafeSlow(bytes);
    (this.whole.buffer as Marked)[memoryOf] = this;
  }
}

export class ReusedReads {
  /** Of the memory to read into next. */
  #bytes = smallBytes;
  #current = new ReadMemory(this, smallBytes);
  #free: ReadMemory[] = [];

  /** Reads that fill their memory get as much as `bytesMax` the next time, if it comes back. */
  constructor(private readonly bytesMax: number) {}

  /** To read into. */
  next(): Buffer {
    const { owedBytes, bytes } = this.#current;
    if (owedBytes !== 0 || bytes !== this.#bytes) this.#current = this.#free.pop() ?? this.#make();
    return this.#current.whole;
  }

  /** The piece that was read. */
  piece(bytes: number): Buffer {
    const memory = this.#current;
    const piece = memory.whole.subarray(0, bytes);
    if (bytes <= copiedBytesMax) {
      this.#resize(smallBytes);
      return Buffer.from(piece);
    }
    memory.owedBytes = bytes;
    memory.filled = bytes === memory.bytes;
    return piece;
  }

  /** All of what was read into it has come back. */
  takeBack(memory: ReadMemory): void {
    if (memory.filled) this.#resize(this.bytesMax);
    if (memory === this.#current || memory.bytes !== this.#bytes) return;
    if ((this.#free.length + 1) * this.#bytes <= freeBytesMax) this.#free.push(memory);
  }

  #resize(bytes: number): void {
    if (bytes === this.#bytes) return;
    this.#bytes = bytes;
    this.#free = [];
  }

  #make(): ReadMemory {
    passed(this.#bytes);
    return new ReadMemory(this, this.#bytes);
  }
}

const memoryUnder = (piece: Buffer): ReadMemory | undefined => (piece.buffer as Marked)[memoryOf];

/** Says that a piece, or so many bytes of it, is not needed any more. Memory of other kinds is none of its business. */
export function giveBack(piece: Buffer, bytes: number = piece.length): void {
  const memory = memoryUnder(piece);
  if (!memory || bytes === 0) return;
  memory.owedBytes -= bytes;
  if (memory.owedBytes === 0) memory.reads.takeBack(memory);
}

/** Whether it is to be given back. */
export const isLent = (piece: Buffer): boolean => memoryUnder(piece) !== undefined;

/** Whoever reads from it and gives nothing back has memory of his own, as with any other socket. */
export function reusingSocket(options: SocketConstructorOpts, bytesMax: number = largeBytes): Socket {
  const reads = new ReusedReads(bytesMax);
  const onread = {
    buffer: () => reads.next(),
    callback: (bytes: number) => hand(socket, reads.piece(bytes)),
  };
  const socket: Socket = new Socket({ ...options, onread } as SocketConstructorOpts);
  return socket;
}

/** For the read end of a pipe. */
export const reusingPipe = (fd: number): Socket =>
  reusingSocket({ fd, readable: true, writable: false }, smallBytes);

/** What a socket has of the system. Node has no other way to let one that it has accepted read into given memory. */
interface Connected {
  _handle: { reading: boolean; readStop(): void } | null;
}

/**
 * The connection of a socket, in one that reads this way; where that cannot be had, the socket as it is. The one it was
 * taken from is closed with it, and the other way round. Nobody may read from that or write to it any more.
 */
export function reusing<S extends Duplex>(given: S): S | Socket {
  if (!(given instanceof Socket) || given instanceof TLSSocket) return given;
  const connected = given as unknown as Connected;
  const { _handle: handle } = connected;
  if (!handle || given.destroyed || given.readableEnded || given.writableLength > 0) return given;
  const early: Buffer[] = [];
  for (let chunk = given.read() as Buffer | null; chunk; chunk = given.read() as Buffer | null)
    early.push(chunk);
  given.setTimeout(0);
  connected._handle = null;
  // The new socket begins to read by itself, and learns of an end once more.
  handle.readStop();
  handle.reading = false;
  const socket = reusingSocket({ handle, allowHalfOpen: given.allowHalfOpen } as SocketConstructorOpts);
  for (const chunk of early) socket.push(chunk);
  socket.on('error', (error) => given.destroy(error)).on('close', () => given.destroy());
  given.on('close', () => socket.destroy());
  return socket;
}
