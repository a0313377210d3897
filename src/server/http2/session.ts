/**
 * The server's side of one HTTP/2 connection (RFC 9113). `node:http2` takes 50 µs for a stream, as long as all other work
 * on a read, and works off all that has arrived in one turn of the event loop. Here frames are read in place, as many in
 * a turn as all sessions together may have; the rest waits, and then the socket is not read on.
 *
 *   opening ──(preface and settings)──► open ──(we say goodbye)──► leaving ──(last answer sent)──► ended
 *
 * From any state it ends at once when the client breaks a rule of the connection, which GOAWAY says, or closes it. Rules
 * of a stream end that stream alone, by a reset. Errors of the reading are thrown, as `ConnectionError`.
 */
import type { TLSSocket } from 'node:tls';
import { FieldDecoder } from '../../http2/field-decoder.ts';
import type { Field } from '../../http2/field-table.ts';
import {
  ConnectionError,
  checkFrame,
  checkSetting,
  DEFAULT_WINDOW_BYTES,
  Flag,
  Frame,
  HEAD_BYTES,
  Reason,
  Setting,
  unpadded,
  WINDOW_MAX,
} from '../../http2/frame-rules.ts';
import { SessionArrivals } from '../lane/arrivals.ts';
import { headersMax } from '../wire/header-count.ts';
import { httpDate } from '../wire/http-date.ts';
import { AnswerFields } from './answer-fields.ts';
import { ClosedStreams } from './closed-streams.ts';
import { FrameInput, mayBePreface, preface } from './frame-input.ts';
import { HeaderBlocks } from './header-blocks.ts';
import { Outflow } from './outflow.ts';
import { areTrailers, requestHead } from './request-head.ts';
import { RequestStream, type StreamSession } from './request-stream.ts';
import type { SessionKeeper } from './session-keeper.ts';
import {
  frameBytesMax,
  headerListBytesMax,
  ownSettings,
  resetsMax,
  sessionWindowBytes,
} from './session-settings.ts';
import { StreamRequest } from './stream-request.ts';
import { StreamResponse } from './stream-response.ts';
import { UnreadAnswers } from './unread-answers.ts';

/** Settings in one frame: there are seven. */
const settingsMax = 64;
/** Maximum number of answers that need no window, such as those to pings, that the client has not read. */
const unreadControlMax = 1_000;
/** After its end a connection is closed when its client has done so, or by then. */
const partingMs = 1_000;

