/**
 * Responses of `node:http2`, which serves the secure door with `WHERRY_PLAIN=1`. To handlers they look like Node's own
 * HTTP/1.1 responses.
 */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { ApiResponse, HeaderFields } from './context.ts';

/** Headers about an HTTP/1.1 connection, which HTTP/2 does not allow. */
const connectionHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);
/** The headers of nearly every answer, in lower case. */
const usualNames = new Map(
  [
    'Audit-Id',
    'Cache-Control',
    'Content-Type',
    'Content-Length',
    'X-Kubernetes-PF-FlowSchema-UID',
    'X-Kubernetes-PF-PriorityLevel-UID',
  ].map((name) => [name, name.toLowerCase()]),
);
/** HTTP/2 error code. */
const internalError = 0x02;
const bodiless = new Set([204, 205, 304]);
const noText = /[^\t\x20-\x7e\x80-\xff]/;

/** Bytes of the answers of a connection that its client has not read yet. */
export interface UnreadBytes {
  add(bytes: number): void;
  remove(bytes: number): void;
}

const nothing = (): void => undefined;

export class Http2Response implements ApiResponse {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  readonly #headers: OutgoingHttpHeaders = {};
  /** Whether the answer has no body, whatever handlers write. */
  #bodiless = false;
  /** Bytes of this answer that wait for the client. */
  #unread = 0;

  constructor(
    readonly stream: ServerHttp2Stream,
    private readonly isHead: boolean,
    private readonly unread: UnreadBytes,
  ) {
    // The client cancelled its request, or the connection broke: `close` follows and is enough.
    stream.on('error', nothing);
    stream.on('close', () => this.#read(this.#unread));
  }

  get destroyed(): boolean {
    return this.stream.destroyed || this.stream.closed;
  }

  get writableFinished(): boolean {
    return this.stream.writableFinished;
  }

  get writableLength(): number {
    return this.stream.writableLength;
  }

  get writableNeedDrain(): boolean {
    return this.stream.writableNeedDrain;
  }

  setHeader(name: string, value: string): this {
    this.#add(name, value);
    return this;
  }

  /** @param rest headers, optionally preceded by the status message of HTTP/1.1, which is ignored */
  writeHead(code: number, ...rest: [HeaderFields] | [string | undefined, HeaderFields]): this {
    const fields = rest[rest.length - 1] as HeaderFields;
    if (Array.isArray(fields))
      for (let i = 0; i < fields.length; i += 2) this.#add(fields[i]!, fields[i + 1]!);
    else for (const name of Object.keys(fields)) this.#set(name, fields[name]!);
    this.statusCode = code;
    this.headersSent = true;
    const { stream } = this;
    this.#bodiless = this.isHead || bodiless.has(code);
    this.#headers[':status'] = code;
    if (!this.destroyed) stream.respond(this.#headers, { endStream: this.#bodiless });
    return this;
  }

  /** Does nothing: HTTP/2 headers are sent at once. */
  flushHeaders(): void {}

  cork(): void {
    this.stream.cork();
  }

  write(bytes: Buffer | string): boolean {
    if (this.#bodiless || this.destroyed || bytes.length === 0) return true;
    return this.stream.write(bytes, this.#sent(bytes.length));
  }

  /** Counts bytes until the client has taken them. */
  #sent(bytes: number): () => void {
    this.#count(bytes);
    return () => this.#read(bytes);
  }

  #count(bytes: number): void {
    this.#unread += bytes;
    this.unread.add(bytes);
  }

  #read(bytes: number): void {
    const counted = Math.min(bytes, this.#unread);
    if (counted === 0) return;
    this.#unread -= counted;
    this.unread.remove(counted);
  }

  end(bytes?: Buffer | string): this {
    if (this.writableEnded) return this;
    this.writableEnded = true;
    const { stream } = this;
    if (this.destroyed) return this;
    if (!this.headersSent) this.writeHead(this.statusCode, []);
    while (stream.writableCorked > 0) stream.uncork();
    if (!this.#bodiless) {
      // They are read when the stream closes, which follows.
      this.#count(bytes?.length ?? 0);
      stream.end(bytes);
    }
    // The rest of the request body is not read: asks the client to stop sending, once it has its answer.
    if (!stream.endAfterHeaders && !stream.readableEnded) stream.once('finish', () => stream.close());
    return this;
  }

  /** Resets the stream, so that the client does not take the answer for complete. */
  destroy(): void {
    this.stream.close(internalError);
  }

  on(event: string, listener: () => void): this {
    this.stream.on(event, listener);
    return this;
  }

  once(event: string, listener: () => void): this {
    this.stream.once(event, listener);
    return this;
  }

  off(event: string, listener: () => void): this {
    this.stream.off(event, listener);
    return this;
  }

  #set(name: string, value: string | string[]): void {
    if (typeof value === 'string') this.#add(name, value);
    else for (const one of value) this.#add(name, one);
  }

  #add(name: string, value: string): void {
    const usual = usualNames.get(name);
    const lower = usual ?? name.toLowerCase();
    if (!usual && connectionHeaders.has(lower)) return;
    if (noText.test(value)) throw new TypeError(`the header ${name} holds a control character`);
    const before = this.#headers[lower];
    if (before === undefined) this.#headers[lower] = value;
    else this.#headers[lower] = [before as string | string[], value].flat();
  }
}
