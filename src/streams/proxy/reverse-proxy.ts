/**
 * The HTTP reverse proxy: forwards a request to another server and its answer back, with back-pressure both ways.
 *
 *   connecting → asking → answering → over
 *
 * Until the head of an answer is written, failures throw a Status. Afterwards the client's connection is cut, so that it
 * does not take a partial body for a complete one. When the client disconnects, so does the proxy from the target.
 */
import {
  type ClientRequest,
  type IncomingMessage,
  request as openRequest,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, finished } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connect as tlsConnect } from 'node:tls';
import { plain, StatusError, unavailable } from '../../api/errors/errors.ts';
import { boundInterim } from '../../interim-answers.ts';
import { TurnQueue } from '../../turn-queue.ts';
import { bodySink } from '../bytes/body-sink.ts';
import { HandshakeBytes } from '../bytes/handshake-bytes.ts';
import { clientGone, departures } from '../dial/departures.ts';
import { readError } from '../dial/net-error.ts';
import { ClientGone, tunnel, withoutBody } from '../dial/tunnel.ts';
import { tunnelHeaders } from './forwarded-headers.ts';
import type { LinkRule } from './link-rewriting.ts';
import { holdPage, type PageEncoding, pageEncoding, rewritePage } from './page-rewriting.ts';
import {
  answerHeaders,
  headerEntriesMax,
  refuseServiceWorker,
  requestFraming,
  requestHeaders,
  sandboxed,
} from './proxy-headers.ts';

/** Connect timeout; callers may set a shorter one. */
const connectMs = 30_000;
const tlsMs = 10_000;
/** Maximum size of an answer's head. That of an upgrade has a smaller bound. */
const headBytesMax = 1024 * 1024;
/** A client that has its answer and is still sending gets this long to finish. */
const lingerMs = 500;
/** When the target ends a tunnel, the client gets this long to end it itself. */
const tunnelLingerMs = 1_000;

/**
 * Requests that begin in one turn of the event loop: a client can open hundreds of connections at once. When many wait,
 * it is a tenth of them.
 */
const begins = new TurnQueue(6, 0.1);

export interface ProxyTarget {
  /** Opens a fresh connection for one request. Its errors are shown to the client, so use Go's words. */
  connect(): Promise<Duplex>;
  /** host:port that the target may use for itself in links. */
  readonly host: string;
  /** Use TLS over the connection. Targets are dialled by address, so certificates are not verified. */
  readonly secure?: boolean;
  /** Path and query of the request, encoded. */
  readonly path: string;
  /** The public path of the target's root, without a trailing slash; '' for the root itself. */
  readonly prefix: string;
  /** Whether links that lead to the target get the prefix. */
  readonly rewrite: boolean;
  /** Whether to drop the target's CORS headers, which say which origins may read its answers. */
  readonly dropCors: boolean;
  /**
   * Whether browsers take answers for those of this server, because they have its origin. Then pages are sandboxed, and
   * service workers refused.
   */
  readonly ownOrigin: boolean;
  /** Whether the target gets the client's Host header. */
  readonly keepHost: boolean;
  /** Whether the target gets the client's credentials; not if they are for this server. Default: no. */
  readonly keepCredentials?: boolean;
  /** Whether redirects are answered with an error: the target speaks for this server. Default: no. */
  readonly refuseRedirects?: boolean;
  /** Further headers of the request: names and values in turn. */
  readonly headers?: readonly string[];
}

/** Forwards one request; resolves when its answer is complete or was cut off. */
export async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  target: ProxyTarget,
): Promise<void> {
  const framing = requestFraming(request);
  if (target.ownOrigin) refuseServiceWorker(request);
  const headers = requestHeaders(request, framing, {
    host: hostFor(request, target),
    forwardedUri: forwardedUri(target),
    keepCredentials: target.keepCredentials,
  });
  headers.push(...(target.headers ?? []));
  const gone = new AbortController();
  const leave = (): void => departures.add(() => gone.abort(clientGone));
  response.once('close', leave);
  // The client may have left while the target was looked up.
  if (response.destroyed) gone.abort(clientGone);
  let connection: Duplex | undefined;
  let sent: ClientRequest | undefined;
  try {
    const opened = await connected(target, gone.signal);
    connection = opened;
    sent = openRequest({
      createConnection: () => opened,
      method: request.method!,
      path: target.path,
      headers,
      maxHeaderSize: headBytesMax,
    });
    gone.signal.addEventListener('abort', () => sent!.destroy());
    if (gone.signal.aborted) sent.destroy();
    const answering = answerOf(sent);
    if (framing === 'none') sent.end();
    else {
      sent.flushHeaders();
      request.pipe(sent);
    }
    await pass(await answering, request, response, target);
  } catch (error) {
    if (gone.signal.aborted) return;
    throw error instanceof StatusError
      ? error
      : unavailable(`error trying to reach service: ${reason(error)}`);
  } finally {
    response.off('close', leave);
    if (sent) request.unpipe(sent);
    sent?.destroy();
    connection?.destroy();
    if (response.writableEnded) letFinish(request);
  }
}

