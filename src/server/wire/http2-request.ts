/** Requests of HTTP/2: one stream of a connection each. To handlers they look like Node's own of HTTP/1.1. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

const noBody = Buffer.alloc(0);

export class Http2Request {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Present when nothing comes behind the header. */
  readonly body: Buffer | undefined;
  #rawHeaders: string[] | undefined;

  /** @param socket of the connection, which other requests share */
  constructor(
    private readonly stream: ServerHttp2Stream,
    readonly socket: Socket,
    headers: IncomingHttpHeaders,
    private readonly received: readonly string[],
  ) {
    this.method = headers[':method'] as string;
    this.url = headers[':path'] as string;
    this.headers = headers;
    headers.host ??= headers[':authority'] as string | undefined;
    if (stream.endAfterHeaders) this.body = noBody;
    // HTTP/2 frames bodies by itself. What handlers and the servers behind them know is HTTP/1.1's way to say the same.
    else if (headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
  }

  /** Ends the connection when this request has its answer and all others of the connection have theirs. */
  endConnectionAfter(): void {
    const { session } = this.stream;
    this.stream.once('close', () => session?.close());
  }

  get complete(): boolean {
    return this.stream.endAfterHeaders || this.stream.readableEnded;
  }

  get destroyed(): boolean {
    return this.stream.destroyed;
  }

  /** Names and values in turn, without what stands for the first line of HTTP/1.1. */
  get rawHeaders(): string[] {
    // One list, as Node has it: what is taken out of it stays out.
    this.#rawHeaders ??= this.received.flatMap((name, i) =>
      i % 2 === 0 && !name.startsWith(':') ? [name, this.received[i + 1]!] : [],
    );
    return this.#rawHeaders;
  }

  on(event: string, listener: (...args: never[]) => void): this {
    this.stream.on(event, listener as never);
    return this;
  }

  once(event: string, listener: (...args: never[]) => void): this {
    this.stream.once(event, listener as never);
    return this;
  }

  off(event: string, listener: (...args: never[]) => void): this {
    this.stream.off(event, listener as never);
    return this;
  }

  pipe<T extends NodeJS.WritableStream>(target: T): T {
    return this.stream.pipe(target);
  }

  unpipe(target: NodeJS.WritableStream): this {
    this.stream.unpipe(target);
    return this;
  }

  resume(): this {
    this.stream.resume();
    return this;
  }

  destroy(): this {
    this.stream.close();
    return this;
  }
}
