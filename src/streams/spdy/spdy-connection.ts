/**
 * A SPDY/3.1 connection over an upgraded socket, in the role of the server (kubelet) or the client.
 *
 * States: open; ending (GOAWAY was sent or received, or the socket has ended: streams are cut and nothing
 * more is read); closed, when the socket is closed.
 */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { turnToAnswer } from '../../time-slices.ts';
import { unsentBytes } from '../bytes/byte-copy.ts';
import { IdleTimer } from '../bytes/idle-timer.ts';
import {
  type ControlFrame,
  encodeDataHead,
  encodeGoaway,
  encodePing,
  encodeRstStream,
  encodeSynReply,
  encodeSynStream,
  FrameParser,
  goawayStatus,
  resetStatus,
  SpdyProtocolError,
} from './spdy-frame.ts';
import { HeaderDecoder, HeaderEncoder } from './spdy-headers.ts';
import { SpdyStream, type StreamCarrier } from './spdy-stream.ts';

const streamsMax = 1000;
/** A peer whose streams are refused this often in a row is disconnected. */
const refusedInARowMax = 1000;
/** Maximum bytes buffered for slow readers of all streams together. */
const keptBytesMax = 16 * 1024 * 1024;
/**
 * Maximum replies (to pings, and to opened and ended streams) waiting for the peer to read; beyond it,
 * reading is paused.
 */
const repliesMax = 1000;
/** Timeout of a new stream's SYN_REPLY. */
const replyMs = 30_000;
/** Time the peer has to close its side after ours. */
const lingerMs = 2_000;
/** Smaller payloads are copied behind their head: cheaper than two writes. */
const copiedBytesMax = 1024;
const keepAliveMs = 30_000;
const defaultIdleMs = 4 * 3600 * 1000;
const defaultPingMs = { server: 30_000, client: 5_000 } as const;
const streamIdMax = 0x7fffffff;
/** Frames that are parsed in one turn of the event loop: 64 KB may hold 8,000. */
const turnFrames = 250;

export interface SpdyConnectionOptions {
  readonly role: 'server' | 'client';
  /** Bytes that were received together with the upgrade. */
  readonly head?: Buffer;
  /** Called with each stream that the peer opens; must accept or reset it. Without this, all are refused. */
  readonly onStream?: (stream: SpdyStream) => void;
  /** Ping interval: 30 s for a server, 5 s for a client, 0 for none. */
  readonly pingMs?: number;
  /** Idle timeout without a frame, own pings not counted; 4 h. */
  readonly idleMs?: number;
}

interface Opening {
  readonly stream: SpdyStream;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (stream: SpdyStream) => void;
  readonly reject: (error: Error) => void;
}

export class SpdyConnection {
  readonly closed: Promise<void>;

  readonly #socket: Duplex;
  readonly #onStream: ((stream: SpdyStream) => void) | undefined;
  readonly #parser: FrameParser;
  readonly #encoder = new HeaderEncoder();
  readonly #decoder = new HeaderDecoder();
  readonly #streams = new Map<number, SpdyStream>();
  readonly #openings = new Map<number, Opening>();
  readonly #carrier: StreamCarrier;
  #state: 'open' | 'ending' | 'closed' = 'open';
  #nextId: number;
  #nextPing: number;
  /** The lowest id the peer's next stream may have. */
  #expectedId: number;
  #refusedInARow = 0;
  readonly #stalled = new Set<SpdyStream>();
  #keptBytes = 0;
  #replies = 0;
  /** What waits for its turn. */
  #rest: Buffer | undefined;
  #paused = false;
  #writers: (() => void)[] = [];
  readonly #idle: IdleTimer;
  readonly #pings: NodeJS.Timeout | undefined;
  #linger: NodeJS.Timeout | undefined;

