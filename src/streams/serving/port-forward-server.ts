/** The serving side of port-forward: SPDY, SPDY inside a WebSocket, or channels of a WebSocket. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  acceptSpdy,
  headerList,
  missingUpgrade,
  negotiateSpdy,
  negotiateWebSocket,
  refuseUpgrade,
  upgradeProtocol,
} from '../dial/upgrade-request.ts';
import type { PortForwarding } from '../session/port-forward.ts';
import { forwardStreams } from '../spdy/spdy-port-forward.ts';
import { forwardChannels, portsMax } from '../websocket/channel-port-forward.ts';
import { WebSocketBytes } from '../websocket/websocket-bytes.ts';
import { acceptWebSocket, webSocketRefusal } from '../websocket/websocket-upgrade.ts';

const protocolName = 'portforward.k8s.io';
/** Prefix of the subprotocols that carry SPDY inside WebSocket messages. */
const tunnelPrefix = 'SPDY/3.1+';
/** Idle timeout: closes a connection without a frame in either direction for this long. */
const defaultIdleMs = 4 * 3_600_000;

/** Without v5: its clients would send close signals, which port-forward does not have. */
const channelFramings = new Map([
  ['', 'raw'],
  ['v4.channel.k8s.io', 'raw'],
  ['v4.base64.channel.k8s.io', 'base64'],
] as const);

export interface PortForwardServing extends Omit<PortForwarding, 'idleMs'> {
  /** The ports for the channels of a WebSocket; SPDY clients name theirs later. */
  readonly ports: readonly number[];
  readonly idleMs?: number | undefined;
}

/** Whether a subprotocol is SPDY inside the WebSocket. */
const isTunnelProtocol = (name: string): boolean => name.startsWith(tunnelPrefix) && name.endsWith('.k8s.io');

/** Serves a request of an `upgrade` event. Never rejects; resolves when the connection has ended or was refused. */
export async function servePortForward(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  serving: PortForwardServing,
): Promise<void> {
  const forwarding: PortForwarding = { ...serving, idleMs: serving.idleMs ?? defaultIdleMs };
  switch (upgradeProtocol(request)) {
    case 'spdy': {
      const chosen = negotiateSpdy(request, [protocolName], protocolName);
      if (chosen.refusal) return refuseUpgrade(socket, chosen.refusal);
      acceptSpdy(socket, chosen.protocol);
      return forwardStreams(socket, head, forwarding);
    }
    case 'websocket': {
      const bad = webSocketRefusal(request);
      if (bad) return refuseUpgrade(socket, bad);
      if (headerList(request, 'sec-websocket-protocol').some(isTunnelProtocol))
        return serveTunnel(request, socket, head, forwarding);
      return serveChannels(request, socket, head, serving.ports, forwarding);
    }
    default:
      return refuseUpgrade(socket, missingUpgrade(request));
  }
}

async function serveTunnel(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  forwarding: PortForwarding,
): Promise<void> {
  const chosen = negotiateWebSocket(request, [tunnelPrefix + protocolName]);
  if (chosen.refusal) return refuseUpgrade(socket, chosen.refusal);
  const webSocket = acceptWebSocket(request, socket, head, chosen.protocol);
  return webSocket && forwardStreams(new WebSocketBytes(webSocket), Buffer.alloc(0), forwarding);
}

async function serveChannels(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  ports: readonly number[],
  forwarding: PortForwarding,
): Promise<void> {
  if (ports.length === 0)
    return refuseUpgrade(socket, { status: 400, text: 'query parameter "port" is required' });
  const chosen = negotiateWebSocket(request, [...channelFramings.keys()]);
  if (chosen.refusal) return refuseUpgrade(socket, chosen.refusal);
  const framing = channelFramings.get(chosen.protocol as '')!;
  if (ports.length > portsMax[framing])
    return refuseUpgrade(socket, {
      status: 400,
      text: `at most ${portsMax[framing]} ports can be forwarded`,
    });
  const webSocket = acceptWebSocket(request, socket, head, chosen.protocol);
  return webSocket && forwardChannels(webSocket, framing, ports, forwarding);
}
