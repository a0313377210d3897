/** Plain responses: answers to plain requests, written directly to the socket. To handlers they look like Node's. */
import { EventEmitter } from 'node:events';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiResponse, HeaderFields } from '../http/context.ts';
import { isGuard } from '../wire/guard-headers.ts';
import { httpDate } from '../wire/http-date.ts';
import { fitsBuffer, writeJoined } from './answer-buffer.ts';
import type { Departures } from './departures.ts';

/** Codes of answers without a body. */
const bodiless = new Set([204, 304]);
/** Longer answers are sent at once instead of with the others of the tick. */
const departingBytesMax = 64 * 1024;

export class PlainResponse extends EventEmitter implements ApiResponse {
  statusCode = 200;
  writableEnded = false;
  writableFinished = false;
  #fields = '';
  /** Whether the handler has set Content-Length. */
  #measured = false;
  /** The header text, until it is sent together with the first bytes of the body. */
  #head: string | undefined;
  #begun = false;
  #chunked = false;
  /** Whether the socket is applying back-pressure. */
  #draining = false;

  /** `onEnd` is called when the whole answer has been written. */
  constructor(
    private readonly socket: Socket,
    private readonly keepAliveSeconds: number,
    private readonly departures: Departures,
    private readonly onEnd: () => void,
    /** Header lines of every answer, each with its line end. */
    private readonly standingLines = '',
  ) {
    super();
  }

  get headersSent(): boolean {
    return this.#begun;
  }

  get destroyed(): boolean {
    return this.socket.destroyed;
  }

  get writableLength(): number {
    return this.writableFinished ? 0 : this.socket.writableLength;
  }

  setHeader(name: string, value: string): this {
    this.#fields += field(name, value);
    this.#measured ||= isLength(name);
    return this;
  }

  writeHead(code: number, headers: HeaderFields): this {
    let fields = this.#fields;
    let measured = this.#measured;
    const add = (name: string, value: string): void => {
      // The standing lines contain this header already.
      if (this.standingLines !== '' && isGuard(name)) return;
      fields += field(name, value);
      measured ||= isLength(name);
    };
    if (Array.isArray(headers)) for (let i = 0; i < headers.length; i += 2) add(headers[i]!, headers[i + 1]!);
    else
      for (const name of Object.keys(headers)) for (const value of [headers[name]!].flat()) add(name, value);
    this.statusCode = code;
    this.#begun = true;
    this.#chunked = !measured && !bodiless.has(code);
    this.#head =
      `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\n${fields}${this.#chunked ? 'Transfer-Encoding: chunked\r\n' : ''}` +
      `${this.standingLines}Date: ${httpDate()}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${this.keepAliveSeconds}\r\n\r\n`;
    return this;
  }

  cork(): void {
    this.socket.cork();
  }

  write(bytes: Buffer | string): boolean {
    const { socket } = this;
    const chunk = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    if (chunk.length === 0) return !socket.writableNeedDrain;
    socket.cork();
    this.#writeHead();
    if (this.#chunked) socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
    let more = socket.write(chunk);
    if (this.#chunked) more = socket.write('\r\n', 'latin1');
    socket.uncork();
    if (!more && !this.#draining) {
      this.#draining = true;
      socket.once('drain', this.#onDrain);
    }
    return more;
  }

  end(bytes?: Buffer | string): this {
    if (this.writableEnded) return this;
    this.writableEnded = true;
    const whole = this.#head !== undefined && this.socket.writableLength === 0;
    if (whole && (bytes?.length ?? 0) <= departingBytesMax) this.departures.add(() => this.#end(bytes));
    else this.#end(bytes);
    return this;
  }

  #end(bytes: Buffer | string = ''): void {
    const { socket } = this;
    if (this.#head !== undefined && !this.#chunked && fitsBuffer(this.#head, bytes)) {
      writeJoined(socket, this.#head, bytes, this.#onFlushed);
      this.#head = undefined;
    } else this.#endInPieces(bytes);
    while (socket.writableCorked > 0) socket.uncork();
    this.onEnd();
  }

  #endInPieces(bytes: Buffer | string): void {
    const { socket } = this;
    socket.cork();
    this.#writeHead();
    if (this.#chunked) {
      if (bytes.length) this.write(bytes);
      socket.write('0\r\n\r\n', 'latin1', this.#onFlushed);
    } else socket.write(bytes, this.#onFlushed);
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Called when the connection is closed: later writes are ignored. */
  closed(): void {
    if (!this.writableFinished) this.emit('close');
  }

  #writeHead(): void {
    if (this.#head === undefined) return;
    this.socket.write(this.#head, 'latin1');
    this.#head = undefined;
  }

  readonly #onDrain = (): void => {
    this.#draining = false;
    this.emit('drain');
  };

  readonly #onFlushed = (error?: Error | null): void => {
    if (error) return;
    this.writableFinished = true;
    this.emit('close');
  };
}

const isLength = (name: string): boolean => name.length === 14 && name.toLowerCase() === 'content-length';

const noText = /[^\t\x20-\x7e\x80-\xff]/;

/** Rejects control characters: they would allow header injection. */
function field(name: string, value: string): string {
  if (noText.test(value)) throw new TypeError(`the header ${name} holds a control character`);
  return `${name}: ${value}\r\n`;
}