export class Session implements StreamSession {
  readonly arrivals = new SessionArrivals();
  readonly unread = new UnreadAnswers(() => this.#fail(Reason.calm));
  readonly #streams = new Map<number, RequestStream>();
  readonly #closed = new ClosedStreams();
  readonly #decoder = new FieldDecoder({ bytesMax: headerListBytesMax, countMax: headersMax });
  readonly #blocks: HeaderBlocks;
  readonly #input = new FrameInput();
  readonly #fields = new AnswerFields();
  readonly #out: Outflow;
  readonly #openingTimer: NodeJS.Timeout;
  #hasPreface = false;
  #hasSettings = false;
  /** The rest of a data frame: its stream, and bytes that are still to come. */
  #data = { id: 0, left: 0, ends: false };
  /** The latest stream that the client has opened, and the latest that is served. */
  #seenId = 0;
  #servedId = 0;
  /** The window of a new stream. */
  #peerWindow = DEFAULT_WINDOW_BYTES;
  /** Bytes that the client may send, and those that it has sent since the last window update. */
  #room = sessionWindowBytes;
  #received = 0;
  #resets = 0;
  #unreadControl = 0;
  #isWaiting = false;
  #isLeaving = false;
  /** Whether its requests are not served any more. */
  isEnding = false;
  /** When the session became idle; Infinity while it has streams. */
  idleSinceMs = performance.now();

  constructor(
    readonly socket: TLSSocket,
    private readonly keeper: SessionKeeper,
  ) {
    this.#out = new Outflow(socket, keeper.sheets);
    this.#blocks = new HeaderBlocks(keeper.heads, socket.remoteAddress ?? '', () => this.#fail(Reason.calm));
    this.#openingTimer = setTimeout(() => this.cut(), keeper.openingMs).unref();
    socket
      .on('data', this.#onData)
      .on('drain', this.#onDrain)
      .on('end', () => this.#leaveStreams())
      .on('close', () => this.#leaveStreams())
      .on('error', () => socket.destroy());
    this.#greet();
  }

  #greet(): void {
    this.#out.frame(Frame.settings, 0, 0, ownSettings(this.keeper.streamsMax));
    this.#out.number(Frame.windowUpdate, 0, sessionWindowBytes - DEFAULT_WINDOW_BYTES);
  }

  /** Open requests. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Requests that were read and are not handled yet. */
  get backlog(): number {
    return this.arrivals.waiting.length;
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.isEnding) return;
    this.#input.add(chunk);
    if (!this.#isWaiting) this.#read();
  };

  readonly #onDrain = (): void => {
    this.#unreadControl = 0;
    this.#out.pump();
  };

  /** Goes on with what was left when a turn had had enough. */
  goOn(): void {
    this.#isWaiting = false;
    this.#read();
    if (!this.#isWaiting) this.socket.resume();
  }

  #read(): void {
    const bytes = this.#input.take();
    if (!bytes || this.isEnding) return;
    try {
      this.#readFrames(bytes, this.#hasPreface ? 0 : this.#readPreface(bytes));
    } catch (error) {
      this.#fail(error instanceof ConnectionError ? error.reason : Reason.internal);
    }
  }

  #readPreface(bytes: Buffer): number {
    if (!mayBePreface(bytes)) throw new ConnectionError(Reason.protocol, 'it does not begin as it should');
    if (bytes.length < preface.length) return 0;
    this.#hasPreface = true;
    return preface.length;
  }

  #readFrames(bytes: Buffer, begin: number): void {
    if (!this.#hasPreface) return this.#input.giveBack(bytes, preface.length);
    let at = begin;
    let wanted = HEAD_BYTES;
    while (!this.isEnding) {
      if (this.#data.left > 0) at += this.#readData(bytes, at);
      if (bytes.length - at < HEAD_BYTES) break;
      if (!this.keeper.hasRoom()) {
        this.#wait();
        break;
      }
      const size = bytes.readUIntBE(at, 3);
      const [type, flags, id] = [bytes[at + 3]!, bytes[at + 4]!, bytes.readUInt32BE(at + 5) & WINDOW_MAX];
      this.#check(type, flags, id, size);
      const end = at + HEAD_BYTES + size;
      if (end <= bytes.length) this.#frame(type, flags, id, bytes.subarray(at + HEAD_BYTES, end));
      else if (type === Frame.data && !(flags & Flag.padded)) {
        this.#data = { id, left: size, ends: (flags & Flag.endStream) !== 0 };
        at += HEAD_BYTES;
        continue;
      } else {
        this.#blocks.hold(HEAD_BYTES + size);
        wanted = HEAD_BYTES + size;
        break;
      }
      at = end;
    }
    if (!this.isEnding)
      this.#input.giveBack(bytes.subarray(at), this.#isWaiting || this.#data.left > 0 ? 1 : wanted);
  }

  /** Passes on what has arrived of a data frame; returns how much that is. */
  #readData(bytes: Buffer, at: number): number {
    const part = bytes.subarray(at, at + this.#data.left);
    if (part.length === 0) return 0;
    this.#data.left -= part.length;
    const { id, left, ends } = this.#data;
    this.#receiveData(id, part, part.length, ends && left === 0);
    return part.length;
  }

  #wait(): void {
    this.#isWaiting = true;
    this.socket.pause();
    this.keeper.await(this);
  }

  /** Rules of every frame, before its content. */
  #check(type: number, flags: number, id: number, size: number): void {
    if (size > frameBytesMax) throw new ConnectionError(Reason.frameSize, `a frame has ${size} bytes`);
    if (!this.#hasSettings && (type !== Frame.settings || flags & Flag.ack))
      throw new ConnectionError(Reason.protocol, 'it does not begin with its settings');
    const { openId } = this.#blocks;
    if (openId !== undefined && (type !== Frame.continuation || id !== openId))
      throw new ConnectionError(Reason.protocol, 'headers do not go on');
    checkFrame(type, flags, id, size);
    if (type === Frame.pushPromise) throw new ConnectionError(Reason.protocol, 'clients do not push');
    if (type === Frame.priority && size !== 5)
      throw new ConnectionError(Reason.frameSize, 'a priority has 5 bytes');
    const needsStream =
      type === Frame.data || type === Frame.reset || (type === Frame.windowUpdate && id !== 0);
    if (needsStream && this.#isIdle(id))
      throw new ConnectionError(Reason.protocol, `a frame is for stream ${id}, which was never opened`);
  }

  #isIdle(id: number): boolean {
    return id > this.#seenId || id % 2 === 0;
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    // It may have been awaited, of whatever type it is.
    this.#blocks.rest();
    if (type === Frame.headers) this.#headers(flags, id, payload);
    else if (type === Frame.data)
      this.#receiveData(
        id,
        unpadded(flags & Flag.padded, payload),
        payload.length,
        (flags & Flag.endStream) !== 0,
      );
    else if (type === Frame.windowUpdate) this.#openPeerWindow(id, payload.readUInt32BE(0) & WINDOW_MAX);
    else if (type === Frame.reset) this.#reset(id);
    else if (type === Frame.settings) this.#settings(flags, payload);
    else if (type === Frame.ping) this.#ping(flags, payload);
    else if (type === Frame.continuation) this.#continuation(flags, payload);
    else if (type === Frame.goAway) this.leave();
  }

  #ping(flags: number, payload: Buffer): void {
    if (flags & Flag.ack) return;
    this.#countControl();
    this.#out.frame(Frame.ping, Flag.ack, 0, payload);
  }

