/** HTTP/2 requests, one stream each. To handlers they look like Node's own HTTP/1.1 requests. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';

export abstract class Http2Request {
  abstract readonly method: string;
  abstract readonly url: string;
  abstract readonly headers: IncomingHttpHeaders;
  /** The socket of the connection, which other requests share. */
  abstract readonly socket: Socket;
  /** The whole body, when it is here already; otherwise undefined. */
  abstract readonly body: Buffer | undefined;
  /** Whether the client has sent everything. */
  abstract readonly complete: boolean;
  abstract readonly destroyed: boolean;
  /** Names and values in turn, without the pseudo-headers that stand for the first line of HTTP/1.1. */
  abstract readonly rawHeaders: string[];

  /** Closes the connection once this and all its other requests are answered. */
  abstract endConnectionAfter(): void;

  /** Whether a header was sent whose name begins so. */
  abstract hasName(prefix: string): boolean;

  abstract on(event: string, listener: (...args: never[]) => void): this;
  abstract once(event: string, listener: (...args: never[]) => void): this;
  abstract off(event: string, listener: (...args: never[]) => void): this;
  abstract pipe<T extends NodeJS.WritableStream>(target: T): T;
  abstract unpipe(target: NodeJS.WritableStream): this;
  abstract resume(): this;
  abstract destroy(): this;
}
