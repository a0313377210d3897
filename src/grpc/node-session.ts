/**
 * The client's side of one HTTP/2 connection over `node:http2`. It replaces `http2-session.ts` with `WHERRY_PLAIN=1`,
 * to find out whether a failure is caused by our own code.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import { Reason } from '../http2/frame-rules.ts';
import {
  type ClientRequest,
  type ClientSession,
  type RequestListener,
  type SessionListener,
  WINDOW_BYTES,
} from './client-session.ts';
import type { Headers, RequestHeaders } from './header-block.ts';

export class NodeSession implements ClientSession {
  readonly #session: ClientHttp2Session;
  readonly #listener: SessionListener;
  #failure: Error | undefined;

  /** `socket` must be connected. */
  constructor(socket: Socket, listener: SessionListener) {
    this.#listener = listener;
    socket.setNoDelay(true);
    this.#session = connect('http://localhost', {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    });
    this.#session
      .once('connect', () => this.#session.setLocalWindowSize(WINDOW_BYTES))
      .once('remoteSettings', () => listener.ready())
      .on('goaway', () => this.#fail(new Error('the member ended the connection')))
      .on('error', (error: NodeJS.ErrnoException) => this.#fail(inOurWords(error)))
      .on('close', () => this.#fail(new Error('the connection was closed')));
  }

  request({ fields }: RequestHeaders, listener: RequestListener): ClientRequest {
    return new NodeRequest(
      this.#session.request(fields, { endStream: false }),
      listener,
      () => this.#session.destroyed,
    );
  }

  destroy(error: Error): void {
    this.#fail(error);
    this.#session.destroy();
  }

  #fail(error: Error): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#listener.failed(error);
  }
}

class NodeRequest implements ClientRequest {
  readonly #stream: ClientHttp2Stream;
  #isCancelled = false;

  constructor(stream: ClientHttp2Stream, listener: RequestListener, isLost: () => boolean) {
    this.#stream = stream;
    const told =
      <A extends unknown[]>(tell: (...args: A) => void) =>
      (...args: A): void => {
        if (!this.#isCancelled) tell(...args);
      };
    let problem: string | undefined;
    stream
      .on(
        'response',
        told((headers) => listener.headers(texts(headers))),
      )
      .on(
        'trailers',
        told((headers) => listener.headers(texts(headers))),
      )
      .on('data', told(listener.data))
      .on('error', (error: Error) => {
        problem = error.message;
      })
      .on(
        'close',
        told(() => {
          const { rstCode, id } = stream;
          // A request that was never sent has no id.
          const unprocessed = id === undefined || rstCode === Reason.refusedStream;
          const wasReset = rstCode !== undefined && rstCode !== Reason.none && !isLost();
          listener.closed(unprocessed, wasReset ? reasonOf(rstCode, problem) : undefined);
        }),
      );
  }

  send(bytes: Buffer, end: boolean): void {
    if (end) this.#stream.end(bytes);
    else this.#stream.write(bytes);
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#stream.close(Reason.cancel);
  }
}

const reasonOf = (rstCode: number, problem: string | undefined): string =>
  rstCode === Reason.protocol && problem !== undefined
    ? `Protocol error: ${problem}`
    : `the call was reset (${rstCode})`;

/** Joins repeated fields, as HTTP does. */
function texts(headers: IncomingHttpHeaders): Headers {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) fields[name] = Array.isArray(value) ? value.join(', ') : String(value);
  return fields;
}

/** Errors of the peer with the messages of our own session; failures of the connection unchanged. */
const inOurWords = (error: NodeJS.ErrnoException): Error =>
  error.code?.startsWith('ERR_HTTP2')
    ? new Error(`Protocol error: ${error.message}`, { cause: error })
    : error;
