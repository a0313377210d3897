/**
 * The client's side of one HTTP/2 connection (RFC 9113), as far as calls of gRPC need it: requests with few headers, and
 * frames of many calls in one write. `node:http2` makes several objects and callbacks of every request, and took two
 * thirds of the processor time of a write to etcd; with `WHERRY_PLAIN=1` it is used all the same (`node-session.ts`).
 *
 * A request waits for the peer where HTTP/2 says so: for a free stream, and for room in the windows of its stream and of
 * the connection. What the peer sends is read at once, and its windows are opened again.
 */
import type { Socket } from 'node:net';
import {
  ConnectionError,
  checkFrame,
  checkSetting,
  DEFAULT_WINDOW_BYTES,
  Flag,
  FRAME_BYTES_MAX,
  Frame,
  HEAD_BYTES,
  Reason,
  Setting,
  unpadded,
  WINDOW_MAX,
} from '../http2/frame-rules.ts';
import {
  type ClientRequest,
  type ClientSession,
  type RequestListener,
  type SessionListener,
  WINDOW_BYTES,
} from './client-session.ts';
import { HeaderDecoder, type RequestHeaders } from './header-block.ts';
import { takeHeaders } from './response-rules.ts';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const HEADERS_BYTES_MAX = 256 * 1024;
/** Maximum number of frames over which headers may continue: empty ones take no room, and would never end. */
const CONTINUATIONS_MAX = 64;
/** Maximum number of answers to pings and settings that the peer has not read. */
const UNREAD_ANSWERS_MAX = 1_000;
/** How long the answer to a ping waits for other frames. */
const PONG_MS = 5;

/** Frames about streams that need not be open; pushes are refused by themselves. */
const isFree = new Set<number>([Frame.priority, Frame.pushPromise]);

/** A part of a message that waits for room in a window. */
interface Unsent {
  readonly bytes: Buffer;
  readonly end: boolean;
}

/** One request and its answer. */
class Http2Request implements ClientRequest {
  /** Stream id; 0 until the request is sent. */
  id = 0;
  sendWindow = 0;
  received = 0;
  /** Whether this side has sent everything. */
  hasEnded = false;
  /** Whether the headers of the answer have arrived. */
  hasBegun = false;
  /** Bytes of the answer still to come, if it has a content-length. */
  remaining: number | undefined;
  readonly unsent: Unsent[] = [];

  constructor(
    private readonly session: Http2Session,
    readonly listener: RequestListener,
  ) {}

  send(bytes: Buffer, end: boolean): void {
    this.unsent.push({ bytes, end });
    if (this.id !== 0) this.session.pump(this);
  }

  cancel(): void {
    this.session.cancel(this);
  }
}

export class Http2Session implements ClientSession {
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
  #unfinished: { readonly id: number; readonly flags: number; block: Buffer; frames: number } | undefined;
  #unreadAnswers = 0;
  #isReady = false;
  #lastProcessed = Number.POSITIVE_INFINITY;
  #failure: Error | undefined;

  /** `socket` must be connected. */
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

