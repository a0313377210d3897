/**
 * The client's side of one HTTP/2 connection (RFC 9113), as far as calls of gRPC need it: requests with few headers, and
 * frames of many calls in one write. `node:http2` makes several objects and callbacks of every request, and took two
 * thirds of the processor time of a write to etcd.
 *
 * A request waits for the peer where HTTP/2 says so: for a free stream, and for room in the windows of its stream and of
 * the connection. What the peer sends is read at once, and its windows are opened again.
 */
import type { Socket } from 'node:net';
import { HeaderDecoder, type Headers } from './header-block.ts';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const HEAD_BYTES = 9;
/** Lets large answers through without waiting for the windows. */
const WINDOW_BYTES = 16 * 1024 * 1024;
const DEFAULT_WINDOW_BYTES = 65_535;
/** The largest frame, in both directions, unless the peer takes larger ones. */
const FRAME_BYTES_MAX = 16_384;
const HEADERS_BYTES_MAX = 256 * 1024;
const WINDOW_MAX = 2 ** 31 - 1;
/** How long the answer to a ping waits for other frames. */
const PONG_MS = 5;

const Frame = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
const Flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;
const Setting = { enablePush: 2, concurrentMax: 3, windowBytes: 4, frameBytesMax: 5 } as const;
const Reason = { refusedStream: 7, cancel: 8 } as const;

export interface RequestListener {
  readonly headers: (headers: Headers) => void;
  readonly data: (chunk: Buffer) => void;
  /** Called once, unless the request is cancelled. `unprocessed`: the peer has not begun with it. */
  readonly closed: (unprocessed: boolean, why?: string) => void;
}

export interface SessionListener {
  /** The peer has sent its settings. */
  readonly ready: () => void;
  /** No request can be made any more; those under way may still be answered. */
  readonly failed: (error: Error) => void;
}

/** A part of a message that waits for room in a window. */
interface Unsent {
  readonly bytes: Buffer;
  readonly end: boolean;
}

/** One request and its answer. */
export class Http2Request {
  /** 0 until it is sent. */
  id = 0;
  sendWindow = 0;
  received = 0;
  readonly unsent: Unsent[] = [];

  constructor(
    private readonly session: Http2Session,
    readonly listener: RequestListener,
  ) {}

  send(bytes: Buffer, end: boolean): void {
    this.unsent.push({ bytes, end });
    if (this.id !== 0) this.session.pump(this);
  }

  /** Gives it up: the listener hears nothing any more. */
  cancel(): void {
    this.session.cancel(this);
  }
}

export class Http2Session {
  readonly #socket: Socket;
  readonly #listener: SessionListener;
  readonly #decoder = new HeaderDecoder();
  readonly #requests = new Map<number, Http2Request>();
  /** Requests that wait until the peer allows another stream. */
  readonly #waiting = new Map<Http2Request, Buffer>();
  /** Requests with bytes that wait for room in a window. */
  readonly #blocked = new Set<Http2Request>();
  #nextId = 1;
  #sendWindow = DEFAULT_WINDOW_BYTES;
  #peerWindow = DEFAULT_WINDOW_BYTES;
  #peerFrameBytesMax = FRAME_BYTES_MAX;
  #concurrentMax = Number.POSITIVE_INFINITY;
  #received = 0;
  #out: Buffer[] = [];
  #flushing = false;
  /** Runs while the answer to a ping waits for other frames. */
  #pong: NodeJS.Timeout | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = HEAD_BYTES;
  /** Headers that go on in the next frame. */
  #unfinished: { readonly id: number; readonly flags: number; block: Buffer } | undefined;
  #isReady = false;
  #lastProcessed = Number.POSITIVE_INFINITY;
  #failure: Error | undefined;

