/**
 * What a session sends: frames of one tick of the event loop in one write, and bodies as the windows of their streams and
 * of the session allow, in turn. Bytes of bodies wait in the queues of their streams while the socket has not taken what
 * it got; frames without flow control do not wait, and are bounded by what the client asks for.
 *
 * A stream with bytes that wait is ready, or it waits for its own window:
 *
 *   nothing to send ──(send)──► ready ──(all sent)──► nothing to send
 *                                └──(window used up)──► stalled ──(window opened)──► ready
 */
import type { Socket } from 'node:net';
import { DEFAULT_WINDOW_BYTES, Flag, FRAME_BYTES_MAX, Frame, HEAD_BYTES } from '../../http2/frame-rules.ts';
import type { Sheet, Sheets } from '../lane/sheets.ts';

/** Bytes of bodies that a session sends before its socket has taken them: one turn of the event loop encrypts them. */
const burstBytesMax = 256 * 1024;
/** What one stream may send of it when others wait, too. */
const shareBytesMax = 32 * 1024;

/** A stream, as far as its answer is concerned. */
export interface OutgoingStream {
  readonly id: number;
  /** Bytes that the client takes now. Settings may make it negative. */
  window: number;
  /** Bytes of the answer that wait. */
  readonly queue: Buffer[];
  queued: number;
  /** Whether the answer ends behind the queue. */
  isEnding: boolean;
  /** Called when bytes have to wait in the queue, and when they were sent. */
  waits(bytes: number): void;
  taken(bytes: number): void;
  /** Called when the end of the answer was sent. */
  sent(): void;
}

export class Outflow {
  /** Bytes that the client takes now, of all streams together. */
  window = DEFAULT_WINDOW_BYTES;
  readonly #ready = new Set<OutgoingStream>();
  #sheet: Sheet | undefined;
  /** Where the frames of this session begin in the sheet. */
  #begin = 0;
  #isAwaited = false;

  constructor(
    private readonly socket: Socket,
    private readonly sheets: Sheets,
  ) {}

  /** Whether the client has to read before more can be sent. */
  get isBlocked(): boolean {
    return this.socket.writableNeedDrain;
  }

  frame(type: number, flags: number, id: number, payload?: Buffer): void {
    const bytes = payload?.length ?? 0;
    const sheet = this.#reserve(HEAD_BYTES + bytes);
    writeFrameHead(sheet, bytes, type, flags, id);
    if (payload) sheet.end += payload.copy(sheet.bytes, sheet.end);
  }

  /** A frame of a number of four bytes: a reset, or a window update. */
  number(type: number, id: number, value: number): void {
    const sheet = this.#reserve(HEAD_BYTES + 4);
    writeFrameHead(sheet, 4, type, 0, id);
    sheet.end = sheet.bytes.writeUInt32BE(value, sheet.end);
  }

  /**
   * Headers, in as many frames as it takes.
   * @param bytesMax how long they may be
   * @param encode writes them at a place, and returns the place behind them
   */
  headers(id: number, ends: boolean, bytesMax: number, encode: (bytes: Buffer, at: number) => number): void {
    const flags = ends ? Flag.endStream : 0;
    if (bytesMax > FRAME_BYTES_MAX) {
      const block = Buffer.allocUnsafe(bytesMax);
      return this.#longHeaders(id, flags, block.subarray(0, encode(block, 0)));
    }
    const sheet = this.#reserve(HEAD_BYTES + bytesMax);
    const at = sheet.end;
    const end = encode(sheet.bytes, at + HEAD_BYTES);
    writeFrameHead(sheet, end - at - HEAD_BYTES, Frame.headers, flags | Flag.endHeaders, id);
    sheet.end = end;
  }