  constructor(socket: Duplex, options: SpdyConnectionOptions) {
    this.#socket = socket;
    this.#onStream = options.onStream;
    this.#nextId = options.role === 'client' ? 1 : 2;
    this.#nextPing = this.#nextId;
    this.#expectedId = options.role === 'client' ? 2 : 1;
    this.#parser = new FrameParser({
      onControl: (frame) => this.#control(frame),
      onData: (id, bytes, fin) => this.#data(id, bytes, fin),
    });
    this.#carrier = this.#makeCarrier();
    this.closed = new Promise((resolve) => {
      const gone = () => {
        this.#gone();
        resolve();
      };
      if (socket.closed) process.nextTick(gone);
      else socket.once('close', gone);
    });
    this.#listen(options.head);
    const pingMs = options.pingMs ?? defaultPingMs[options.role];
    if (pingMs > 0) this.#pings = setInterval(() => this.#ping(), pingMs);
    this.#idle = new IdleTimer(options.idleMs ?? defaultIdleMs, () => this.close());
  }

  /** Whether streams can be opened. */
  get open(): boolean {
    return this.#state === 'open';
  }

  /** Sends SYN_STREAM; resolves with the peer's SYN_REPLY. */
  openStream(headers: Record<string, string>): Promise<SpdyStream> {
    if (this.#state !== 'open') return Promise.reject(new Error('the connection is closed'));
    if (this.#nextId > streamIdMax) return Promise.reject(new Error('the connection is out of stream ids'));
    if (this.#streams.size >= streamsMax)
      return Promise.reject(new Error('the connection has too many streams'));
    const id = this.#nextId;
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const stream = new SpdyStream(this.#carrier, id, lower, { replied: true, readOnly: false });
    return new Promise((resolve, reject) => {
      const frame = encodeSynStream(id, this.#encoder.encode(lower));
      this.#nextId += 2;
      this.#streams.set(id, stream);
      const timer = setTimeout(() => {
        this.#failOpening(id, 'Timeout occurred');
        stream.reset();
      }, replyMs);
      this.#openings.set(id, { stream, timer, resolve, reject });
      this.#write(frame);
    });
  }

  /** Sends GOAWAY, then ends the socket. Unsent data of streams is lost: end them first. */
  close(): void {
    this.#goaway(goawayStatus.ok);
  }

  destroy(error?: Error): void {
    this.#end();
    this.#socket.destroy(error);
  }

  #listen(head: Buffer | undefined): void {
    const socket = this.#socket;
    if (socket instanceof Socket) {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, keepAliveMs);
    }
    // 'close' follows and is enough: peers often just cut the connection.
    socket.on('error', () => {});
    socket.on('drain', () => this.#drained());
    socket.once('end', () => {
      if (!this.#rest) this.#end();
    });
    // Deferred, so that the caller has this object before `onStream` is called.
    process.nextTick(() => {
      if (head !== undefined && head.length > 0) this.#receive(head);
      socket.on('data', (chunk: Buffer) => this.#receive(chunk));
      // The former owner of the socket may have paused it.
      if (!this.#paused) socket.resume();
      if (socket.readableEnded) this.#end();
    });
  }

  #ping(): void {
    // At most one unread ping for a peer that does not read.
    if (this.#state !== 'open' || this.#socket.writableNeedDrain) return;
    this.#socket.write(encodePing(this.#nextPing));
    this.#nextPing += 2;
  }

  // Inbound.

  #receive(chunk: Buffer): void {
    if (this.#state !== 'open') return;
    this.#idle.touch();
    if (this.#rest) this.#rest = Buffer.concat([this.#rest, chunk]);
    else this.#parse(chunk);
  }

  #parse(chunk: Buffer): void {
    if (this.#state !== 'open') return;
    let taken = chunk.length;
    this.#socket.cork();
    try {
      taken = this.#parser.push(chunk, turnFrames);
    } catch (error) {
      if (!(error instanceof SpdyProtocolError)) throw error;
      this.#goaway(goawayStatus.protocolError);
    } finally {
      this.#socket.uncork();
    }
    this.#rest = taken < chunk.length ? chunk.subarray(taken) : undefined;
    // In a turn of its own, before more is read.
    if (this.#rest) void turnToAnswer().then(() => this.#parse(this.#rest!));
    else if (this.#socket.readableEnded) this.#end();
    this.#updateReading();
  }

  #control(frame: ControlFrame): void {
    switch (frame.type) {
      case 'synStream':
        return this.#synStream(frame);
      case 'synReply':
        return this.#synReply(frame.id, frame.fin, frame.block);
      case 'headers':
        this.#decoder.decode(frame.block);
        if (frame.fin) this.#streams.get(frame.id)?.receiveFin();
        return;
      case 'rstStream':
        return this.#rstStream(frame.id, frame.status);
      case 'ping':
        // A ping with our own parity is the answer to ours.
        if (frame.id % 2 !== this.#nextPing % 2) this.#reply(encodePing(frame.id));
        return;
      case 'goaway':
        return this.#end();
      case 'settings':
      case 'windowUpdate':
        // Ignored: Kubernetes' SPDY has no flow control.
        return;
    }
  }

  #synStream(frame: Extract<ControlFrame, { type: 'synStream' }>): void {
    // Decompress it also for a refused stream: the next block depends on it.
    const headers = this.#decoder.decode(frame.block);
    if (frame.id < this.#expectedId || frame.id % 2 !== this.#expectedId % 2) {
      return this.#refuse(frame.id, resetStatus.protocolError);
    }
    this.#expectedId = frame.id + 2;
    if (this.#onStream === undefined || this.#streams.size >= streamsMax) {
      return this.#refuse(frame.id, resetStatus.refusedStream);
    }
    const stream = new SpdyStream(this.#carrier, frame.id, headers, {
      replied: false,
      readOnly: frame.unidirectional,
    });
    this.#streams.set(frame.id, stream);
    this.#onStream(stream);
    // The listener may have refused it as well.
    if (this.#streams.has(frame.id)) this.#refusedInARow = 0;
    else this.#countRefusal();
    if (frame.fin) stream.receiveFin();
  }

  #refuse(id: number, status: number): void {
    this.#reply(encodeRstStream(id, status));
    this.#countRefusal();
  }

  #countRefusal(): void {
    if (++this.#refusedInARow >= refusedInARowMax) throw new SpdyProtocolError('too many streams');
  }

  #synReply(id: number, fin: boolean, block: Buffer): void {
    this.#decoder.decode(block);
    const opening = this.#openings.get(id);
    if (opening === undefined) return;
    this.#openings.delete(id);
    clearTimeout(opening.timer);
    opening.resolve(opening.stream);
    if (fin) opening.stream.receiveFin();
  }

  #rstStream(id: number, status: number): void {
    this.#failOpening(id, 'Stream reset');
    const stream = this.#streams.get(id);
    this.#streams.delete(id);
    stream?.receiveReset(status);
  }

  #data(id: number, bytes: Buffer, fin: boolean): void {
    // Drop data of a stream that has ended, or that has no reply yet.
    const stream = this.#openings.has(id) ? undefined : this.#streams.get(id);
    stream?.receive(bytes, fin);
  }

  #failOpening(id: number, message: string): void {
    const opening = this.#openings.get(id);
    if (opening === undefined) return;
    this.#openings.delete(id);
    clearTimeout(opening.timer);
    opening.reject(new Error(message));
  }

  /** Reads the socket while nothing of it waits, no stream is at its bound and the peer reads our replies. */
  #updateReading(): void {
    const pause =
      this.#state === 'open' &&
      (this.#rest !== undefined ||
        this.#stalled.size > 0 ||
        this.#keptBytes >= keptBytesMax ||
        this.#replies >= repliesMax);
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (pause) this.#socket.pause();
    else this.#socket.resume();
  }

  // Outbound.

  #makeCarrier(): StreamCarrier {
    const socket = this.#socket;
    return {
      reply: (id) => this.#reply(encodeSynReply(id, this.#encoder.encode({}))),
      reset: (id, status) => this.#reply(encodeRstStream(id, status)),
      fin: (id) => this.#reply(encodeDataHead(id, 0, true)),
      data: (id, pieces, bytes) => this.#writeData(id, pieces, bytes),
      get full() {
        return socket.writableNeedDrain;
      },
      get unsentBytes() {
        return unsentBytes(socket);
      },
      whenWritable: (resume) => this.#writers.push(resume),
      kept: (stream, bytes, stalled) => {
        this.#keptBytes += bytes;
        if (stalled) this.#stalled.add(stream);
        else this.#stalled.delete(stream);
        // Not while parsing: the bytes at hand are taken in any case.
        if (bytes <= 0) this.#updateReading();
      },
      forget: (stream) => {
        this.#streams.delete(stream.id);
        this.#failOpening(stream.id, 'Stream reset');
      },
    };
  }

  #write(frame: Buffer): void {
    if (this.#state !== 'open') return;
    this.#idle.touch();
    this.#socket.write(frame);
  }

  /** Sends a reply to an open, end or ping of the peer. It is counted until the socket has sent it. */
  #reply(frame: Buffer): void {
    if (this.#state !== 'open') return;
    this.#idle.touch();
    this.#replies++;
    this.#socket.write(frame, () => {
      this.#replies--;
      if (this.#paused) this.#updateReading();
    });
  }

  #writeData(id: number, pieces: readonly Buffer[], bytes: number): void {
    const head = encodeDataHead(id, bytes, false);
    if (bytes <= copiedBytesMax) return this.#write(Buffer.concat([head, ...pieces]));
    if (this.#state !== 'open') return;
    this.#idle.touch();
    this.#socket.cork();
    this.#socket.write(head);
    for (const piece of pieces) this.#socket.write(piece);
    this.#socket.uncork();
  }

  /** Waiting streams send in turn, until the socket is full again. */
  #drained(): void {
    while (this.#writers.length > 0 && !this.#socket.writableNeedDrain) this.#writers.shift()!();
  }

  // The end.

  #goaway(status: number): void {
    if (this.#state !== 'open') return;
    this.#write(encodeGoaway(Math.max(0, this.#expectedId - 2), status));
    this.#end();
  }

  /** After a GOAWAY of either side, or the peer's end of the socket: nothing more is received or sent. */
  #end(): void {
    if (this.#state !== 'open') return;
    this.#state = 'ending';
    this.#parser.stop();
    this.#idle.stop();
    clearInterval(this.#pings);
    this.#severAll();
    // Read and discard the rest: closing a socket with unread bytes sends a reset, which would discard what
    // we have sent.
    this.#paused = false;
    this.#socket.resume();
    this.#socket.end();
    this.#linger = setTimeout(() => this.#socket.destroy(), lingerMs);
  }

  #gone(): void {
    this.#end();
    this.#state = 'closed';
    clearTimeout(this.#linger);
  }

  #severAll(): void {
    for (const id of [...this.#openings.keys()]) this.#failOpening(id, 'the connection is closed');
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    this.#stalled.clear();
    this.#writers = [];
    for (const stream of streams) stream.sever();
  }
}
