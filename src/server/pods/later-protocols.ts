/**
 * Subprotocols of WebSockets that came with a minor of Kubernetes. A server of an earlier one passes them on to a node
 * that does not know them, which takes another that the client offers, or refuses the client.
 */
import type { IncomingMessage } from 'node:http';
import type { ChosenMinor } from '../../api/kind/chosen-minor.ts';

const header = 'sec-websocket-protocol';

/** Since 1.30, exec and attach tell the end of input; since 1.31, SPDY for port-forward can be inside of a WebSocket. */
const later = {
  session: { gate: 'TranslateStreamCloseWebsocketRequests', isNew: (name: string) => name.startsWith('v5.') },
  forward: { gate: 'PortForwardWebsockets', isNew: (name: string) => name.startsWith('SPDY/') },
} as const;

/** Takes what the minor does not have out of the request, in place. Returns whether the client is to be refused. */
export function dropLaterProtocols(
  minor: ChosenMinor | undefined,
  { rawHeaders }: IncomingMessage,
  what: keyof typeof later,
): boolean {
  const { gate, isNew } = later[what];
  if (!minor || minor.isOn(gate)) return false;
  let dropped = 0;
  let left = 0;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() !== header) continue;
    const names = rawHeaders[i + 1]!.split(',').map((name) => name.trim());
    const known = names.filter((name) => !isNew(name));
    dropped += names.length - known.length;
    left += known.length;
    rawHeaders[i + 1] = known.join(', ');
  }
  return dropped > 0 && left === 0;
}