  /** The socket is connected. */
  constructor(socket: Socket, listener: SessionListener) {
    this.#socket = socket;
    this.#listener = listener;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#closed());
    const settings = Buffer.alloc(12);
    settings.writeUInt16BE(Setting.enablePush, 0);
    settings.writeUInt16BE(Setting.windowBytes, 6);
    settings.writeUInt32BE(WINDOW_BYTES, 8);
    this.#out.push(PREFACE);
    this.#write(Frame.settings, 0, 0, settings);
    this.#openWindow(0, WINDOW_BYTES - DEFAULT_WINDOW_BYTES);
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Not to be called after a failure. */
  request(headerBlock: Buffer, listener: RequestListener): Http2Request {
    const request = new Http2Request(this, listener);
    if (this.#requests.size < this.#concurrentMax) this.#begin(request, headerBlock);
    else this.#waiting.set(request, headerBlock);
    return request;
  }

  cancel(request: Http2Request): void {
    this.#waiting.delete(request);
    this.#blocked.delete(request);
    if (!this.#requests.delete(request.id)) return;
    const reason = Buffer.alloc(4);
    reason.writeUInt32BE(Reason.cancel);
    this.#write(Frame.reset, 0, request.id, reason);
    this.#beginWaiting();
  }

  /** Ends the connection and all requests. */
  destroy(error: Error): void {
    this.#fail(error);
    this.#socket.destroy();
  }

  /** Sends as much of a request as the windows allow. */
  pump(request: Http2Request): void {
    const { unsent, id } = request;
    for (let next = unsent[0]; next; next = unsent[0]) {
      const { bytes, end } = next;
      const room = Math.min(request.sendWindow, this.#sendWindow, this.#peerFrameBytesMax);
      if (room <= 0 && bytes.length > 0) {
        this.#blocked.add(request);
        return;
      }
      const part = bytes.length <= room ? bytes : bytes.subarray(0, room);
      request.sendWindow -= part.length;
      this.#sendWindow -= part.length;
      const isWhole = part.length === bytes.length;
      this.#write(Frame.data, isWhole && end ? Flag.endStream : 0, id, part);
      if (isWhole) unsent.shift();
      else unsent[0] = { bytes: bytes.subarray(room), end };
    }
    this.#blocked.delete(request);
  }

  #begin(request: Http2Request, headerBlock: Buffer): void {
    this.#waiting.delete(request);
    request.id = this.#nextId;
    request.sendWindow = this.#peerWindow;
    this.#nextId += 2;
    this.#requests.set(request.id, request);
    this.#write(Frame.headers, Flag.endHeaders, request.id, headerBlock);
    this.pump(request);
    // Ids are not used twice: when they are used up, another connection has to be made.
    if (this.#nextId > WINDOW_MAX) this.#leave(new Error('the connection has made all its calls'));
  }

  #beginWaiting(): void {
    for (const [request, headerBlock] of this.#waiting) {
      if (this.#requests.size >= this.#concurrentMax || this.#failure) return;
      this.#begin(request, headerBlock);
    }
  }

  /**
   * With the next frames, or after a while: Go's servers ping with each answer, to measure the connection, and an answer
   * of its own would wake them up once more for each.
   */
  #answerPing(payload: Buffer): void {
    this.#queue(Frame.ping, Flag.ack, 0, payload);
    this.#pong ??= setTimeout(() => this.#flush(), PONG_MS).unref();
  }

  /** All frames that are written in one turn of the event loop are sent together, at its end. */
  #write(type: number, flags: number, id: number, payload: Buffer): void {
    this.#queue(type, flags, id, payload);
    if (this.#flushing) return;
    this.#flushing = true;
    process.nextTick(() => this.#flush());
  }

  #queue(type: number, flags: number, id: number, payload: Buffer): void {
    const head = Buffer.allocUnsafe(HEAD_BYTES);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(id, 5);
    this.#out.push(head);
    if (payload.length > 0) this.#out.push(payload);
  }

  #flush(): void {
    this.#flushing = false;
    clearTimeout(this.#pong);
    this.#pong = undefined;
    const out = this.#out;
    this.#out = [];
    if (out.length && this.#socket.writable) this.#socket.write(Buffer.concat(out));
  }

  #openWindow(id: number, bytes: number): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(bytes);
    this.#write(Frame.windowUpdate, 0, id, payload);
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#wanted) return;
    const all = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes);
    let at = 0;
    this.#wanted = HEAD_BYTES;
    try {
      while (all.length - at >= HEAD_BYTES) {
        const bytes = all.readUIntBE(at, 3);
        if (bytes > FRAME_BYTES_MAX) throw new Error(`a frame has ${bytes} bytes`);
        const end = at + HEAD_BYTES + bytes;
        if (end > all.length) {
          this.#wanted = end - at;
          break;
        }
        const id = all.readUInt32BE(at + 5) & WINDOW_MAX;
        this.#frame(all[at + 3]!, all[at + 4]!, id, all.subarray(at + HEAD_BYTES, end));
        at = end;
      }
    } catch (error) {
      this.destroy(new Error(`Protocol error: ${(error as Error).message}`, { cause: error }));
      return;
    }
    this.#chunks = at < all.length ? [all.subarray(at)] : [];
    this.#bytes = all.length - at;
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    if (!this.#isReady && type !== Frame.settings) throw new Error('it does not begin with its settings');
    if (this.#unfinished && (type !== Frame.continuation || id !== this.#unfinished.id))
      throw new Error('headers do not go on');
    if (type === Frame.data) this.#data(flags, id, payload);
    else if (type === Frame.headers) this.#headers(id, flags, unpadded(flags, payload));
    else if (type === Frame.continuation) this.#continuation(flags, payload);
    else if (type === Frame.reset) this.#reset(id, payload.readUInt32BE(0));
    else if (type === Frame.settings) this.#settings(flags, payload);
    else if (type === Frame.ping) {
      if (!(flags & Flag.ack)) this.#answerPing(payload);
    } else if (type === Frame.goAway) this.#goAway(payload);
    else if (type === Frame.windowUpdate) this.#windowUpdate(id, payload.readUInt32BE(0) & WINDOW_MAX);
    else if (type === Frame.pushPromise) throw new Error('it pushes what nobody asked for');
  }

  #data(flags: number, id: number, payload: Buffer): void {
    const content = unpadded(flags & Flag.padded, payload);
    this.#received += payload.length;
    if (this.#received >= WINDOW_BYTES / 2) {
      this.#openWindow(0, this.#received);
      this.#received = 0;
    }
    const request = this.#requests.get(id);
    if (!request) return;
    const isLast = (flags & Flag.endStream) !== 0;
    request.received += payload.length;
    if (request.received >= WINDOW_BYTES / 2 && !isLast) {
      this.#openWindow(id, request.received);
      request.received = 0;
    }
    if (content.length > 0) request.listener.data(content);
    if (isLast) this.#end(request, false);
  }

  #headers(id: number, flags: number, block: Buffer): void {
    if (!(flags & Flag.endHeaders)) {
      this.#unfinished = { id, flags, block };
      return;
    }
    // Also of a request that was given up: later headers refer to these.
    const headers = this.#decoder.decode(block);
    const request = this.#requests.get(id);
    request?.listener.headers(headers);
    if (request && flags & Flag.endStream) this.#end(request, false);
  }

  #continuation(flags: number, payload: Buffer): void {
    const begun = this.#unfinished;
    if (!begun) throw new Error('headers go on that were complete');
    begun.block = Buffer.concat([begun.block, payload]);
    if (begun.block.length > HEADERS_BYTES_MAX) throw new Error('headers are too long');
    if (!(flags & Flag.endHeaders)) return;
    this.#unfinished = undefined;
    this.#headers(begun.id, begun.flags | Flag.endHeaders, begun.block);
  }

  #reset(id: number, reason: number): void {
    const request = this.#requests.get(id);
    if (request) this.#end(request, reason === Reason.refusedStream, `the call was reset (${reason})`);
  }

