/**
 * Reads into memory that is used again. Node allocates memory for every read of a socket; moving 200 MB out of a pod then
 * costs the server 290 ms of processor time instead of 200, for fresh memory is not in the processor's cache and has to
 * be collected. Sockets made here (the output pipes of containers, connections to pods) read into a few buffers instead,
 * through Node's `onread` option. Accepted connections cannot: Node makes their sockets.
 *
 * Parsers and streams pass on what was read without knowing of this. The last in line, `bytecopy.ts`, gives each piece
 * back once it has left the process. A buffer is read into again when all bytes of its last read have come back; one of
 * which a byte is kept is left to the garbage collector. Giving bytes back twice throws. With `WHERRY_ASSERT=1` bytes
 * that were given back are overwritten at once, so a reader that still uses them fails.
 */
import { Socket, type SocketConstructorOpts } from 'node:net';
import { asserting, optimized, poison } from '../switches.ts';
import { hand } from './handing.ts';
import { passed } from './passingbytes.ts';

/** As much as a pipe holds. */
const smallBytes = 64 * 1024;
/** For connections: the system lets the other side send as much at a time as is read at a time. */
const largeBytes = 512 * 1024;
/** Shorter pieces are copied, so that a few bytes do not hold a whole buffer. */
const copiedBytesMax = 8 * 1024;
/** Free memory that is kept for each socket. */
const freeBytesMax = 1024 * 1024;

const memoryOf = Symbol('memory');

/** The memory under a piece knows its `ReadMemory`. */
interface Marked extends ArrayBuffer {
  [memoryOf]?: ReadMemory;
}

/** A buffer to read into, and how much of its last read has not come back. */
class ReadMemory {
  /** Not filled with zeros: what is never read into takes no memory of the machine. */
  readonly whole: Buffer;
  owedBytes = 0;
  /** Whether the last read had filled it. */
  filled = false;
  /** Start and end of each part of the last read that has come back; only when asserting. */
  #returned: [start: number, end: number][] = [];

  constructor(
    readonly reads: ReusedReads,
    readonly bytes: number,
  ) {
    this.whole = Buffer.allocUnsafeSlow(bytes);
    (this.whole.buffer as Marked)[memoryOf] = this;
  }

  lend(bytes: number): void {
    this.owedBytes = bytes;
    this.filled = bytes === this.bytes;
    if (asserting) this.#returned = [];
  }

  takeBack(piece: Buffer): void {
    if (piece.length === 0) return;
    if (piece.length > this.owedBytes || (asserting && this.#overlaps(piece)))
      throw new Error('memory of a read was given back twice');
    poison(piece);
    this.owedBytes -= piece.length;
    if (this.owedBytes === 0) this.reads.takeBack(this);
  }

  /** Whether a part of the piece has come back before. Remembers it. */
  #overlaps({ byteOffset: start, length }: Buffer): boolean {
    const end = start + length;
    const twice = this.#returned.some(([from, to]) => start < to && from < end);
    this.#returned.push([start, end]);
    return twice;
  }
}

export class ReusedReads {
  /** Size of the buffer to read into next. */
  #bytes = smallBytes;
  #current = new ReadMemory(this, smallBytes);
  #free: ReadMemory[] = [];

  /** After a read that filled its buffer and came back, the next gets one of `bytesMax`. */
  constructor(private readonly bytesMax: number) {}

  /** The buffer to read into. */
  next(): Buffer {
    const { owedBytes, bytes } = this.#current;
    if (owedBytes !== 0 || bytes !== this.#bytes) this.#current = this.#free.pop() ?? this.#make();
    return this.#current.whole;
  }

  /** The piece that was read. */
  piece(bytes: number): Buffer {
    const piece = this.#current.whole.subarray(0, bytes);
    if (bytes <= copiedBytesMax) {
      this.#resize(smallBytes);
      return Buffer.from(piece);
    }
    this.#current.lend(bytes);
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

/** Says that nobody needs a piece any more. Memory that was not lent by a read is left alone. */
export function giveBack(piece: Buffer): void {
  memoryUnder(piece)?.takeBack(piece);
}

/** Whether a piece is in memory that is to be given back. */
export const isLent = (piece: Buffer): boolean => memoryUnder(piece) !== undefined;

/** A reader that gives nothing back gets memory of its own for each piece, as with any other socket. */
export function reusingSocket(options: SocketConstructorOpts, bytesMax: number = largeBytes): Socket {
  if (!optimized) return new Socket(options);
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
