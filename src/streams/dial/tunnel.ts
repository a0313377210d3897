/**
 * The byte tunnel: forwards an upgrade request to a backend and, after a 101, copies bytes both ways without parsing
 * them. It carries exactly one request: after any other answer the backend's connection is closed. Otherwise the client
 * could send it further requests with the server's identity.
 *
 *   asking → joined (101) → lingering (backend ended first) → closed
 *          → relaying (400 and above) → closed
 *          → refused (anything else: thrown as a Status)
 */
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { badRequest, plain, StatusError } from '../../api/errors/errors.ts';
import { copy, socketPace } from '../bytes/byte-copy.ts';
import { canCarry } from '../bytes/memory-pipe.ts';
import { writeRecordPerPiece } from '../bytes/tls-records.ts';
import { departures } from './departures.ts';
import { readError } from './net-error.ts';
import { makeLongLived } from './upgrade-request.ts';

/** Maximum size of the head of the backend's answer. */
const headBytesMax = 64 * 1024;
/** Bodies of upgrade requests are dropped, up to this size. */
const bodyBytesMax = 1024 * 1024;
const bodyMs = 10_000;
/** Maximum bytes buffered that a client sends before the answer; then the client is paused. */
const earlyBytesMax = 64 * 1024;

/** Timeouts. */
export interface TunnelTimes {
  /** Until the backend has answered the request. */
  readonly headMs: number;
  /** Limit for passing on an answer that is not an upgrade. */
  readonly relayMs: number;
  /**
   * Clients of 1.1 lose unread data when the server closes first. They close the connection themselves when
   * they have read everything, so a backend's end is passed on only after this time.
   */
  readonly lingerMs: number;
  /** Idle timeout: closes the tunnel after this time without a byte in either direction. */
  readonly idleMs: number;
}

const defaultTimes: TunnelTimes = {
  headMs: 60_000,
  relayMs: 10_000,
  lingerMs: 10_000,
  idleMs: 4 * 3_600_000,
};

/** A client's upgrade: its bare socket, and the bytes received after the request. */
export interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
}

/** The request for the backend; headers as a flat list of names and values. */
export interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  /** Which headers of the answer the client gets. Default: all. */
  readonly answerHeaders?: (headers: readonly string[]) => readonly string[];
}

/** The client has disconnected, so no answer can be sent. */
export class ClientGone extends StatusError {
  constructor() {
    super(499, undefined, 'context canceled');
  }
}

/**
 * Removes the body of an upgrade request, so that its bytes are not taken for the new protocol. Returns the
 * rest of `head`.
 */
export async function withoutBody(incoming: IncomingMessage, upgrade: Upgrade): Promise<Upgrade> {
  const { 'transfer-encoding': encoding, 'content-length': length } = incoming.headers;
  if (encoding !== undefined && length !== undefined)
    throw badRequest('a request may not have both Content-Length and Transfer-Encoding');
  if (encoding !== undefined) throw badRequest('an upgrade request may not have a body of unknown length');
  const bytes = Number(length ?? 0);
  if (bytes === 0) return upgrade;
  if (!(bytes <= bodyBytesMax))
    throw badRequest(`an upgrade request may have a body of at most ${bodyBytesMax} bytes`);
  const { socket } = upgrade;
  let { head } = upgrade;
  const deadline = AbortSignal.timeout(bodyMs);
  while (head.length < bytes) head = Buffer.concat([head, await nextChunk(socket, deadline)]);
  return { socket, head: head.subarray(bytes) };
}

function nextChunk(socket: Socket, deadline: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      socket.pause();
      socket.off('data', onData).off('end', onGone).off('close', onGone);
      deadline.removeEventListener('abort', onLate);
      act();
    };
    const onData = (chunk: Buffer): void => settle(() => resolve(chunk));
    const onGone = (): void => settle(() => reject(new ClientGone()));
    const onLate = (): void => settle(() => reject(badRequest('the body of the request did not arrive')));
    socket.on('data', onData).on('end', onGone).on('close', onGone).resume();
    deadline.addEventListener('abort', onLate);
    if (socket.destroyed) onGone();
  });
}

/**
 * Sends the request to the backend and joins the two when it is accepted. Before that failures throw, and the
 * caller can still answer on the socket. Resolves when both ends are closed.
 */
export async function tunnel(
  { socket, head }: Upgrade,
  backend: Duplex,
  outgoing: Outgoing,
  changed: Partial<TunnelTimes> = {},
): Promise<void> {
  const times = { ...defaultTimes, ...changed };
  for (const side of [socket, backend]) side.on('error', () => side.destroy());
  const early = new EarlyBytes(socket, head);
  let answer: Answer;
  try {
    answer = await ask(early, backend, outgoing, times.headMs);
  } catch (error) {
    early.release();
    backend.destroy();
    throw error;
  }
  const { response } = answer;
  const { answerHeaders = (headers) => headers } = outgoing;
  if (answer.rest) {
    if (response.headers.upgrade?.toLowerCase() === 'websocket') writeRecordPerPiece(socket);
    const first = [answerHead(response, answerHeaders(response.rawHeaders)), answer.rest];
    return join(socket, backend, early.release(), first, times);
  }
  early.release();
  if (response.statusCode! >= 400) return relay(socket, backend, response, times.relayMs, answerHeaders);
  backend.destroy();
  throw plain(`invalid upgrade response: status code ${response.statusCode}`);
}

