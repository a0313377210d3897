/**
 * Reads into reused buffers. Node allocates memory for every read of a socket; moving 200 MB out of a pod then costs the
 * server 290 ms of processor time instead of 200, because new memory is not in the processor's cache and has to be
 * garbage collected. Sockets made here (output pipes of containers, connections to pods) read into a few buffers instead,
 * through Node's `onread` option. That is not possible for accepted connections: Node makes their sockets.
 *
 * Parsers and streams pass the pieces on without knowing of this. At the end `byte-copy.ts` gives each piece back once it
 * was sent. A buffer is reused when all bytes of its last read were given back; a buffer of which some bytes are kept is
 * left to the garbage collector. Giving bytes back twice throws. With `WHERRY_ASSERT=1` bytes are overwritten as soon as
 * they are given back, so that a reader that still uses them fails.
 */
import { Socket, type SocketConstructorOpts } from 'node:net';
import { asserting, optimized, poison } from '../../switches.ts';
import { passed } from './minor-collections.ts';
import { pushDirect } from './queue-bypass.ts';

/** The capacity of a pipe. */
const smallBytes = 64 * 1024;
/** For connections: the peer can send as much at once as is read at once. */
const largeBytes = 512 * 1024;
/** Shorter pieces are copied, so that a few bytes do not keep a whole buffer in use. */
const copiedBytesMax = 8 * 1024;
/** Maximum free memory kept per socket. */
const freeBytesMax = 1024 * 1024;
/**
 * Bytes that all of these sockets read in a turn of the event loop before each waits for the next turn. Otherwise a socket
 * whose peer sends without end is read 32 times before anybody else is served, and what is done with its bytes, such as
 * decrypting and parsing, is done in the same turn.
 */
const turnBytesMax = 512 * 1024;
/** The same in time, where what is done with the bytes takes long, such as reading many short headers. */
const turnMaxMs = 2;
/** Sockets that have waited and read on in one turn. */
const resumedMax = 4;

const memoryOf = Symbol('memory');

/** An ArrayBuffer with a reference to its `ReadMemory`. */
interface Marked extends ArrayBuffer {
  [memoryOf]?: ReadMemory;
}

/** A read buffer, and how much of its last read has not been given back. */
class ReadMemory {
  /** Allocated without zeroing, so unused pages take no physical memory. */
  readonly whole: Buffer;
  owedBytes = 0;
  /** Whether the last read filled it. */
  filled = false;
  /** Start and end of each part of the last read that was given back; only with assertions. */
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

  /** Whether a part of the piece was given back before. Records the piece. */
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

  /** After a read that filled its buffer and was given back, the next buffer has `bytesMax`. */
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

  /** Called when all of the last read was given back. */
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

/** Gives a piece back after its last use. Ignored for memory that was not lent by a read. */
export function giveBack(piece: Buffer): void {
  memoryUnder(piece)?.takeBack(piece);
}

/** Whether a piece is in memory that must be given back. */
export const isLent = (piece: Buffer): boolean => memoryUnder(piece) !== undefined;

let turnBytes = 0;
let turnEndMs = 0;
let isEndAwaited = false;
let isOver = false;
/** The first has waited longest. */
const waiting = new Set<Socket>();
/** Those whose last read was long, and whose peer may have sent more. */
const busy = new Set<Socket>();

function endTurn(): void {
  isEndAwaited = false;
  turnBytes = 0;
  isOver = false;
  let resumed = 0;
  for (const socket of waiting) {
    if (resumed === resumedMax) break;
    waiting.delete(socket);
    // One that was paused meanwhile goes on when it is resumed.
    if (socket.destroyed || socket.isPaused()) continue;
    socket._read(0);
    resumed++;
  }
  if (waiting.size > 0) awaitEnd();
}

function awaitEnd(): void {
  if (isEndAwaited) return;
  isEndAwaited = true;
  setImmediate(endTurn);
}

/** Whether a socket may read more in this turn. Otherwise it goes on in a later one. */
function hasTurn(socket: Socket, bytes: number): boolean {
  if (turnBytes === 0) turnEndMs = performance.now() + turnMaxMs;
  awaitEnd();
  turnBytes += bytes;
  if (bytes > copiedBytesMax) busy.add(socket);
  else busy.delete(socket);
  if (turnBytes < turnBytesMax && performance.now() < turnEndMs) return true;
  waiting.add(socket);
  if (!isOver) stopBusy();
  isOver = true;
  return false;
}

/**
 * Makes all others wait, too, that are likely to have much to read: the system has said of a hundred at once that they
 * can be read, and each would read once before it is asked whether it may.
 */
function stopBusy(): void {
  for (const socket of busy) {
    const handle = (socket as { _handle?: ReadingHandle | null })._handle;
    if (!handle?.reading) continue;
    handle.reading = false;
    handle.readStop();
    waiting.add(socket);
  }
}

/** What Node has of a socket: `_read` begins to read again. */
interface ReadingHandle {
  reading: boolean;
  readStop(): number;
}

/**
 * A socket that reads into reused buffers. Readers that give nothing back get a new buffer for each piece, as
 * with any socket.
 */
export function reusingSocket(options: SocketConstructorOpts, bytesMax: number = largeBytes): Socket {
  if (!optimized) return new Socket(options);
  const reads = new ReusedReads(bytesMax);
  const onread = {
    buffer: () => reads.next(),
    callback: (bytes: number) => pushDirect(socket, reads.piece(bytes)) && hasTurn(socket, bytes),
  };
  const socket: Socket = new Socket({ ...options, onread } as SocketConstructorOpts);
  return socket.on('close', () => busy.delete(socket));
}

/** For the read end of a pipe. */
export const reusingPipe = (fd: number): Socket =>
  reusingSocket({ fd, readable: true, writable: false }, smallBytes);