/** Forwards an upgrade request, and joins client and target when it is accepted. Failures throw. */
export async function forwardUpgrade(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  target: ProxyTarget,
): Promise<void> {
  requestFraming(request);
  if (target.ownOrigin) refuseServiceWorker(request);
  const upgrade = await withoutBody(request, { socket, head });
  const gone = new AbortController();
  const leave = (): void => departures.add(() => gone.abort(clientGone));
  socket.once('close', leave);
  if (socket.destroyed) gone.abort(clientGone);
  let connection: Duplex;
  try {
    connection = await connected(target, gone.signal);
  } catch (error) {
    if (gone.signal.aborted) throw new ClientGone();
    throw error instanceof StatusError ? error : plain(`error dialing backend: ${reason(error)}`);
  } finally {
    socket.off('close', leave);
  }
  const headers = [
    'Host',
    hostFor(request, target),
    'X-Forwarded-Uri',
    forwardedUri(target),
    ...(target.headers ?? []),
  ];
  const came = tunnelHeaders(request, socket.remoteAddress, target.keepCredentials);
  for (let i = 0; i + 1 < came.length; i += 2)
    if (!/^(?:host|x-forwarded-uri)$/i.test(came[i]!)) headers.push(came[i]!, came[i + 1]!);
  const { path, ownOrigin } = target;
  const outgoing = {
    method: request.method!,
    path,
    headers,
    ...(ownOrigin ? { answerHeaders: sandboxed } : {}),
  };
  try {
    await tunnel(upgrade, connection, outgoing, { lingerMs: tunnelLingerMs });
  } catch (error) {
    // Through an agent, a connection exists before the agent has dialled the port: its dial error arrives later.
    const isDial = error instanceof StatusError && error.message.includes(dialMark);
    throw isDial ? plain(`error dialing backend: ${reason(error)}`) : error;
  }
}

const dialMark = 'dial tcp ';

/** The reason without the prefix about who dialled the target. */
function reason(error: unknown): string {
  const { message } = error as Error;
  return message.slice(Math.max(message.indexOf(dialMark), 0));
}

const hostFor = ({ headers }: IncomingMessage, { keepHost, host }: ProxyTarget): string =>
  (keepHost ? headers.host : undefined) ?? host;

const forwardedUri = ({ prefix, path }: ProxyTarget): string => `${prefix}${path.split('?', 1)[0]}`;

/** The connection to the target; closed again when it is established too late. */
async function connected(target: ProxyTarget, gone: AbortSignal): Promise<Duplex> {
  let over = false;
  let timer: NodeJS.Timeout | undefined;
  await begins.next();
  if (gone.aborted) throw new Error('context canceled');
  const opening = target.connect().then((connection) => {
    // Errors are handled by the listeners of its user.
    connection.on('error', () => undefined);
    if (over) connection.destroy();
    return connection;
  });
  const early = new Promise<never>((_, reject) => {
    const leave = (): void => reject(new Error('context canceled'));
    timer = setTimeout(() => reject(new Error(`dial tcp ${target.host}: i/o timeout`)), connectMs);
    gone.addEventListener('abort', leave);
    if (gone.aborted) leave();
  });
  try {
    const connection = await Promise.race([opening, early]);
    if (!target.secure) return connection;
    return await Promise.race([secured(connection, gone), early]);
  } catch (error) {
    over = true;
    // When both fail, the first failure is reported.
    opening.catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function secured(connection: Duplex, gone: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const bytes = new HandshakeBytes(connection);
    const secure = tlsConnect({
      socket: bytes,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    });
    const fail = (why: string): void => {
      clearTimeout(timer);
      secure.destroy();
      connection.destroy();
      reject(new Error(why));
    };
    const timer = setTimeout(() => fail('net/http: TLS handshake timeout'), tlsMs);
    gone.addEventListener('abort', () => fail('context canceled'));
    secure.on('error', (error: NodeJS.ErrnoException) => fail(tlsError(error)));
    secure.once('secureConnect', () => {
      clearTimeout(timer);
      bytes.finish();
      secure.on('close', () => connection.destroy());
      resolve(secure);
    });
  });
}

