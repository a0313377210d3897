/** The WebSocket handshake of the serving side (RFC 6455, version 13, no extensions). */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { writeRecordPerPiece } from '../bytes/tls-records.ts';
import { makeLongLived, type UpgradeRefusal } from '../dial/upgrade-request.ts';

/** Maximum message size, as in Kubernetes. */
const messageBytesMax = 32 * 1024 * 1024;
/** Reads over which a message may come: small ones take hundreds of bytes each, whatever they hold. */
const chunksMax = 64 * 1024;
/** With this many bytes unsent, pings are no longer answered: the client does not read. */
const pongBacklogBytesMax = 1024 * 1024;
/** Interval of unsolicited pongs, which show that the server is alive while reading is paused. */
const pongMs = 15_000;

/** Why a WebSocket request is refused; undefined when it is valid. */
export function webSocketRefusal(request: IncomingMessage): UpgradeRefusal | undefined {
  if (request.method !== 'GET') return { status: 405, text: 'bad method', headers: [['Allow', 'GET']] };
  if (!/^[+/0-9A-Za-z]{22}==$/.test(request.headers['sec-websocket-key'] ?? ''))
    return { status: 400, text: 'missing or bad Sec-WebSocket-Key' };
  if (request.headers['sec-websocket-version'] !== '13')
    return {
      status: 400,
      text: 'missing or bad WebSocket Version',
      headers: [['Sec-WebSocket-Version', '13']],
    };
  return undefined;
}

export interface WebSocketBounds {
  /** Maximum message size. Default 32 MiB. */
  readonly messageBytesMax?: number;
}

/** Answers pings of a client that reads the answers: `autoPong` keeps all for one that does not. */
export function answerPings(webSocket: WebSocket): void {
  webSocket.on('ping', (data) => {
    if (webSocket.bufferedAmount < pongBacklogBytesMax) webSocket.pong(data);
  });
}

/**
 * Completes the handshake of a request that `webSocketRefusal` accepts, and names `protocol` in the answer if
 * given. Undefined when the client has already gone.
 *
 * The `ws` package parses the client's list of subprotocols itself and refuses names with a slash, which
 * tunnelling clients send. So it gets a request without that list, and the chosen name is added to its
 * answer.
 */
export function acceptWebSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  protocol: string | undefined,
  options: WebSocketBounds = {},
): WebSocket | undefined {
  const handshake = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: options.messageBytesMax ?? messageBytesMax,
    maxBufferedChunks: chunksMax,
    // One message in each turn of the event loop: 64 KB may hold ten thousand, which took a tenth of a second in one.
    allowSynchronousEvents: false,
    autoPong: false,
  });
  handshake.on('headers', (lines) => {
    if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
  });
  const { 'sec-websocket-protocol': _, ...headers } = request.headers;
  const bare = Object.create(request, { headers: { value: headers } }) as IncomingMessage;
  let accepted: WebSocket | undefined;
  makeLongLived(socket);
  writeRecordPerPiece(socket);
  handshake.handleUpgrade(bare, socket, head, (webSocket) => {
    accepted = webSocket;
  });
  if (accepted === undefined) return undefined;
  const webSocket: WebSocket = accepted;
  // Protocol errors and broken connections emit `error` and then `close`; the latter is enough.
  webSocket.on('error', () => undefined);
  answerPings(webSocket);
  // kubectl gives up when it has read nothing for a minute, even while it is waiting to write.
  const pongs = setInterval(() => {
    if (webSocket.isPaused && webSocket.bufferedAmount < pongBacklogBytesMax) webSocket.pong();
  }, pongMs);
  pongs.unref();
  webSocket.once('close', () => clearInterval(pongs));
  return webSocket;
}