  /** Counts answers: a client that asks without reading would fill the memory with them. */
  #countControl(): void {
    if (!this.#out.isBlocked) this.#unreadControl = 0;
    else if (++this.#unreadControl > unreadControlMax) this.#fail(Reason.calm);
  }

  #settings(flags: number, payload: Buffer): void {
    if (flags & Flag.ack) return;
    if (payload.length > settingsMax * 6)
      throw new ConnectionError(Reason.calm, 'there are too many settings');
    let peerWindow = this.#peerWindow;
    for (let at = 0; at < payload.length; at += 6) {
      const setting = payload.readUInt16BE(at);
      const value = payload.readUInt32BE(at + 2);
      checkSetting(setting, value, 1);
      if (setting === Setting.windowBytes) peerWindow = value;
      else if (setting === Setting.tableBytes) this.#fields.resize(value);
    }
    this.#hasSettings = true;
    clearTimeout(this.#openingTimer);
    this.#countControl();
    this.#out.frame(Frame.settings, Flag.ack, 0);
    if (peerWindow !== this.#peerWindow) this.#resizeWindows(peerWindow);
  }

  #resizeWindows(bytes: number): void {
    const more = bytes - this.#peerWindow;
    this.#peerWindow = bytes;
    for (const stream of [...this.#streams.values()]) {
      stream.window += more;
      if (stream.window > WINDOW_MAX) throw new ConnectionError(Reason.flowControl, 'a window is too large');
      this.#out.ready(stream);
    }
  }

  #openPeerWindow(id: number, bytes: number): void {
    if (id === 0) {
      this.#out.window += bytes;
      if (bytes === 0) throw new ConnectionError(Reason.protocol, 'a window grows by nothing');
      if (this.#out.window > WINDOW_MAX)
        throw new ConnectionError(Reason.flowControl, 'a window is too large');
      return this.#out.pump();
    }
    const stream = this.#streams.get(id);
    if (!stream) return;
    stream.window += bytes;
    if (bytes === 0) this.#breakOff(stream, Reason.protocol);
    else if (stream.window > WINDOW_MAX) this.#breakOff(stream, Reason.flowControl);
    else this.#out.ready(stream);
  }

  #headers(flags: number, id: number, payload: Buffer): void {
    const block = unpadded(flags, payload);
    const ends = (flags & Flag.endStream) !== 0;
    if (id % 2 === 0) throw new ConnectionError(Reason.protocol, `a client opens stream ${id}`);
    if (!(flags & Flag.endHeaders)) return this.#blocks.begin(id, ends, block);
    this.#receiveHeaders(id, this.#decoder.decode(block), ends);
  }

  #continuation(flags: number, payload: Buffer): void {
    const whole = this.#blocks.goOn(payload, (flags & Flag.endHeaders) !== 0);
    if (whole) this.#receiveHeaders(whole.id, this.#decoder.decode(whole.block), whole.ends);
  }

