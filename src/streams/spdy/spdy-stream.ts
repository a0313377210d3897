/**
 * One stream of a SPDY connection, as a Duplex. Kubernetes' SPDY has no flow-control windows: received data
 * is buffered here up to a bound, then the connection stops reading its socket, for all of its streams.
 *
 * Each half is open, ended by FIN, or cut: by RST_STREAM, by the end of the connection, or by destroying the
 * stream here. After a cut by the peer, received data can still be read; data written is discarded.
 */
import { Duplex } from 'node:stream';
import { canBypassQueue, pushDirect } from '../bytes/queue-bypass.ts';
import { resetStatus } from './spdy-frame.ts';

/** Bytes buffered for a slow reader before the connection is paused. */
const bufferedBytesMax = 256 * 1024;
/** Minimum that a buffered piece counts, so that a million tiny frames are bounded, too. */
const pieceBytesMin = 512;
/** A piece keeps the whole buffer it is a view of, which may be this many times larger than what it counts for. */
const heldShare = 4;
/** Shorter pieces are copied, so that they do not keep a larger buffer. */
const copiedBytesMax = 16 * 1024;
/** Maximum frame size, so that the streams of a connection interleave. */
const frameBytesMax = 64 * 1024;
const writableBytes = 256 * 1024;

/** What a stream needs of its connection. */
export interface StreamCarrier {
  reply(id: number): void;
  reset(id: number, status: number): void;
  data(id: number, pieces: readonly Buffer[], bytes: number): void;
  fin(id: number): void;
  /** Whether the socket has no room for now. */
  readonly full: boolean;
  /** Bytes the socket has accepted but not sent; undefined when code in this process may keep the data. */
  readonly unsentBytes: number | undefined;
  /** Calls back once when the socket has room. */
  whenWritable(resume: () => void): void;
  /** The stream's buffered bytes have changed by `bytes`; `stalled` says whether it is at its bound. */
  kept(stream: SpdyStream, bytes: number, stalled: boolean): void;
  /** Called when both halves have ended. */
  forget(stream: SpdyStream): void;
}

export class SpdyStream extends Duplex {
  readonly id: number;
  /** Names are lower-cased; the object has no prototype. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Makes any end of reading without FIN an error: a lost connection, or a reset. CANCEL is no error: real
   * kubelets also end successful streams with it.
   */
  strictEnd = false;

  readonly #carrier: StreamCarrier;
  #replied: boolean;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #stalled = false;
  /** Whether Readable has asked for more data. */
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
    // At most one piece is in Readable's own buffer; the rest is kept here, where it is counted.
    super({ readableHighWaterMark: 1, writableHighWaterMark: writableBytes });
    this.#carrier = carrier;
    this.id = id;
    this.headers = headers;
    this.#replied = options.replied;
    this.#localEnded = options.readOnly;
    // Without a listener an error would end the process; owners watch 'close'.
    this.on('error', () => {});
  }

  /** The status with which the peer has reset this stream. */
  get resetStatus(): number | undefined {
    return this.#resetStatus;
  }

  /** Sends SYN_REPLY. The first write does so as well, because data sent before it would be lost. */
  accept(): void {
    if (this.#replied || this.#cut) return;
    this.#replied = true;
    this.#carrier.reply(this.id);
  }

  /** Sends RST_STREAM and cuts both halves. */
  reset(status: number = resetStatus.cancel): void {
    this.#cutOff(status);
    this.destroy();
  }

  override _read(): void {
    this.#wanted = true;
    this.#deliver();
  }

  /** Sends a frame directly, unless data is queued or the socket is full. Returns whether it was sent. */
  sendAtOnce(chunk: Buffer): boolean {
    if (chunk.length === 0 || chunk.length > frameBytesMax || this.#carrier.full) return false;
    if (!canBypassQueue(this, chunk) || this.#localEnded || this.#cut) return false;
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

  // The next four methods are called by the connection.

  receive(bytes: Buffer, fin: boolean): void {
    if (this.#remoteEnded || this.#cut) return;
    if (bytes.length > 0) {
      if (this.#wanted && this.#kept.length === 0) this.#wanted = pushDirect(this, bytes);
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

  /** Called when the peer has gone, or has reset the stream. */
  sever(): void {
    if (this.#cut) return;
    this.#cut = true;
    this.#release();
    if (!this.#remoteEnded && this.strictEnd && this.#resetStatus !== resetStatus.cancel) {
      // As with a reset TCP connection, unread data is lost.
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
    // Emits the end of an unread stream, unless data is left.
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
    // Reading resumes at half the bound (hysteresis), so that it does not toggle with every piece.
    this.#stalled = this.#keptBytes >= (this.#stalled ? bufferedBytesMax / 2 : bufferedBytesMax);
    this.#carrier.kept(this, bytes, this.#stalled);
  }

  /** Buffered data no longer pauses the connection. */
  #release(): void {
    if (this.#keptBytes === 0 && !this.#stalled) return;
    const bytes = this.#keptBytes;
    this.#keptBytes = 0;
    this.#stalled = false;
    this.#carrier.kept(this, -bytes, false);
  }

  #send(pieces: Buffer[], callback: () => void): void {
    if (this.#cut || this.#localEnded) {
      // Deferred: otherwise an endless source would be discarded in an endless loop.
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

  /** Sends one frame with as many queued pieces as fit. */
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

  /** Sends RST_STREAM, unless the peer already knows. */
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

/** Copies a short piece of a large buffer; returns other pieces unchanged. */
function ownCopy(bytes: Buffer): Buffer {
  if (bytes.length * heldShare >= bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function costOf(piece: Buffer): number {
  return Math.max(piece.length, pieceBytesMin, piece.buffer.byteLength / heldShare);
}
