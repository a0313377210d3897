/**
 * Translation for nodes that speak SPDY only: the server ends the WebSocket of a newer client, and acts as an SPDY
 * client of the kubelet.
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { plain, StatusError } from '../../api/errors/errors.ts';
import { clientGone, departures } from '../../streams/dial/departures.ts';
import { hostPort } from '../../streams/dial/net-error.ts';
import type { NodeConnector, NodeLocation } from '../../streams/dial/node-connector.ts';
import type { Upgrade } from '../../streams/dial/tunnel.ts';
import { headerList, refuseUpgrade, upgradeProtocol } from '../../streams/dial/upgrade-request.ts';
import type { SessionWish } from '../../streams/session/session.ts';
import type { SpdyRefused } from '../../streams/spdy/spdy-upgrade.ts';

/** A refused client gets this long to read the answer. */
const lingerMs = 10_000;

/** The subprotocol that kubelets before 1.36 do not serve. */
const sessionProtocol = 'v5.channel.k8s.io';
/** `SPDY/3.1+portforward.k8s.io`: SPDY tunnelled in a WebSocket. */
const tunnelPrefix = 'SPDY/3.1+';
const tunnelSuffix = '.k8s.io';

const isWebSocket = (request: IncomingMessage): boolean => upgradeProtocol(request) === 'websocket';

export const needsSessionTranslation = (request: IncomingMessage, node: NodeLocation): boolean =>
  !node.servesWebSockets &&
  isWebSocket(request) &&
  headerList(request, 'sec-websocket-protocol').includes(sessionProtocol);

export const needsUntunnelling = (request: IncomingMessage, node: NodeLocation): boolean =>
  !node.servesWebSockets && isWebSocket(request) && tunnelledProtocols(request).length > 0;

/** Protocols inside tunnels. */
const tunnelledProtocols = (request: IncomingMessage): string[] =>
  headerList(request, 'sec-websocket-protocol')
    .filter((name) => name.startsWith(tunnelPrefix) && name.endsWith(tunnelSuffix))
    .map((name) => name.slice(tunnelPrefix.length));

export interface NodeRequest {
  readonly nodes: NodeConnector;
  readonly node: NodeLocation;
  readonly path: string;
}

/** The server's own headers: none of the client's are passed on. */
const ownHeaders = ({ host, port }: NodeLocation) =>
  [
    ['Host', hostPort(host, port)],
    ['User-Agent', 'wherry'],
  ] as const;

/** Exec and attach. The WebSocket is accepted first, so later failures are reported inside it. */
export async function translate(
  request: IncomingMessage,
  { socket, head }: Upgrade,
  { nodes, node, path }: NodeRequest,
  wish: SessionWish,
): Promise<void> {
  const { acceptWebSocket, webSocketRefusal } = await import('../../streams/websocket/websocket-upgrade.ts');
  const { openRemoteCommand } = await import('../../streams/spdy/remote-command-client.ts');
  const { translateSession } = await import('../../streams/websocket/websocket-translation.ts');
  const bad = webSocketRefusal(request);
  if (bad) return refuseUpgrade(socket, bad);
  const webSocket = acceptWebSocket(request, socket, head, sessionProtocol);
  if (!webSocket) return;
  const url = `https://${hostPort(node.host, node.port)}${path}`;
  const connect = (): Promise<Duplex> =>
    nodes.connect(node).catch((error: Error) => {
      throw new Error(`error sending request: Post "${url}": ${error.message}`);
    });
  const asked = { method: 'POST', path, headers: ownHeaders(node) };
  await translateSession(webSocket, () => openRemoteCommand(connect, asked), wish);
}

/** Port-forward. The WebSocket is accepted only after the kubelet, so that the client can still fall back. */
export async function untunnelTo(
  request: IncomingMessage,
  { socket, head }: Upgrade,
  { nodes, node, path }: NodeRequest,
): Promise<void> {
  const { acceptWebSocket, webSocketRefusal } = await import('../../streams/websocket/websocket-upgrade.ts');
  const { upgradeToSpdy } = await import('../../streams/spdy/spdy-upgrade.ts');
  const { untunnel } = await import('../../streams/websocket/websocket-tunnel.ts');
  const bad = webSocketRefusal(request);
  if (bad) return refuseUpgrade(socket, bad);
  const gone = new AbortController();
  const onClose = (): void => departures.add(() => gone.abort(clientGone));
  socket.on('close', onClose);
  try {
    const asked = { method: 'POST', path, headers: ownHeaders(node), protocols: tunnelledProtocols(request) };
    const answer = await upgradeToSpdy(() => nodes.connect(node), asked, gone.signal).catch(
      (error: Error) => {
        throw error instanceof StatusError ? error : plain(`error dialing backend: ${error.message}`);
      },
    );
    if ('refused' in answer) return relayRefusal(socket, answer.refused);
    const webSocket = acceptWebSocket(request, socket, head, `${tunnelPrefix}${answer.protocol}`);
    if (webSocket) await untunnel(webSocket, answer.socket, answer.head);
    else answer.socket.destroy();
  } finally {
    socket.off('close', onClose);
  }
}

/** Headers that concern the kubelet's own connection, or no longer fit the body. */
const dropped = new Set(['connection', 'content-length', 'keep-alive', 'transfer-encoding', 'upgrade']);

function relayRefusal(socket: Duplex, { statusCode, headers, body }: SpdyRefused['refused']): void {
  if (statusCode < 400) throw plain(`invalid upgrade response: status code ${statusCode}`);
  const lines = [
    `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode] ?? ''}`,
    ...headers
      .filter(([name]) => !dropped.has(name.toLowerCase()))
      .map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
    `Content-Length: ${body.length}`,
  ];
  socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]));
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}
