/**
 * One stream of a SPDY connection, as a Duplex. SPDY as Kubernetes speaks it has no windows: what the peer sends is
 * kept here up to a bound, then the connection stops reading its socket, for all of its streams.
 *
 * Each half is open, ended by FIN, or cut. It is cut by RST_STREAM, by the end of the connection, or by destroying the
 * stream here. After the peer's cut what has arrived can still be read, then reading ends; what is written goes nowhere.
 */
import { Duplex } from 'node:stream';
import { hand, passesQueue } from './handing.ts';
import { resetStatus } from './spdyframe.ts';

/** Kept for a reader who is slow, before the connection is paused. */
const bufferedBytesMax = 256 * 1024;
/** What a kept piece costs at least, so that a million tiny frames are bounded too. */
const pieceBytesMin = 512;
/** A piece holds all the memory it is a part of, which may be so many times as much as what it counts for. */
const heldShare = 4;
/** Shorter pieces are copied rather than counted for more than they are. */
const copiedBytesMax = 16 * 1024;
/** Keeps the streams of a connection interleaved. */
const frameBytesMax = 64 * 1024;
const writableBytes = 256 * 1024;

/** What a stream needs of its connection. */
export interface StreamCarrier {
  reply(id: number): void;
  reset(id: number, status: number): void;
  data(id: number, pieces: readonly Buffer[], bytes: number): void;
  fin(id: number): void;
  /** Whether the socket has enough for now. */
  readonly full: boolean;
  /** What the socket has taken, and not sent yet; undefined when code of this process may keep it. */
  readonly unsentBytes: number | undefined;
  /** Calls once when it has not. */
  whenWritable(resume: () => void): void;
  /** The stream's kept bytes have changed by `bytes`; `stalled` says whether it is at its bound. */
  kept(stream: SpdyStream, bytes: number, stalled: boolean): void;
  /** Both halves are over. */
  forget(stream: SpdyStream): void;
}

export class SpdyStream extends Duplex {
  readonly id: number;
  /** Names are lower-cased; the object has no prototype. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Makes an end of reading that is no FIN an error: the connection went away, or the stream was reset with anything but
   * CANCEL, by which real kubelets also end a stream that went well.
   */
  strictEnd = false;

  readonly #carrier: StreamCarrier;
  #replied: boolean;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #stalled = false;
  /** Readable has asked for more than it was given. */
  #wanted = false;
  #remoteEnded = false;
  #endDelivered = false;
  #localEnded = false;
  #cut = false;
  #resetStatus: number | undefined;
  #outgoing: Buffer[] = [];
  #written: (() => void) | undefined;
  #waiting = false;

  constructor(
    carrier: StreamCarrier,
    id: number,
    headers: Readonly<Record<string, string>>,
    options: { replied: boolean; readOnly: boolean },
  ) {
    // One piece at a time lies in Readable; the rest is kept here, where it is counted.
    super({ readableHighWaterMark: 1, writableHighWaterMark: writableBytes });
    this.#carrier = carrier;
    this.id = id;
    this.headers = headers;
    this.#replied = options.replied;
    this.#localEnded = options.readOnly;
    // A stream that breaks tells its owner by 'close'; without a listener it must not end the process.
    this.on('error', () => {});
  }

  /** The status by which the peer has reset this stream. */
  get resetStatus(): number | undefined {
    return this.#resetStatus;
  }