  #longHeaders(id: number, flags: number, block: Buffer): void {
    for (let at = 0; at < block.length; at += FRAME_BYTES_MAX) {
      const isLast = at + FRAME_BYTES_MAX >= block.length;
      const type = at === 0 ? Frame.headers : Frame.continuation;
      const own = (at === 0 ? flags : 0) | (isLast ? Flag.endHeaders : 0);
      this.frame(type, own, id, block.subarray(at, at + FRAME_BYTES_MAX));
    }
  }

  /** Sends a part of an answer, now or when there is room for it. */
  send(stream: OutgoingStream, bytes: Buffer, isLast: boolean): void {
    stream.isEnding = isLast;
    const size = bytes.length;
    if (stream.queued === 0 && size <= FRAME_BYTES_MAX && this.#hasRoom(stream, size)) {
      if (size > 0 || isLast) this.frame(Frame.data, isLast ? Flag.endStream : 0, stream.id, bytes);
      stream.window -= size;
      this.window -= size;
      if (isLast) stream.sent();
      return;
    }
    if (size > 0) stream.queue.push(bytes);
    stream.queued += size;
    stream.waits(size);
    this.ready(stream);
  }

  #hasRoom(stream: OutgoingStream, bytes: number): boolean {
    return bytes === 0 || (bytes <= stream.window && bytes <= this.window && !this.isBlocked);
  }

  /** Goes on with a stream that has bytes to send, when it may. */
  ready(stream: OutgoingStream): void {
    if (stream.queued === 0) return;
    this.#ready.add(stream);
    this.pump();
  }

  /** Sends no more of a stream. */
  forget(stream: OutgoingStream): void {
    this.#ready.delete(stream);
    stream.queue.length = 0;
    stream.queued = 0;
  }

  /** Sends what the windows allow, a burst at most. */
  pump(): void {
    let left = burstBytesMax;
    while (this.#ready.size > 0 && this.window > 0 && left > 0 && !this.isBlocked) {
      const [stream] = this.#ready as unknown as [OutgoingStream];
      this.#ready.delete(stream);
      // Stalled streams come back when their window is opened.
      if (stream.window <= 0) continue;
      const most = this.#ready.size > 0 ? shareBytesMax : left;
      const bytes = Math.min(stream.queued, stream.window, this.window, most);
      left -= bytes;
      this.#sendQueued(stream, bytes);
      if (stream.queued > 0) this.#ready.add(stream);
      else if (stream.isEnding) stream.sent();
    }
    if (left <= 0) this.flush();
    if (this.#ready.size > 0 && this.window > 0 && !this.isBlocked) this.#pumpLater();
  }

  #pumpLater(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(() => {
      this.#isAwaited = false;
      this.pump();
    });
  }

  #sendQueued(stream: OutgoingStream, bytes: number): void {
    const sheet = this.#reserve(bytes + HEAD_BYTES * Math.ceil(bytes / FRAME_BYTES_MAX));
    stream.window -= bytes;
    this.window -= bytes;
    stream.queued -= bytes;
    for (let left = bytes; left > 0; ) {
      const size = Math.min(left, FRAME_BYTES_MAX);
      left -= size;
      const isLast = left === 0 && stream.queued === 0 && stream.isEnding;
      writeFrameHead(sheet, size, Frame.data, isLast ? Flag.endStream : 0, stream.id);
      fill(sheet, stream.queue, size);
    }
    stream.taken(bytes);
  }

  #reserve(bytes: number): Sheet {
    let sheet = this.#sheet;
    if (sheet && sheet.room >= bytes) return sheet;
    if (sheet) this.flush();
    else process.nextTick(this.flush);
    sheet = this.sheets.take(bytes);
    this.#sheet = sheet;
    this.#begin = sheet.end;
    return sheet;
  }

  readonly flush = (): void => {
    const sheet = this.#sheet;
    if (!sheet) return;
    this.#sheet = undefined;
    const { socket } = this;
    if (sheet.end > this.#begin && !socket.destroyed && socket.writable) {
      sheet.begin();
      socket.write(sheet.bytes.subarray(this.#begin, sheet.end), sheet.written);
    }
    sheet.leave();
  };
}

function writeFrameHead(sheet: Sheet, length: number, type: number, flags: number, id: number): void {
  const { bytes, end } = sheet;
  bytes[end] = length >>> 16;
  bytes[end + 1] = length >>> 8;
  bytes[end + 2] = length;
  bytes[end + 3] = type;
  bytes[end + 4] = flags;
  bytes[end + 5] = id >>> 24;
  bytes[end + 6] = id >>> 16;
  bytes[end + 7] = id >>> 8;
  bytes[end + 8] = id;
  sheet.end = end + HEAD_BYTES;
}

/** Moves bytes from the beginning of a queue to a sheet. */
function fill(sheet: Sheet, queue: Buffer[], size: number): void {
  for (let left = size; left > 0; ) {
    const first = queue[0]!;
    const taken = Math.min(left, first.length);
    first.copy(sheet.bytes, sheet.end, 0, taken);
    sheet.end += taken;
    left -= taken;
    if (taken === first.length) queue.shift();
    else queue[0] = first.subarray(taken);
  }
}
