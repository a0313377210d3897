/** Requests of `node:http2`, which serves the secure door with `WHERRY_PLAIN=1`. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { Http2Request } from './http2-request.ts';

const noBody = Buffer.alloc(0);

export class NodeRequest extends Http2Request {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** An empty body, when the request has none; otherwise undefined. */
  readonly body: Buffer | undefined;
  #rawHeaders: string[] | undefined;

  /** @param socket of the connection, which other requests share */
  constructor(
    private readonly stream: ServerHttp2Stream,
    readonly socket: Socket,
    headers: IncomingHttpHeaders,
    private readonly received: readonly string[],
  ) {
    super();
    this.method = headers[':method'] as string;
    this.url = headers[':path'] as string;
    this.headers = headers;
    headers.host ??= headers[':authority'] as string | undefined;
    if (stream.endAfterHeaders) this.body = noBody;
    // Handlers and the servers behind them expect HTTP/1.1 framing headers, which HTTP/2 does not need.
    else if (headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
  }

  /** Closes the connection once this and all its other requests are answered. */
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

  /** Names and values in turn, without the pseudo-headers that stand for the first line of HTTP/1.1. */
  get rawHeaders(): string[] {
    // Built once, so that removed headers stay removed, as with Node's requests.
    this.#rawHeaders ??= this.received.flatMap((name, i) =>
      i % 2 === 0 && !name.startsWith(':') ? [name, this.received[i + 1]!] : [],
    );
    return this.#rawHeaders;
  }

  /** Whether a header was sent whose name begins so. Its list is read several times faster than the object. */
  hasName(prefix: string): boolean {
    const { received } = this;
    for (let i = 0; i < received.length; i += 2) if (received[i]!.startsWith(prefix)) return true;
    return false;
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