  #receiveHeaders(id: number, fields: Field[], ends: boolean): void {
    const stream = this.#streams.get(id);
    if (stream) return this.#receiveTrailers(stream, fields, ends);
    if (id > this.#seenId) return this.#open(id, fields, ends);
    if (this.#closed.wasReset(id) || id > this.#servedId) return;
    const reason = this.#closed.hasEnded(id) ? Reason.streamClosed : Reason.protocol;
    throw new ConnectionError(reason, `stream ${id} was closed`);
  }

  #open(id: number, fields: Field[], ends: boolean): void {
    this.#seenId = id;
    // Those after our farewell are not served; their clients know.
    if (this.#isLeaving) return;
    this.#servedId = id;
    if (this.#streams.size >= this.keeper.streamsMax) return this.#turnAway(id, Reason.refusedStream);
    if (this.#decoder.isOver) return this.#turnAway(id, Reason.calm);
    const head = requestHead(fields);
    if (!head || (ends && head.length)) return this.#turnAway(id, Reason.protocol);
    const stream = new RequestStream(this, id, this.#peerWindow, ends, head.length);
    const request = new StreamRequest(stream, this.socket, head);
    const response = new StreamResponse(stream, head.method === 'HEAD');
    stream.response = response;
    this.#streams.set(id, stream);
    this.idleSinceMs = Number.POSITIVE_INFINITY;
    this.keeper.receive(this, request, response);
  }

  #receiveTrailers(stream: RequestStream, fields: Field[], ends: boolean): void {
    if (stream.hasEnded) this.#breakOff(stream, Reason.streamClosed);
    else if (!ends || this.#decoder.isOver || !areTrailers(fields)) this.#breakOff(stream, Reason.protocol);
    else this.#receiveEnd(stream);
  }

  /** @param bytes that the frame takes of the windows */
  #receiveData(id: number, content: Buffer, bytes: number, ends: boolean): void {
    this.#takeRoom(bytes);
    const stream = this.#streams.get(id);
    if (!stream) {
      // What the client had sent before it knew.
      if (this.#closed.wasReset(id) || id > this.#servedId) return;
      return this.#turnAway(id, Reason.streamClosed);
    }
    if (stream.hasEnded) return this.#breakOff(stream, Reason.streamClosed);
    const problem = stream.receive(content, bytes);
    if (problem !== undefined) this.#breakOff(stream, problem);
    else if (ends) this.#receiveEnd(stream);
  }

  #receiveEnd(stream: RequestStream): void {
    const problem = stream.receiveEnd();
    if (problem !== undefined) this.#breakOff(stream, problem);
  }

  /** The window of the session is opened again at once: those of the streams bound what is kept. */
  #takeRoom(bytes: number): void {
    this.#room -= bytes;
    if (this.#room < 0) throw new ConnectionError(Reason.flowControl, 'it sends more than it may');
    this.#received += bytes;
    if (this.#received < sessionWindowBytes / 4) return;
    this.#out.number(Frame.windowUpdate, 0, this.#received);
    this.#room += this.#received;
    this.#received = 0;
  }

  /** The client takes a request back. */
  #reset(id: number): void {
    const stream = this.#streams.get(id);
    if (!stream) return;
    this.keeper.note();
    stream.close(undefined);
  }

  /** Ends a stream whose client has broken a rule, which counts as if it had taken it back. */
  #breakOff(stream: RequestStream, reason: number): void {
    stream.close(reason);
    this.#addReset();
  }

  /** Resets a stream that is not open. */
  #turnAway(id: number, reason: number): void {
    this.keeper.note();
    this.#sendReset(id, reason);
    this.#addReset();
  }

  #sendReset(id: number, reason: number): void {
    this.#closed.addReset(id);
    this.#countControl();
    this.#out.number(Frame.reset, id, reason);
  }