  #settings(flags: number, payload: Buffer): void {
    if (flags & Flag.ack) return;
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      const setting = payload.readUInt16BE(at);
      if (setting === Setting.concurrentMax) this.#concurrentMax = value;
      else if (setting === Setting.frameBytesMax) this.#peerFrameBytesMax = value;
      else if (setting === Setting.windowBytes) this.#resizeWindows(value);
    }
    this.#write(Frame.settings, Flag.ack, 0, Buffer.alloc(0));
    if (!this.#isReady) this.#listener.ready();
    this.#isReady = true;
    this.#beginWaiting();
  }

  #resizeWindows(bytes: number): void {
    if (bytes > WINDOW_MAX) throw new Error('a window is too large');
    for (const request of this.#requests.values()) request.sendWindow += bytes - this.#peerWindow;
    this.#peerWindow = bytes;
    for (const request of this.#blocked) this.pump(request);
  }

  #windowUpdate(id: number, bytes: number): void {
    const request = this.#requests.get(id);
    if (id === 0) this.#sendWindow += bytes;
    else if (request) request.sendWindow += bytes;
    if (Math.max(this.#sendWindow, request?.sendWindow ?? 0) > WINDOW_MAX)
      throw new Error('a window is too large');
    if (request) this.pump(request);
    else for (const blocked of this.#blocked) this.pump(blocked);
  }

  /** The peer answers what it has begun, and takes nothing more. */
  #goAway(payload: Buffer): void {
    this.#lastProcessed = payload.readUInt32BE(0) & WINDOW_MAX;
    this.#leave(new Error('the member ended the connection'));
  }

  #leave(error: Error): void {
    this.#fail(error);
    for (const request of [...this.#requests.values()])
      if (request.id > this.#lastProcessed) this.#end(request, true);
    this.#endWaiting();
    if (this.#requests.size === 0) this.#socket.end();
  }

  #end(request: Http2Request, unprocessed: boolean, why?: string): void {
    this.#requests.delete(request.id);
    this.#blocked.delete(request);
    request.listener.closed(unprocessed, why);
    if (!this.#failure) this.#beginWaiting();
    else if (this.#requests.size === 0) this.#socket.end();
  }

  #endWaiting(): void {
    for (const request of [...this.#waiting.keys()]) {
      this.#waiting.delete(request);
      request.listener.closed(true);
    }
  }

  #fail(error: Error): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#listener.failed(error);
  }

  #closed(): void {
    this.#fail(new Error('the connection was closed'));
    this.#endWaiting();
    for (const request of [...this.#requests.values()]) this.#end(request, false);
  }
}

/** The content of a frame, without what was added to hide its length, and without its priority. */
function unpadded(flags: number, payload: Buffer): Buffer {
  if (!(flags & (Flag.padded | Flag.priority))) return payload;
  const padding = flags & Flag.padded ? payload.readUInt8(0) : 0;
  const begin = (flags & Flag.padded ? 1 : 0) + (flags & Flag.priority ? 5 : 0);
  if (begin + padding > payload.length) throw new Error('a frame is shorter than its padding');
  return payload.subarray(begin, payload.length - padding);
}
