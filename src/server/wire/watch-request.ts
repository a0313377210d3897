/** The request of a watch that shares a connection with others: to handlers it looks like a GET over HTTP without a body. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Headers of the connection's own request that also apply to its watches. Identity headers were removed from it. */
const sharedHeaders = ['host', 'user-agent', 'x-forwarded-for', 'x-real-ip'];

export class WatchRequest {
  readonly method = 'GET';
  readonly complete = true;
  readonly destroyed = false;
  readonly socket: Socket;
  readonly headers: IncomingHttpHeaders = {};
  readonly rawHeaders: string[] = [];

  constructor(
    readonly url: string,
    accept: string | undefined,
    connection: IncomingMessage,
  ) {
    this.socket = connection.socket;
    for (const name of sharedHeaders) this.#add(name, connection.headers[name]);
    this.#add('accept', accept);
  }

  #add(name: string, value: string | string[] | undefined): void {
    if (value === undefined) return;
    this.headers[name] = value;
    this.rawHeaders.push(name, String(value));
  }

  /** Does nothing: the request has no body, so there is nothing to listen to or to read. */
  on(): this {
    return this;
  }

  once(): this {
    return this;
  }

  off(): this {
    return this;
  }

  unpipe(): this {
    return this;
  }

  resume(): this {
    return this;
  }
}