  #addReset(): void {
    if (++this.#resets > resetsMax) this.#fail(Reason.calm);
  }

  respond(stream: RequestStream, code: number, lists: readonly (readonly string[])[], ends: boolean): void {
    const fields = this.#fields;
    // Answers without a body need no window.
    if (ends) this.#countControl();
    this.#out.headers(stream.id, ends, fields.most(lists), (bytes, at) =>
      fields.write(bytes, at, code, lists, httpDate()),
    );
  }

  send(stream: RequestStream, bytes: Buffer, isLast: boolean): void {
    if (bytes.length === 0) this.#countControl();
    this.#out.send(stream, bytes, isLast);
  }

  openWindow(stream: RequestStream, bytes: number): void {
    if (!this.isEnding) this.#out.number(Frame.windowUpdate, stream.id, bytes);
  }

  waits(bytes: number): void {
    this.unread.add(bytes);
  }

  taken(bytes: number): void {
    this.unread.remove(bytes);
  }

  closed(stream: RequestStream, reason: number | undefined): void {
    this.#streams.delete(stream.id);
    this.unread.remove(stream.queued);
    this.#out.forget(stream);
    if (this.#streams.size === 0) this.idleSinceMs = performance.now();
    if (this.isEnding) return;
    if (reason === undefined) this.#closed.addEnded(stream.id);
    else this.#sendReset(stream.id, reason);
    if (stream.response!.headersSent) this.#resets = Math.max(0, this.#resets - 1);
    else this.#addReset();
    if (stream.isLastOfConnection) this.leave();
    else if (this.#isLeaving && this.#streams.size === 0) this.#finish();
  }

  /** Takes no more requests; those under way are answered. */
  leave(): void {
    if (this.#isLeaving || this.isEnding) return;
    this.#isLeaving = true;
    this.#sayGoodbye(Reason.none);
    if (this.#streams.size === 0) this.#finish();
  }

  #sayGoodbye(reason: number): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(this.#servedId, 0);
    payload.writeUInt32BE(reason, 4);
    this.#out.frame(Frame.goAway, 0, 0, payload);
  }

  /** Ends the connection when what was sent is on its way. */
  #finish(): void {
    this.isEnding = true;
    this.#out.flush();
    this.socket.end();
    // What its client still sends is dropped: closing at once could take the last answer away from it.
    this.socket.resume();
    setTimeout(() => this.socket.destroy(), partingMs).unref();
  }

  /** The client broke a rule: says which, and ends all its requests. */
  #fail(reason: number): void {
    if (this.isEnding) return;
    this.#sayGoodbye(reason);
    this.#finish();
    this.#leaveStreams();
  }

  /** Ends its requests a few at a time, because each takes up to half a millisecond. */
  #leaveStreams(): void {
    this.isEnding = true;
    clearTimeout(this.#openingTimer);
    this.#blocks.drop();
    this.#input.drop();
    this.unread.rest();
    for (const stream of this.#streams.values()) this.keeper.endings.add(() => stream.close(undefined));
    this.keeper.endings.add(() => this.keeper.departed(this));
    if (this.socket.readableEnded) this.socket.end();
  }

  /** Closes the connection at once. */
  cut(): void {
    this.socket.destroy();
  }
}