function tlsError(error: NodeJS.ErrnoException): string {
  if (/wrong version number|packet length too long|http request/i.test(error.message))
    return 'tls: first record does not look like a TLS handshake';
  if (error.code === 'ECONNRESET' && /before secure TLS/.test(error.message)) return 'EOF';
  return readError(error);
}

/** The answer, or the error. */
function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    boundInterim(sent);
    sent
      .on('response', resolve)
      .on('upgrade', (_answer, socket) => {
        socket.destroy();
        reject(new Error('net/http: HTTP/1.x transport connection broken: unasked upgrade'));
      })
      .on('error', (error) => reject(new Error(readError(error))));
  });
}

async function pass(
  answer: IncomingMessage,
  request: IncomingMessage,
  response: ServerResponse,
  target: ProxyTarget,
): Promise<void> {
  // Avoids an unhandled error between two readers.
  answer.on('error', () => undefined);
  if (answer.rawHeaders.length >= headerEntriesMax)
    throw new Error('net/http: server response headers exceeded the limit; aborted');
  if (target.refuseRedirects && isRedirect(answer)) {
    const text = 'the backend attempted to redirect this request, which is not permitted';
    response.writeHead(502, { 'Content-Length': Buffer.byteLength(text) }).end(text);
    return ended(response);
  }
  const links: LinkRule | undefined = target.rewrite
    ? { prefix: target.prefix, hosts: [target.host, request.headers.host ?? ''] }
    : undefined;
  const encoding = links && pageEncoding(answer);
  const rule = {
    dropCors: target.dropCors,
    links,
    newLength: encoding !== undefined,
    ownOrigin: target.ownOrigin,
  };
  const headers = answerHeaders(answer, rule);
  if (links && encoding && request.method !== 'HEAD') {
    const asItIs = answerHeaders(answer, { ...rule, newLength: false });
    return passPage(answer, response, { links, encoding, headers, asItIs });
  }
  begin(answer, response, headers);
  await through(answer, response);
}

const isRedirect = ({ statusCode = 0, headers }: IncomingMessage): boolean =>
  statusCode >= 300 && statusCode <= 399 && !!headers.location;

interface Page {
  readonly links: LinkRule;
  readonly encoding: PageEncoding;
  /** Without Content-Length. */
  readonly headers: string[];
  /** With the original Content-Length. */
  readonly asItIs: string[];
}

async function passPage(answer: IncomingMessage, response: ServerResponse, page: Page): Promise<void> {
  const held = await holdPage(answer).catch(() => undefined);
  // Incomplete: cut the client off, as with any body.
  if (!held) return void response.destroy();
  try {
    const body = held.whole ? Buffer.concat(held.chunks) : undefined;
    const rewritten = body && (await rewritePage(body, page.encoding, page.links));
    if (response.destroyed) return;
    if (rewritten) begin(answer, response, [...page.headers, 'Content-Length', String(rewritten.length)]);
    else begin(answer, response, page.asItIs);
    if (rewritten) response.end(rewritten);
    else for (const chunk of held.chunks) response.write(chunk);
    if (!rewritten && held.whole) response.end();
  } finally {
    held.release();
  }
  if (held.whole) await ended(response);
  else await through(answer, response);
}

function begin(answer: IncomingMessage, response: ServerResponse, headers: string[]): void {
  const { statusCode, statusMessage } = answer;
  // The target's reason phrase, if it is valid.
  if (statusMessage && /^[\t\x20-\x7e\x80-\xff]*$/.test(statusMessage))
    response.writeHead(statusCode!, statusMessage, headers);
  else response.writeHead(statusCode!, headers);
  // Clients of event streams wait for the head first.
  response.flushHeaders();
}

/** Copies the body. When the target breaks off or the client leaves, the other side is closed, too. */
const through = (answer: IncomingMessage, response: ServerResponse): Promise<void> =>
  pipeline(answer, bodySink(response)).catch(() => undefined);

const ended = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => finished(bodySink(response), () => resolve()));

/**
 * Discards the rest of a request body, which would block the connection; closes the connection if it does not
 * end in time.
 */
export function letFinish(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const timer = setTimeout(() => request.destroy(), lingerMs);
  request
    .on('error', () => undefined)
    .once('close', () => clearTimeout(timer))
    .resume();
}
