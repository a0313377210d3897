/** The request of a stream. To handlers it looks like Node's own. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { Http2Request } from '../wire/http2-request.ts';
import type { RequestHead } from './request-head.ts';
import type { RequestStream } from './request-stream.ts';

const noBody = Buffer.alloc(0);

export class StreamRequest extends Http2Request {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  #rawHeaders: string[] | undefined;

  constructor(
    private readonly stream: RequestStream,
    readonly socket: Socket,
    private readonly head: RequestHead,
  ) {
    super();
    this.method = head.method;
    this.url = head.path as string;
    this.headers = head.headers;
    this.headers.host ??= head.authority;
    // Handlers and the servers behind them expect HTTP/1.1 framing headers, which HTTP/2 does not need.
    if (stream.body && head.length === undefined) this.headers['transfer-encoding'] = 'chunked';
  }

  get body(): Buffer | undefined {
    const { body } = this.stream;
    return body ? body.all : noBody;
  }

  endConnectionAfter(): void {
    this.stream.isLastOfConnection = true;
  }

  get complete(): boolean {
    return this.stream.body?.isWhole ?? true;
  }

  get destroyed(): boolean {
    return this.stream.isClosed;
  }

  get rawHeaders(): string[] {
    // Built once, so that removed headers stay removed, as with Node's requests.
    this.#rawHeaders ??= this.head.fields.flatMap(({ name, value }) =>
      name.startsWith(':') ? [] : [name, value],
    );
    return this.#rawHeaders;
  }

  hasName(prefix: string): boolean {
    const { fields } = this.head;
    for (let i = 0; i < fields.length; i++) if (fields[i]!.name.startsWith(prefix)) return true;
    return false;
  }

  get #reader(): Readable {
    return this.stream.reader;
  }

  on(event: string, listener: (...args: never[]) => void): this {
    this.#reader.on(event, listener as never);
    return this;
  }

  once(event: string, listener: (...args: never[]) => void): this {
    this.#reader.once(event, listener as never);
    return this;
  }

  off(event: string, listener: (...args: never[]) => void): this {
    this.#reader.off(event, listener as never);
    return this;
  }

  pipe<T extends NodeJS.WritableStream>(target: T): T {
    return this.#reader.pipe(target);
  }

  unpipe(target: NodeJS.WritableStream): this {
    this.#reader.unpipe(target);
    return this;
  }

  resume(): this {
    this.#reader.resume();
    return this;
  }

  destroy(): this {
    this.stream.cancel();
    return this;
  }
}
