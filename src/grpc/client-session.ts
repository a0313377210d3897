/** The client's side of one HTTP/2 connection, as calls of gRPC use it: `http2-session.ts`, or that of `node:http2` by `node-session.ts`. */
import type { Headers, RequestHeaders } from './header-block.ts';

/** Flow-control window: large, so that large answers arrive without waiting. */
export const WINDOW_BYTES = 16 * 1024 * 1024;

export interface RequestListener {
  readonly headers: (headers: Headers) => void;
  readonly data: (chunk: Buffer) => void;
  /** Called once, unless the request is cancelled. `unprocessed`: the peer has not begun with it. */
  readonly closed: (unprocessed: boolean, why?: string) => void;
}

export interface SessionListener {
  /** Called when the peer has sent its settings. */
  readonly ready: () => void;
  /** Called when no more requests can be made; those under way may still be answered. */
  readonly failed: (error: Error) => void;
}

export interface ClientSession {
  /** Sends a request. Must not be called after a failure. */
  request(headers: RequestHeaders, listener: RequestListener): ClientRequest;
  /** Ends the connection and all requests. */
  destroy(error: Error): void;
}

export interface ClientRequest {
  send(bytes: Buffer, end: boolean): void;
  /** Cancels the request: the listener is not called any more. */
  cancel(): void;
}
