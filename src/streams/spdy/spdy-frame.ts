/**
 * SPDY/3.1 frames as Kubernetes' clients and kubelets speak them: bytes to frames and back, without a socket.
 * Integers are big-endian. A control frame starts with a set bit, the version and a type; a data frame with its stream id.
 */

/** Kubernetes allows 16 MiB; actual frames have a few hundred bytes. */
export const controlFrameBytesMax = 64 * 1024;

/** A frame with headers takes as long as so many others: they are inflated to 64 KB, or begin a connection. */
const blockFrames = 10;

const headBytes = 8;
const version = 3;
const finFlag = 1;
const unidirectionalFlag = 2;
const idMask = 0x7fffffff;

const frameType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

/** Why a stream was reset. */
export const resetStatus = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
} as const;

/** Why a connection ends. */
export const goawayStatus = { ok: 0, protocolError: 1, internalError: 2 } as const;

/** The peer sent something that is not SPDY/3.1, or exceeds a bound. The connection cannot continue. */
export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}

export type ControlFrame =
  | {
      readonly type: 'synStream';
      readonly id: number;
      readonly fin: boolean;
      readonly unidirectional: boolean;
      readonly block: Buffer;
    }
  | { readonly type: 'synReply'; readonly id: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'rstStream'; readonly id: number; readonly status: number }
  | { readonly type: 'settings' }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'goaway'; readonly lastId: number; readonly status: number }
  | { readonly type: 'headers'; readonly id: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'windowUpdate'; readonly id: number; readonly delta: number };

export interface FrameHandler {
  onControl(frame: ControlFrame): void;
  /** A piece of a data frame, as it arrives. `fin` comes with the last piece, which may be empty. */
  onData(id: number, bytes: Buffer, fin: boolean): void;
}

export function encodeSynStream(id: number, block: Buffer): Buffer {
  const frame = controlFrame(frameType.synStream, 0, 10 + block.length);
  frame.writeUInt32BE(id, headBytes);
  frame.fill(0, headBytes + 4, headBytes + 10);
  frame.set(block, headBytes + 10);
  return frame;
}

export function encodeSynReply(id: number, block: Buffer): Buffer {
  const frame = controlFrame(frameType.synReply, 0, 4 + block.length);
  frame.writeUInt32BE(id, headBytes);
  frame.set(block, headBytes + 4);
  return frame;
}

export function encodeRstStream(id: number, status: number): Buffer {
  const frame = controlFrame(frameType.rstStream, 0, 8);
  frame.writeUInt32BE(id, headBytes);
  frame.writeUInt32BE(status, headBytes + 4);
  return frame;
}

export function encodePing(id: number): Buffer {
  const frame = controlFrame(frameType.ping, 0, 4);
  frame.writeUInt32BE(id, headBytes);
  return frame;
}

export function encodeGoaway(lastId: number, status: number): Buffer {
  const frame = controlFrame(frameType.goaway, 0, 8);
  frame.writeUInt32BE(lastId, headBytes);
  frame.writeUInt32BE(status, headBytes + 4);
  return frame;
}

/** The head of a data frame. The payload is written after it, without a copy. */
export function encodeDataHead(id: number, length: number, fin: boolean): Buffer {
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUInt32BE(id, 0);
  head.writeUInt32BE(length, 4);
  head[4] = fin ? finFlag : 0;
  return head;
}

function controlFrame(type: number, flags: number, length: number): Buffer {
  if (length > controlFrameBytesMax) throw new RangeError(`control frame of ${length} bytes`);
  const frame = Buffer.allocUnsafe(headBytes + length);
  frame.writeUInt16BE(0x8000 | version, 0);
  frame.writeUInt16BE(type, 2);
  frame.writeUInt32BE(length, 4);
  frame[4] = flags;
  return frame;
}

/**
 * Parses bytes split at any place into frames. Between calls it is in one of three states: collecting a head,
 * collecting the body of a control frame (bounded), or inside a data frame, whose bytes are passed on without
 * a copy.
 */
export class FrameParser {
  readonly #handler: FrameHandler;
  readonly #head = Buffer.alloc(headBytes);
  #headFilled = 0;
  /** The body of a control frame that arrives in pieces. */
  #body: Buffer | undefined;
  #bodyFilled = 0;
  #dataId = 0;
  #dataLeft = 0;
  #dataFin = false;
  #stopped = false;
  /** Frames that may begin before the call returns; one with headers counts as several. */
  #framesLeft = 0;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** Ignores all further bytes, including those of the current chunk. */
  stop(): void {
    this.#stopped = true;
    this.#body = undefined;
  }

