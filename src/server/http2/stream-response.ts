/** The answer of a stream. To handlers it looks like Node's own. */
import { EventEmitter } from 'node:events';
import type { Notice, NoticeForm } from '../../registry/view/watch-event.ts';
import type { ApiResponse, HeaderFields } from '../http/context.ts';
import type { Outlet } from '../wire/outlet.ts';
import type { RequestStream } from './request-stream.ts';
import { ResponseSink } from './response-sink.ts';

const bodiless = new Set([204, 205, 304]);
/** A writer waits when more than this waits for the client, as with Node's streams. */
const waitingBytesMax = 16 * 1024;

export class StreamResponse extends EventEmitter implements ApiResponse {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  /** Headers that were set before the others. */
  #fields: string[] | undefined;
  /** Whether the answer has no body, whatever handlers write. */
  #bodiless = false;
  #needsDrain = false;
  #sink: ResponseSink | undefined;

  constructor(
    private readonly own: RequestStream,
    private readonly isHead: boolean,
  ) {
    super();
  }

  get destroyed(): boolean {
    return this.own.isClosed;
  }

  get writableLength(): number {
    return this.own.queued;
  }

  get writableNeedDrain(): boolean {
    return this.#needsDrain;
  }

  /** What a body is piped to. */
  get stream(): ResponseSink {
    this.#sink ??= new ResponseSink(this);
    return this.#sink;
  }

  setHeader(name: string, value: string): this {
    this.#fields ??= [];
    this.#fields.push(name, value);
    return this;
  }

  /** @param rest headers, optionally preceded by the status message of HTTP/1.1, which is ignored */
  writeHead(code: number, ...rest: [HeaderFields] | [string | undefined, HeaderFields]): this {
    const fields = rest[rest.length - 1] as HeaderFields;
    const list = Array.isArray(fields) ? fields : listOf(fields);
    const isBodiless = this.isHead || bodiless.has(code);
    this.statusCode = code;
    if (!this.destroyed) this.own.respond(code, this.#fields ? [this.#fields, list] : [list], isBodiless);
    this.#bodiless = isBodiless;
    this.headersSent = true;
    return this;
  }

  /** Does nothing: headers are sent in the same turn of the event loop. */
  flushHeaders(): void {}

  /** Does nothing: what is written in one turn of the event loop is sent together. */
  cork(): void {}

  write(bytes: Buffer | string): boolean {
    if (this.#bodiless || this.destroyed || bytes.length === 0) return true;
    this.own.send(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, false);
    if (this.own.queued > waitingBytesMax) this.#needsDrain = true;
    return !this.#needsDrain;
  }

  end(bytes?: Buffer | string): this {
    if (this.writableEnded) return this;
    this.writableEnded = true;
    if (this.destroyed) return this;
    if (!this.headersSent) this.writeHead(this.statusCode, []);
    if (this.#bodiless) this.own.sent();
    else this.own.send(typeof bytes === 'string' ? Buffer.from(bytes) : (bytes ?? nothing), true);
    return this;
  }

  /** Resets the stream, so that the client does not take the answer for complete. */
  destroy(): this {
    this.own.fail();
    return this;
  }

  /** Called when bytes that waited were sent. */
  taken(): void {
    if (!this.#needsDrain || this.own.queued > 0) return;
    this.#needsDrain = false;
    this.emit('drain');
  }

  /** Called when the stream has closed. @param isWhole whether the client got the whole answer */
  closed(isWhole: boolean): void {
    this.writableFinished = isWhole;
    if (isWhole) this.emit('finish');
    this.emit('close');
  }

  /** Events of a watch: those that other watchers get, too, are encoded once for all. */
  outlet(onDrain: () => void): Outlet {
    this.on('drain', onDrain);
    return {
      write: (lines) => this.write(joined(lines)),
      writeShared: (notices: readonly Notice[], form: NoticeForm) =>
        this.write(notices[0]!.bytesWith(notices, form, joined)),
      end: () => this.end(),
    };
  }
}

const nothing = Buffer.alloc(0);

const joined = (lines: readonly Buffer[]): Buffer => (lines.length === 1 ? lines[0]! : Buffer.concat(lines));

function listOf(fields: Record<string, string | string[]>): string[] {
  const list: string[] = [];
  for (const name of Object.keys(fields))
    for (const value of [fields[name]!].flat()) list.push(name, String(value));
  return list;
}
