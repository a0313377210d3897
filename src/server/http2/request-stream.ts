/**
 * One stream: a request and its answer (RFC 9113, section 5.1). The client's half ends with its last frame, ours with
 * that of the answer; a request whose body was not read to its end is then reset, so that the client stops to send.
 *
 *   open ──(END_STREAM of the client)──► half-closed ──(answer sent)──► closed
 *    │                                        └──(reset by either side)──► closed
 *    └──(answer sent: we reset it)──► closed
 */
import { Readable } from 'node:stream';
import { Reason } from '../../http2/frame-rules.ts';
import type { OutgoingStream } from './outflow.ts';
import { RequestBody } from './request-body.ts';
import { windowBytes } from './session-settings.ts';
import type { StreamResponse } from './stream-response.ts';

/** What a stream needs of its session. */
export interface StreamSession {
  respond(stream: RequestStream, code: number, lists: readonly (readonly string[])[], ends: boolean): void;
  send(stream: RequestStream, bytes: Buffer, isLast: boolean): void;
  /** Lets the client send so many bytes more. */
  openWindow(stream: RequestStream, bytes: number): void;
  /** Counts bytes of answers that wait in queues, and those that were taken out. */
  waits(bytes: number): void;
  taken(bytes: number): void;
  /** Called when a stream closes. @param reason of the reset that tells the client; undefined for none */
  closed(stream: RequestStream, reason: number | undefined): void;
}

/** The client gets room again when it has used this part of its window. */
const openedMin = windowBytes / 4;

export class RequestStream implements OutgoingStream {
  readonly queue: Buffer[] = [];
  queued = 0;
  isEnding = false;
  isClosed = false;
  /** Whether the client has ended its half. */
  hasEnded: boolean;
  /** Whether its session ends after it. */
  isLastOfConnection = false;
  response: StreamResponse | undefined;
  readonly body: RequestBody | undefined;
  /** Bytes that the client may still send, and those that were read since the last window update. */
  #room = windowBytes;
  #consumed = 0;
  #reader: Readable | undefined;

  /** @param remaining length of the body, if the client has said it */
  constructor(
    private readonly session: StreamSession,
    readonly id: number,
    public window: number,
    ends: boolean,
    private remaining: number | undefined,
  ) {
    this.hasEnded = ends;
    if (!ends) this.body = new RequestBody((bytes) => this.#consume(bytes));
  }

  /** The body as a stream of Node. */
  get reader(): Readable {
    this.#reader ??= this.body ? this.body.reader : Readable.from([]);
    return this.#reader;
  }

  /** Takes a part of the body. @param bytes that it takes of the window, with padding. Returns why it is refused. */
  receive(content: Buffer, bytes: number): number | undefined {
    this.#room -= bytes;
    if (this.#room < 0) return Reason.flowControl;
    if (this.remaining !== undefined && (this.remaining -= content.length) < 0) return Reason.protocol;
    // Padding is never read.
    if (bytes > content.length) this.#consume(bytes - content.length);
    if (content.length > 0) this.body!.add(content);
    return undefined;
  }

  /** Takes the end of the body. Returns why it is refused. */
  receiveEnd(): number | undefined {
    this.hasEnded = true;
    if (this.remaining) return Reason.protocol;
    this.body?.end();
    return undefined;
  }

  #consume(bytes: number): void {
    this.#consumed += bytes;
    if (this.#consumed < openedMin || this.isClosed || this.hasEnded) return;
    this.session.openWindow(this, this.#consumed);
    this.#room += this.#consumed;
    this.#consumed = 0;
  }

  respond(code: number, lists: readonly (readonly string[])[], ends: boolean): void {
    this.session.respond(this, code, lists, ends);
  }

  send(bytes: Buffer, isLast: boolean): void {
    this.session.send(this, bytes, isLast);
  }

  waits(bytes: number): void {
    this.session.waits(bytes);
  }

  taken(bytes: number): void {
    this.session.taken(bytes);
    this.response?.taken();
  }

  /** The end of the answer was sent. */
  sent(): void {
    this.close(this.hasEnded ? undefined : Reason.none, true);
  }

  /** The client asks no more, or is asked to stop. */
  cancel(): void {
    this.close(Reason.none);
  }

  /** The answer cannot go on. */
  fail(): void {
    this.close(Reason.internal);
  }

  /** Closes it at once. @param reason of the reset that tells the client; undefined for none */
  close(reason: number | undefined, isWhole = false): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.session.closed(this, reason);
    this.body?.drop();
    this.response?.closed(isWhole);
  }
}
