/** The WebSocket handshake of the serving side (RFC 6455, version 13, no extensions). */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { makeLongLived, type UpgradeRefusal } from './upgraderequest.ts';

/** The largest message taken, as in Kubernetes. */
const messageBytesMax = 32 * 1024 * 1024;
/** Pings of a client that reads no answers are left unanswered from here on. */
const pongBacklogBytesMax = 1024 * 1024;
/** How often a client is told that the server is alive while its messages, pings included, are not read. */
const pongMs = 15_000;

/** Why a request that asks for a WebSocket cannot have one, undefined when it can. */
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

/**
 * Completes the handshake of a request that `webSocketRefusal` has nothing against, naming `protocol` in the answer
 * when there is one. Undefined when the client has already gone.
 *
 * The `ws` package would parse the client's list of subprotocols itself and refuse names with a slash in them, which
 * tunnelling clients send. So it is shown a request without that list, and the chosen name is added to its answer.
 */
export function acceptWebSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  protocol: string | undefined,
): WebSocket | undefined {
  const handshake = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: messageBytesMax,
    autoPong: false,
  });
  handshake.on('headers', (lines) => {
    if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
  });
  const { 'sec-websocket-protocol': _, ...headers } = request.headers;
  const bare = Object.create(request, { headers: { value: headers } }) as IncomingMessage;
  let accepted: WebSocket | undefined;
  makeLongLived(socket);
  handshake.handleUpgrade(bare, socket, head, (webSocket) => {
    accepted = webSocket;
  });
  if (accepted === undefined) return undefined;
  const webSocket: WebSocket = accepted;
  // Frames against the protocol and broken connections show as `error` and then `close`; the latter is enough.
  webSocket.on('error', () => undefined);
  webSocket.on('ping', (data) => {
    if (webSocket.bufferedAmount < pongBacklogBytesMax) webSocket.pong(data);
  });
  // kubectl gives up when it has read nothing for a minute, even while it is itself waiting to write.
  const pongs = setInterval(() => {
    if (webSocket.isPaused && webSocket.bufferedAmount < pongBacklogBytesMax) webSocket.pong();
  }, pongMs);
  pongs.unref();
  webSocket.once('close', () => clearInterval(pongs));
  return webSocket;
}