/** Buffers what a client sends before the answer; reading also shows when the client disconnects. */
class EarlyBytes {
  readonly #chunks: Buffer[];
  #size: number;
  #onGone: () => void = () => undefined;

  constructor(
    private readonly socket: Socket,
    head: Buffer,
  ) {
    this.#chunks = head.length ? [head] : [];
    this.#size = head.length;
    socket.on('data', this.#take).on('end', this.#gone).on('close', this.#gone).resume();
  }

  onGone(listener: () => void): void {
    this.#onGone = listener;
    if (this.socket.destroyed || this.socket.readableEnded) listener();
  }

  /** Stops reading and returns the bytes; the socket is left paused. */
  release(): Buffer[] {
    this.socket.pause();
    this.socket.off('data', this.#take).off('end', this.#gone).off('close', this.#gone);
    return this.#chunks;
  }

  readonly #take = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > earlyBytesMax) this.socket.pause();
  };

  readonly #gone = (): void => this.#onGone();
}

interface Answer {
  readonly response: IncomingMessage;
  /** Bytes after a 101; undefined for any other answer. */
  readonly rest?: Buffer;
}

function ask(
  early: EarlyBytes,
  backend: Duplex,
  { method, path, headers }: Outgoing,
  headMs: number,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({
      createConnection: () => backend,
      method,
      path,
      headers: headers as string[],
      maxHeaderSize: headBytesMax,
    });
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      early.onGone(() => undefined);
      act();
    };
    const fail = (error: Error): void => settle(() => reject(error));
    const timer = setTimeout(() => {
      fail(plain('net/http: timeout awaiting response headers'));
      sent.destroy();
    }, headMs);
    sent
      .on('upgrade', (response, _socket, rest) => settle(() => resolve({ response, rest })))
      .on('response', (response) => settle(() => resolve({ response })))
      // Node reports a 101 without an Upgrade header here.
      .on('information', ({ statusCode }) =>
        fail(plain(`invalid upgrade response: status code ${statusCode}`)),
      )
      .on('error', (error) => fail(plain(readError(error))));
    early.onGone(() => {
      fail(new ClientGone());
      sent.destroy();
    });
    sent.end();
  });
}

function answerHead({ statusCode, statusMessage }: IncomingMessage, headers: readonly string[]): Buffer {
  let text = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return Buffer.from(`${text}\r\n`, 'latin1');
}

/** Copies both ways until both sides are closed. */
function join(
  client: Socket,
  backend: Duplex,
  fromClient: Buffer[],
  toClient: readonly Buffer[],
  { lingerMs, idleMs }: TunnelTimes,
): Promise<void> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const later = (act: () => void): void => {
      clearTimeout(timer);
      timer = setTimeout(act, lingerMs);
    };
    const closed = (): void => {
      if (!client.destroyed || !backend.destroyed) return;
      clearTimeout(timer);
      resolve();
    };
    const destroy = (): void => {
      client.destroy();
      backend.destroy();
    };
    makeLongLived(client);
    client.setTimeout(idleMs, destroy);

    const backendOver = (): void => {
      backend.end();
      // Discard what the client still sends; reading shows when it closes.
      client.resume();
      if (client.readableEnded) return void client.end();
      later(() => {
        client.end();
        later(destroy);
      });
    };
    const clientOver = (): void => {
      // Clients of these protocols end their half only when they have finished.
      backend.end();
      if (backend.readableEnded || backend.destroyed) client.end();
      later(destroy);
    };
    const clientGone = (): void => {
      backend.destroy();
      closed();
    };
    const backendGone = (): void => {
      if (!backend.readableEnded) backendOver();
      closed();
    };
    client.on('end', () => departures.add(clientOver)).on('close', () => departures.add(clientGone));
    backend.on('end', () => departures.add(backendOver)).on('close', () => departures.add(backendGone));

    client.cork();
    for (const chunk of toClient) client.write(chunk);
    client.uncork();
    for (const chunk of fromClient) backend.write(chunk);
    if (canCarry(backend)) backend.carry(client);
    else {
      copy(client, backend, socketPace);
      copy(backend, client, socketPace);
    }
    if (client.destroyed) destroy();
    else if (backend.destroyed) backendOver();
    closed();
  });
}

/** Hop-by-hop headers of the backend's connection. */
const hops = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

/** Passes on an answer that is not an upgrade; the end of the connection ends its body. */
function relay(
  client: Socket,
  backend: Duplex,
  response: IncomingMessage,
  relayMs: number,
  answerHeaders: (headers: readonly string[]) => readonly string[],
): Promise<void> {
  const { rawHeaders } = response;
  const headers: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    if (!hops.has(rawHeaders[i]!.toLowerCase())) headers.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  headers.push('Connection', 'close');
  return new Promise((resolve) => {
    const cut = (): void => void client.destroy();
    const timer = setTimeout(cut, relayMs);
    const closed = (): void => {
      clearTimeout(timer);
      backend.destroy();
      resolve();
    };
    if (client.destroyed) return closed();
    client.on('close', closed).resume();
    client.write(answerHead(response, answerHeaders(headers)));
    response
      .on('data', (chunk: Buffer) => {
        if (!client.write(chunk)) response.pause();
      })
      .on('end', () => {
        backend.destroy();
        // Close only this half: the client may still be sending, and a full close would discard the answer.
        client.end();
      })
      .on('error', cut);
    client.on('drain', () => response.resume());
  });
}