  request({ block: headerBlock }: RequestHeaders, listener: RequestListener): ClientRequest {
    const request = new Http2Request(this, listener);
    if (this.#requests.size < this.#concurrentMax) this.#begin(request, headerBlock);
    else this.#waiting.set(request, headerBlock);
    return request;
  }

  cancel(request: Http2Request): void {
    this.#waiting.delete(request);
    this.#blocked.delete(request);
    if (!this.#requests.delete(request.id)) return;
    this.#sendReset(request.id, Reason.cancel);
    this.#beginWaiting();
  }

  #sendReset(id: number, reason: number): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(reason);
    this.#write(Frame.reset, 0, id, payload);
  }

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
      request.hasEnded = isWhole && end;
      this.#write(Frame.data, request.hasEnded ? Flag.endStream : 0, id, part);
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
    this.#writeHeaders(request.id, headerBlock);
    this.pump(request);
    // Ids are not used twice: when they are used up, another connection has to be made.
    if (this.#nextId > WINDOW_MAX) this.#leave(new Error('the connection has made all its calls'));
  }

  /**
   * Writes headers in as many frames as the peer's maximum frame size requires; no other frame may come between them.
   */
  #writeHeaders(id: number, block: Buffer): void {
    const bytesMax = this.#peerFrameBytesMax;
    for (let at = 0; at === 0 || at < block.length; at += bytesMax)
      this.#write(
        at === 0 ? Frame.headers : Frame.continuation,
        at + bytesMax >= block.length ? Flag.endHeaders : 0,
        id,
        block.subarray(at, at + bytesMax),
      );
  }

  #beginWaiting(): void {
    for (const [request, headerBlock] of this.#waiting) {
      if (this.#requests.size >= this.#concurrentMax || this.#failure) return;
      this.#begin(request, headerBlock);
    }
  }

  /**
   * Answers a ping together with the next frames, or after a while: Go's servers ping with each answer to measure the
   * connection, and a separate answer would wake them up once more each time.
   */
  #answerPing(payload: Buffer): void {
    this.#countAnswer();
    this.#queue(Frame.ping, Flag.ack, 0, payload);
    this.#pong ??= setTimeout(() => this.#flush(), PONG_MS).unref();
  }

  /** Counts answers: a peer that asks without reading would fill the memory with them. */
  #countAnswer(): void {
    if (!this.#socket.writableNeedDrain) this.#unreadAnswers = 0;
    else if (++this.#unreadAnswers > UNREAD_ANSWERS_MAX)
      throw new ConnectionError(Reason.calm, 'it asks without reading the answers');
  }

  /** Collects frames; all frames of one turn of the event loop are sent together, at its end. */
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
        if (bytes > FRAME_BYTES_MAX)
          throw new ConnectionError(Reason.frameSize, `a frame has ${bytes} bytes`);
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
      this.#refuse(error as Error);
      return;
    }
    this.#chunks = at < all.length ? [all.subarray(at)] : [];
    this.#bytes = all.length - at;
  }

  /** The peer broke a rule: the connection ends, with the error code of that rule. */
  #refuse(error: Error): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(error instanceof ConnectionError ? error.reason : Reason.protocol, 4);
    this.#queue(Frame.goAway, 0, 0, payload);
    this.#flush();
    this.#fail(new Error(`Protocol error: ${error.message}`, { cause: error }));
    this.#socket.destroy();
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    if (!this.#isReady && (type !== Frame.settings || flags & Flag.ack))
      throw new Error('it does not begin with its settings');
    if (this.#unfinished && (type !== Frame.continuation || id !== this.#unfinished.id))
      throw new Error('headers do not go on');
    checkFrame(type, flags, id, payload.length);
    // This side opens the odd streams; the peer could open even ones by a push, which the settings forbid.
    if (id !== 0 && type <= Frame.continuation && !isFree.has(type) && (id >= this.#nextId || id % 2 === 0))
      throw new ConnectionError(Reason.protocol, `a frame is for stream ${id}, which was never opened`);
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
    if (!request.hasBegun) {
      this.#malformed(request, 'data comes before the headers of its answer');
      return;
    }
    const isLast = (flags & Flag.endStream) !== 0;
    request.received += payload.length;
    if (request.received >= WINDOW_BYTES / 2 && !isLast) {
      this.#openWindow(id, request.received);
      request.received = 0;
    }
    if (request.remaining !== undefined) request.remaining -= content.length;
    if (content.length > 0) request.listener.data(content);
    if (isLast) this.#finish(request);
  }

  /** Ends an answer; one that is shorter than its content-length is malformed. */
  #finish(request: Http2Request): void {
    if (request.remaining) this.#malformed(request, 'an answer is not as long as it said');
    else this.#end(request, false);
  }

  #headers(id: number, flags: number, block: Buffer): void {
    if (!(flags & Flag.endHeaders)) {
      this.#unfinished = { id, flags, block, frames: 1 };
      return;
    }
    // Decode also the headers of a cancelled request, because later blocks refer to them.
    const headers = this.#decoder.decode(block);
    const request = this.#requests.get(id);
    if (!request) return;
    const isLast = (flags & Flag.endStream) !== 0;
    const taken = takeHeaders(request, headers, isLast);
    if (typeof taken === 'string') {
      this.#malformed(request, taken);
      return;
    }
    if (taken) request.listener.headers(taken);
    if (isLast) this.#finish(request);
  }

  /** Fails the call of an answer that breaks a rule; others go on. */
  #malformed(request: Http2Request, problem: string): void {
    this.#sendReset(request.id, Reason.protocol);
    request.hasEnded = true;
    this.#end(request, false, `Protocol error: ${problem}`);
  }

  #continuation(flags: number, payload: Buffer): void {
    const begun = this.#unfinished;
    if (!begun) throw new Error('headers go on that were complete');
    begun.block = Buffer.concat([begun.block, payload]);
    if (begun.block.length > HEADERS_BYTES_MAX || ++begun.frames > CONTINUATIONS_MAX)
      throw new ConnectionError(Reason.calm, 'headers are too long');
    if (!(flags & Flag.endHeaders)) return;
    this.#unfinished = undefined;
    this.#headers(begun.id, begun.flags | Flag.endHeaders, begun.block);
  }

  #reset(id: number, reason: number): void {
    const request = this.#requests.get(id);
    if (!request) return;
    request.hasEnded = true;
    this.#end(request, reason === Reason.refusedStream, `the call was reset (${reason})`);
  }

  #settings(flags: number, payload: Buffer): void {
    if (flags & Flag.ack) return;
    for (let at = 0; at < payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      const setting = payload.readUInt16BE(at);
      checkSetting(setting, value, 0);
      if (setting === Setting.concurrentMax) this.#concurrentMax = value;
      else if (setting === Setting.frameBytesMax) this.#peerFrameBytesMax = value;
      else if (setting === Setting.windowBytes) this.#resizeWindows(value);
    }
    this.#countAnswer();
    this.#write(Frame.settings, Flag.ack, 0, Buffer.alloc(0));
    if (!this.#isReady) this.#listener.ready();
    this.#isReady = true;
    this.#beginWaiting();
  }

  #resizeWindows(bytes: number): void {
    for (const request of this.#requests.values()) {
      request.sendWindow += bytes - this.#peerWindow;
      if (request.sendWindow > WINDOW_MAX)
        throw new ConnectionError(Reason.flowControl, 'a window is too large');
    }
    this.#peerWindow = bytes;
    for (const request of this.#blocked) this.pump(request);
  }

  #windowUpdate(id: number, bytes: number): void {
    if (id === 0) {
      this.#sendWindow += bytes;
      if (bytes === 0) throw new Error('a window grows by nothing');
      if (this.#sendWindow > WINDOW_MAX)
        throw new ConnectionError(Reason.flowControl, 'a window is too large');
      for (const blocked of this.#blocked) this.pump(blocked);
      return;
    }
    const request = this.#requests.get(id);
    if (!request) return;
    request.sendWindow += bytes;
    if (bytes === 0) this.#malformed(request, 'a window grows by nothing');
    else if (request.sendWindow > WINDOW_MAX) this.#malformed(request, 'a window is too large');
    else this.pump(request);
  }

  /** Handles GOAWAY: the peer answers the streams it has begun, and accepts no more. */
  #goAway(payload: Buffer): void {
    // A later GOAWAY may name a smaller stream, never a larger one.
    this.#lastProcessed = Math.min(this.#lastProcessed, payload.readUInt32BE(0) & WINDOW_MAX);
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
    // The peer has answered without waiting for the rest, and counts the stream as open until this side ends it, too.
    if (!request.hasEnded && !unprocessed) this.#sendReset(request.id, Reason.none);
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
