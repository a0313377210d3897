/** Upgrade requests: which protocol is requested, version negotiation, and refusals. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** Time a refused client gets to read the answer. */
const lingerMs = 10_000;
/** TCP keep-alive interval, to find dead peers. */
const keepAliveMs = 30_000;
/** Maximum length of a refused header in the message. */
const shownCharsMax = 200;

/** An answer other than 101: plain text, as from a kubelet. */
export interface UpgradeRefusal {
  readonly status: number;
  readonly text: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

export type Negotiation =
  | { readonly protocol: string; readonly refusal?: undefined }
  | { readonly refusal: UpgradeRefusal };

/** All values of a header, one per line it came in. */
function headerValues(request: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < request.rawHeaders.length; i += 2)
    if (request.rawHeaders[i]!.toLowerCase() === name) values.push(request.rawHeaders[i + 1]!);
  return values;
}

/** The entries of a list header: it may be repeated, and each line may have several. */
export const headerList = (request: IncomingMessage, name: string): string[] =>
  headerValues(request, name)
    .flatMap((value) => value.split(','))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** Like Kubernetes, looks for the substring anywhere in the header, not for a token. */
export const isUpgradeRequest = (request: IncomingMessage): boolean =>
  headerValues(request, 'connection').some((value) => value.toLowerCase().includes('upgrade'));

/** The requested protocol; undefined for any that pod connections do not support. */
export function upgradeProtocol(request: IncomingMessage): 'websocket' | 'spdy' | undefined {
  if (!isUpgradeRequest(request)) return undefined;
  const wanted = headerValues(request, 'upgrade').map((value) => value.trim().toLowerCase());
  if (wanted.includes('websocket')) return 'websocket';
  return wanted.some((value) => value.includes('spdy/3.1')) ? 'spdy' : undefined;
}

export function missingUpgrade(request: IncomingMessage): UpgradeRefusal {
  const shown = ['Connection', 'Upgrade']
    .map((name) => `${name}:[${headerValues(request, name.toLowerCase()).join(' ').slice(0, shownCharsMax)}]`)
    .join(' ');
  return { status: 400, text: `unable to upgrade: missing upgrade headers in request: map[${shown}]` };
}

/**
 * The first protocol on the client's list that is supported. A client of 1.0 sends no list and means
 * `assumed`. A refusal lists the supported ones.
 */
export function negotiateSpdy(
  request: IncomingMessage,
  supported: readonly string[],
  assumed: string,
): Negotiation {
  const offered = headerList(request, 'x-stream-protocol-version');
  const protocol = offered.length === 0 ? assumed : offered.find((name) => supported.includes(name));
  if (protocol !== undefined) return { protocol };
  return {
    refusal: {
      status: 403,
      text: `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${supported.join(' ')}]`,
      headers: supported.map((name) => ['X-Accepted-Stream-Protocol-Versions', name] as const),
    },
  };
}

/**
 * The first subprotocol on the client's list that is supported. A client that offers none means the unnamed
 * one, `''`.
 */
export function negotiateWebSocket(request: IncomingMessage, supported: readonly string[]): Negotiation {
  const offered = headerList(request, 'sec-websocket-protocol');
  const protocol = (offered.length === 0 ? [''] : offered).find((name) => supported.includes(name));
  return protocol === undefined ? { refusal: { status: 403, text: '' } } : { protocol };
}

/**
 * Answers 101 to a SPDY client, with the chosen version: without it a client would fall back to v1 and print
 * status objects as text.
 */
export function acceptSpdy(socket: Duplex, protocol: string): void {
  makeLongLived(socket);
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
}

/** Writes the answer by hand, because an upgrade request comes with a bare socket, and closes the socket. */
export function refuseUpgrade(socket: Duplex, { status, text, headers = [] }: UpgradeRefusal): void {
  const body = Buffer.from(text);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(text === '' ? [] : ['Content-Type: text/plain; charset=utf-8', 'X-Content-Type-Options: nosniff']),
    `Content-Length: ${body.length}`,
  ];
  // Ignore errors: the client may still be sending, or have gone.
  socket.on('error', () => undefined);
  socket.resume();
  socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]));
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}

/** Methods of network sockets that in-memory connections do not have. */
interface NetworkSocket {
  setNoDelay?(on: boolean): void;
  setTimeout?(ms: number): void;
  setKeepAlive?(on: boolean, delayMs: number): void;
}

/** Disables Nagle's algorithm and the idle timeout, and enables keep-alive. */
export function makeLongLived(socket: Duplex): void {
  const network = socket as NetworkSocket;
  network.setNoDelay?.(true);
  network.setTimeout?.(0);
  network.setKeepAlive?.(true, keepAliveMs);
}
