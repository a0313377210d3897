/** Upgrade requests: which protocol is asked for, which version of it both sides speak, and how one is refused. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** A client that was refused gets this long to read why. */
const lingerMs = 10_000;
/** Idle connections are probed after this, so that dead peers are found. */
const keepAliveMs = 30_000;
/** A refused header is shown up to this length. */
const shownCharsMax = 200;

/** An answer other than 101: plain text, as a kubelet gives it. */
export interface UpgradeRefusal {
  readonly status: number;
  readonly text: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

export type Negotiation =
  | { readonly protocol: string; readonly refusal?: undefined }
  | { readonly refusal: UpgradeRefusal };

/** All values of a header, one for each line it came in. */
function headerValues(request: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < request.rawHeaders.length; i += 2)
    if (request.rawHeaders[i]!.toLowerCase() === name) values.push(request.rawHeaders[i + 1]!);
  return values;
}

/** The entries of a header that is a list: it may be repeated, and each line may hold several. */
export const headerList = (request: IncomingMessage, name: string): string[] =>
  headerValues(request, name)
    .flatMap((value) => value.split(','))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** Kubernetes looks for the word anywhere in the header, not for a token. */
export const isUpgradeRequest = (request: IncomingMessage): boolean =>
  headerValues(request, 'connection').some((value) => value.toLowerCase().includes('upgrade'));

/** What the connection is to become; undefined when it is nothing that pod connections speak. */
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
 * The first protocol on the client's list that is supported. A client of 1.0 sends no list and means `assumed`.
 * A refusal says what would have been accepted.
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

/** The first subprotocol on the client's list that is supported. One that offers none means the unnamed one, `''`. */
export function negotiateWebSocket(request: IncomingMessage, supported: readonly string[]): Negotiation {
  const offered = headerList(request, 'sec-websocket-protocol');
  const protocol = (offered.length === 0 ? [''] : offered).find((name) => supported.includes(name));
  return protocol === undefined ? { refusal: { status: 403, text: '' } } : { protocol };
}

/**
 * Answers 101 to a SPDY client. The client must read the chosen version there: one that finds none falls back to v1 and
 * prints later status objects as text.
 */
export function acceptSpdy(socket: Duplex, protocol: string): void {
  makeLongLived(socket);
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
}

/** Answers by hand, since an upgrade request comes with a bare socket, and closes it. */
export function refuseUpgrade(socket: Duplex, { status, text, headers = [] }: UpgradeRefusal): void {
  const body = Buffer.from(text);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(text === '' ? [] : ['Content-Type: text/plain; charset=utf-8', 'X-Content-Type-Options: nosniff']),
    `Content-Length: ${body.length}`,
  ];
  // The client may still be sending, or have gone: neither is of interest.
  socket.on('error', () => undefined);
  socket.resume();
  socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]));
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}

/** What only sockets of the network have; a connection through memory needs none of it. */
interface NetworkSocket {
  setNoDelay?(on: boolean): void;
  setTimeout?(ms: number): void;
  setKeepAlive?(on: boolean, delayMs: number): void;
}

/** Small frames are not held back, silence is no reason to close, and dead peers are found. */
export function makeLongLived(socket: Duplex): void {
  const network = socket as NetworkSocket;
  network.setNoDelay?.(true);
  network.setTimeout?.(0);
  network.setKeepAlive?.(true, keepAliveMs);
}
