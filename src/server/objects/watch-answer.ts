/**
 * The answer of a watch that shares a WebSocket with others. To handlers it looks like an HTTP answer; what they write
 * becomes messages of the connection:
 *
 * accepted ──► {"id":"1","type":"STARTED"}, the events, {"id":"1","type":"ENDED"}
 * refused  ──► {"id":"1","type":"REFUSED","object":<Status>}
 */
import { Writable } from 'node:stream';
import { badRequest, internal, type Status, StatusError } from '../../api/errors/errors.ts';
import { parseExact } from '../../api/text/exact-json.ts';
import { jsonText } from '../../api/text/json-text.ts';
import type { ApiResponse, HeaderFields } from '../http/context.ts';
import { type Outlet, sharedLines } from '../wire/outlet.ts';

/** Maximum bytes of a refusal that are kept. */
const refusalBytesMax = 64 * 1024;
/** Maximum bytes of an event that another server sends. */
const lineBytesMax = 16 * 1024 * 1024;

/** The connection, as seen by the answers that write to it. */
export interface WatchCarrier {
  /** Sends events, each as a message that begins with `start`. Returns false to apply back-pressure until `onDrain`. */
  events(start: Buffer, lines: readonly Buffer[], onDrain: () => void): boolean;
  tell(message: object): void;
}

export class WatchAnswer extends Writable implements ApiResponse {
  statusCode = 200;
  headersSent = false;
  /** The beginning of the message of an event, in place of the event's first brace. */
  readonly #start: Buffer;
  #retryAfterSeconds = 0;
  /** Parts of a refusal, or of an incomplete line. */
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  #isTold = false;

  constructor(
    private readonly id: string,
    private readonly carrier: WatchCarrier,
    private readonly over: () => void,
  ) {
    super();
    this.#start = Buffer.from(`{"id":"${id}",`);
    // Ignored: `close` follows and is enough.
    this.on('error', () => undefined);
  }

  /** Keeps the one header that matters here; the others are about HTTP. */
  setHeader(name: string, value: string): this {
    if (name.toLowerCase() === 'retry-after') this.#retryAfterSeconds = Number(value) || 0;
    return this;
  }

  /** @param rest headers, optionally preceded by the status message of HTTP/1.1, which is ignored */
  writeHead(code: number, ...rest: [HeaderFields] | [string | undefined, HeaderFields]): this {
    const fields = rest[rest.length - 1] as HeaderFields;
    const list = Array.isArray(fields) ? fields : Object.entries(fields).flat(2);
    for (let i = 0; i + 1 < list.length; i += 2) this.setHeader(list[i]!, list[i + 1]!);
    this.statusCode = code;
    this.headersSent = true;
    if (this.#isAccepted && !this.destroyed) this.carrier.tell({ id: this.id, type: 'STARTED' });
    return this;
  }

  flushHeaders(): void {}

  get #isAccepted(): boolean {
    return this.statusCode >= 200 && this.statusCode < 300;
  }

  /** An outlet for events of this server, whose bytes are sent unchanged. */
  outlet(onDrain: () => void): Outlet {
    const write = (lines: readonly Buffer[]): boolean =>
      this.destroyed || this.carrier.events(this.#start, lines, onDrain);
    return {
      write,
      writeShared: (notices, form) => write(sharedLines(notices, form)),
      end: () => this.end(),
    };
  }

  /** Ends the watch, because its client or the connection ends it. */
  leave(): void {
    if (!this.writableFinished) this.#tellEnd();
    this.destroy();
  }

  /** Takes the bytes of a refusal, or the events of another server to which the watch was forwarded. */
  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    if (!this.#isAccepted) {
      if (this.#chunkBytes < refusalBytesMax) this.#keep(chunk);
      return done();
    }
    try {
      if (this.#forward(chunk, () => done())) done();
    } catch (error) {
      done(error as Error);
    }
  }

  override _final(done: () => void): void {
    if (this.#isAccepted) this.#tellEnd();
    else this.#tell({ id: this.id, type: 'REFUSED', object: this.#refusal() });
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#chunks = [];
    if (!this.#isTold && this.headersSent) {
      const { status } = internal('the watch was cut off');
      this.carrier.tell({ id: this.id, type: 'ERROR', object: status });
    }
    this.#tellEnd();
    this.over();
    done(error);
  }

  #tellEnd(): void {
    this.#tell({ id: this.id, type: 'ENDED' });
  }

  #tell(last: object): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.carrier.tell(last);
  }

  #keep(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
  }

  /** The Status of a refusal. Some refusals, such as that of an overload, are plain text. */
  #refusal(): Status {
    const text = Buffer.concat(this.#chunks).toString('utf8');
    try {
      const status = JSON.parse(text) as Status;
      if (status?.kind === 'Status') return status;
    } catch {
      // Not JSON: plain text.
    }
    const reason = this.statusCode === 429 ? 'TooManyRequests' : undefined;
    const details = this.#retryAfterSeconds ? { retryAfterSeconds: this.#retryAfterSeconds } : undefined;
    return new StatusError(this.statusCode, reason, text.trim(), details).status;
  }

  /**
   * Sends the complete lines. They are parsed and written again, because a line with an `id` could be taken for an
   * event of another watch.
   */
  #forward(chunk: Buffer, onDrain: () => void): boolean {
    const end = chunk.lastIndexOf(lineEnd);
    if (end < 0) {
      this.#keep(chunk);
      if (this.#chunkBytes > lineBytesMax) throw badRequest(`an event has more than ${lineBytesMax} bytes`);
      return true;
    }
    const whole = Buffer.concat([...this.#chunks, chunk.subarray(0, end)]).toString('utf8');
    this.#chunks = [];
    this.#chunkBytes = 0;
    if (end + 1 < chunk.length) this.#keep(Buffer.from(chunk.subarray(end + 1)));
    const lines = whole.split('\n').filter((line) => line.trim() !== '');
    return this.carrier.events(this.#start, lines.map(eventLine), onDrain);
  }
}

const lineEnd = 0x0a;

function eventLine(text: string): Buffer {
  const { type, object } = parseExact(text) as Record<string, unknown>;
  if (typeof type !== 'string' || typeof object !== 'object') throw badRequest('the answer is not a watch');
  return Buffer.from(`${jsonText({ type, object })}\n`);
}