  /** SYN_REPLY. The first write does it too, because data sent before it is lost. */
  accept(): void {
    if (this.#replied || this.#cut) return;
    this.#replied = true;
    this.#carrier.reply(this.id);
  }

  /** RST_STREAM: the peer gets no more, and neither do we. */
  reset(status: number = resetStatus.cancel): void {
    this.#cutOff(status);
    this.destroy();
  }

  override _read(): void {
    this.#wanted = true;
    this.#deliver();
  }

  /** Sends a frame, unless something waits to be sent or the socket has enough. False when it was not sent. */
  sendAtOnce(chunk: Buffer): boolean {
    if (chunk.length === 0 || chunk.length > frameBytesMax || this.#carrier.full) return false;
    if (!passesQueue(this, chunk) || this.#localEnded || this.#cut) return false;
    this.accept();
    this.#carrier.data(this.id, [chunk], chunk.length);
    return true;
  }

  override write(chunk: unknown, ...rest: unknown[]): boolean {
    if (rest.length === 0 && Buffer.isBuffer(chunk) && this.sendAtOnce(chunk)) return true;
    return (super.write as (...args: unknown[]) => boolean)(chunk, ...rest);
  }

  get unsentBytes(): number | undefined {
    const { unsentBytes } = this.#carrier;
    return unsentBytes === undefined ? undefined : this.writableLength + unsentBytes;
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.#send([chunk], callback);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: () => void): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      callback,
    );
  }

  override _final(callback: () => void): void {
    if (!this.#localEnded && !this.#cut) {
      this.accept();
      this.#carrier.fin(this.id);
      this.#endLocal();
    }
    callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#cutOff(resetStatus.cancel);
    this.#kept.length = 0;
    this.#outgoing = [];
    this.#written = undefined;
    callback(error);
  }

  // The next four are for the connection.

  receive(bytes: Buffer, fin: boolean): void {
    if (this.#remoteEnded || this.#cut) return;
    if (bytes.length > 0) {
      if (this.#wanted && this.#kept.length === 0) this.#wanted = hand(this, bytes);
      else this.#keep(bytes);
    }
    if (fin && !this.#cut) this.receiveFin();
  }

  receiveFin(): void {
    if (this.#remoteEnded) return;
    this.#remoteEnded = true;
    this.#deliver();
    if (this.#localEnded) this.#carrier.forget(this);
  }

  receiveReset(status: number): void {
    this.#resetStatus = status;
    this.sever();
    this.emit('reset', status);
  }

  /** The peer has gone, or has reset the stream. */
  sever(): void {
    if (this.#cut) return;
    this.#cut = true;
    this.#release();
    if (!this.#remoteEnded && this.strictEnd && this.#resetStatus !== resetStatus.cancel) {
      // As with a TCP connection that is reset, what was not read yet is lost.
      this.destroy(new Error('read ECONNRESET'));
      return;
    }
    this.#remoteEnded = true;
    this.#deliver();
    this.#outgoing = [];
    this.#finishWrite();
    if (this.readableEnded) {
      this.destroy();
      return;
    }
    this.once('end', () => this.destroy());
    // Ends also a stream that nobody reads, unless something is left to read.
    this.read(0);
  }

  #keep(bytes: Buffer): void {
    const piece = bytes.length < copiedBytesMax ? ownCopy(bytes) : bytes;
    this.#kept.push(piece);
    this.#count(costOf(piece));
  }

  #deliver(): void {
    while (this.#wanted && this.#kept.length > 0) {
      const piece = this.#kept.shift()!;
      if (!this.#cut) this.#count(-costOf(piece));
      this.#wanted = this.push(piece);
    }
    if (this.#kept.length > 0 || !this.#remoteEnded || this.#endDelivered) return;
    this.#endDelivered = true;
    this.push(null);
  }

  #count(bytes: number): void {
    this.#keptBytes += bytes;
    // Reading starts again at half, so that it does not start and stop with every piece.
    this.#stalled = this.#keptBytes >= (this.#stalled ? bufferedBytesMax / 2 : bufferedBytesMax);
    this.#carrier.kept(this, bytes, this.#stalled);
  }

  /** What is kept no longer holds the connection up. */
  #release(): void {
    if (this.#keptBytes === 0 && !this.#stalled) return;
    const bytes = this.#keptBytes;
    this.#keptBytes = 0;
    this.#stalled = false;
    this.#carrier.kept(this, -bytes, false);
  }

  #send(pieces: Buffer[], callback: () => void): void {
    if (this.#cut || this.#localEnded) {
      // Never at once: a source without end would be poured away without end.
      setImmediate(callback);
      return;
    }
    this.accept();
    this.#outgoing = pieces;
    this.#written = callback;
    this.#pump();
  }

  #pump(): void {
    while (this.#outgoing.length > 0) {
      if (this.#carrier.full) {
        this.#wait();
        return;
      }
      this.#sendFrame();
    }
    this.#finishWrite();
  }

  #wait(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#carrier.whenWritable(() => {
      this.#waiting = false;
      if (this.#written !== undefined) this.#pump();
    });
  }

  /** One frame from the front of what is to be sent, of as many pieces as fit. */
  #sendFrame(): void {
    const pieces: Buffer[] = [];
    let bytes = 0;
    let used = 0;
    for (const piece of this.#outgoing) {
      const room = frameBytesMax - bytes;
      if (piece.length > room) {
        if (room > 0) pieces.push(piece.subarray(0, room));
        this.#outgoing[used] = piece.subarray(room);
        bytes = frameBytesMax;
        break;
      }
      pieces.push(piece);
      bytes += piece.length;
      used++;
    }
    this.#outgoing.splice(0, used);
    if (bytes > 0) this.#carrier.data(this.id, pieces, bytes);
  }

  #finishWrite(): void {
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }

  #endLocal(): void {
    this.#localEnded = true;
    if (this.#remoteEnded) this.#carrier.forget(this);
  }

  /** Tells the peer, unless it knows. */
  #cutOff(status: number): void {
    if (this.#cut) return;
    this.#cut = true;
    this.#release();
    if (!this.#localEnded || !this.#remoteEnded) {
      this.#carrier.reset(this.id, status);
      this.#carrier.forget(this);
    }
  }
}

/** A short piece of much memory, in memory of its own; others as they are. */
function ownCopy(bytes: Buffer): Buffer {
  if (bytes.length * heldShare >= bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function costOf(piece: Buffer): number {
  return Math.max(piece.length, pieceBytesMin, piece.buffer.byteLength / heldShare);
}