  /**
   * Returns how many bytes it has taken: all of them, unless they hold more frames than this; then the rest must come
   * next. Throws SpdyProtocolError; the parser must not be used after that.
   */
  push(chunk: Buffer, framesMax = Number.POSITIVE_INFINITY): number {
    let offset = 0;
    this.#framesLeft = framesMax;
    while (offset < chunk.length && !this.#stopped && this.#framesLeft > 0) {
      if (this.#dataLeft > 0) offset = this.#passData(chunk, offset);
      else if (this.#body !== undefined) offset = this.#gatherBody(this.#body, chunk, offset);
      else if (this.#headFilled > 0 || chunk.length - offset < headBytes)
        offset = this.#gatherHead(chunk, offset);
      else offset = this.#begin(chunk, offset, chunk, offset + headBytes);
    }
    return this.#stopped ? chunk.length : offset;
  }

  #gatherHead(chunk: Buffer, offset: number): number {
    const taken = Math.min(headBytes - this.#headFilled, chunk.length - offset);
    chunk.copy(this.#head, this.#headFilled, offset, offset + taken);
    this.#headFilled += taken;
    if (this.#headFilled < headBytes) return offset + taken;
    this.#headFilled = 0;
    return this.#begin(this.#head, 0, chunk, offset + taken);
  }

  /** Starts the frame whose head is at `headAt`; returns how far `chunk` is consumed. */
  #begin(head: Buffer, headAt: number, chunk: Buffer, offset: number): number {
    this.#framesLeft--;
    const length = head.readUInt32BE(headAt + 4) & 0xffffff;
    if ((head[headAt]! & 0x80) === 0) {
      this.#beginData(head.readUInt32BE(headAt), head[headAt + 4]!, length);
      return offset;
    }
    if ((head.readUInt16BE(headAt) & 0x7fff) !== version) throw new SpdyProtocolError('not version 3');
    if (length > controlFrameBytesMax) throw new SpdyProtocolError(`control frame of ${length} bytes`);
    if (chunk.length - offset >= length) {
      const end = offset + length;
      this.#control(head, headAt, chunk.subarray(offset, end));
      return end;
    }
    if (head !== this.#head) head.copy(this.#head, 0, headAt, headAt + headBytes);
    this.#body = Buffer.allocUnsafe(length);
    this.#bodyFilled = 0;
    return offset;
  }

  #gatherBody(body: Buffer, chunk: Buffer, offset: number): number {
    const taken = Math.min(body.length - this.#bodyFilled, chunk.length - offset);
    chunk.copy(body, this.#bodyFilled, offset, offset + taken);
    this.#bodyFilled += taken;
    if (this.#bodyFilled === body.length) {
      this.#body = undefined;
      this.#control(this.#head, 0, body);
    }
    return offset + taken;
  }

  #beginData(id: number, flags: number, length: number): void {
    if (id === 0) throw new SpdyProtocolError('data for stream 0');
    const fin = (flags & finFlag) !== 0;
    if (length === 0) {
      if (fin) this.#handler.onData(id, Buffer.alloc(0), true);
      return;
    }
    this.#dataId = id;
    this.#dataLeft = length;
    this.#dataFin = fin;
  }

  #passData(chunk: Buffer, offset: number): number {
    const taken = Math.min(this.#dataLeft, chunk.length - offset);
    this.#dataLeft -= taken;
    const whole = offset === 0 && taken === chunk.length;
    const bytes = whole ? chunk : chunk.subarray(offset, offset + taken);
    this.#handler.onData(this.#dataId, bytes, this.#dataFin && this.#dataLeft === 0);
    return offset + taken;
  }

  #control(head: Buffer, headAt: number, body: Buffer): void {
    const frame = decodeControl(head.readUInt16BE(headAt + 2), head[headAt + 4]!, body);
    if ('block' in frame) this.#framesLeft -= blockFrames - 1;
    this.#handler.onControl(frame);
  }
}

function decodeControl(type: number, flags: number, body: Buffer): ControlFrame {
  const fin = (flags & finFlag) !== 0;
  switch (type) {
    case frameType.synStream:
      return {
        type: 'synStream',
        id: streamId(body, 10),
        fin,
        unidirectional: (flags & unidirectionalFlag) !== 0,
        block: body.subarray(10),
      };
    case frameType.synReply:
      return { type: 'synReply', id: streamId(body, 4), fin, block: body.subarray(4) };
    case frameType.headers:
      return { type: 'headers', id: streamId(body, 4), fin, block: body.subarray(4) };
    case frameType.rstStream:
      exactly(body, 8);
      return {
        type: 'rstStream',
        id: streamId(body, 8),
        status: nonZero(body.readUInt32BE(4), 'reset status'),
      };
    case frameType.ping:
      exactly(body, 4);
      return { type: 'ping', id: nonZero(body.readUInt32BE(0), 'ping id') };
    case frameType.goaway:
      exactly(body, 8);
      return { type: 'goaway', lastId: body.readUInt32BE(0) & idMask, status: body.readUInt32BE(4) };
    case frameType.windowUpdate:
      // Id 0 is the window of the connection itself.
      exactly(body, 8);
      return {
        type: 'windowUpdate',
        id: body.readUInt32BE(0) & idMask,
        delta: body.readUInt32BE(4) & idMask,
      };
    case frameType.settings:
      if (body.length < 4 || body.length !== 4 + 8 * body.readUInt32BE(0))
        throw new SpdyProtocolError('bad settings');
      return { type: 'settings' };
    default:
      throw new SpdyProtocolError(`unknown control frame type ${type}`);
  }
}

function streamId(body: Buffer, fixedBytes: number): number {
  if (body.length < fixedBytes) throw new SpdyProtocolError('control frame too short');
  return nonZero(body.readUInt32BE(0) & idMask, 'stream id');
}

function exactly(body: Buffer, bytes: number): void {
  if (body.length !== bytes)
    throw new SpdyProtocolError(`control frame of ${body.length} bytes instead of ${bytes}`);
}

function nonZero(value: number, what: string): number {
  if (value === 0) throw new SpdyProtocolError(`${what} 0`);
  return value;
}
