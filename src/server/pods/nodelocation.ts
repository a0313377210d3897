/** Where the agent of a node is reached: from a Node object to an address, a port and what the agent can do. */
import { plain } from '../../api/errors.ts';
import type { Node, NodeAddress } from '../../api/generated/types.ts';
import type { NodeLocation } from '../../streams/nodeway.ts';

/** Where kubelets listen unless they say otherwise. */
const kubeletPort = 10_250;
const portMax = 65_535;
/** Nodes that declare it serve every WebSocket form themselves. */
const webSocketFeature = 'ExtendWebSocketsToKubelet';

/** Types of addresses, the one to be tried first in front. */
export const defaultAddressTypes: readonly string[] = [
  'Hostname',
  'InternalDNS',
  'InternalIP',
  'ExternalDNS',
  'ExternalIP',
  // All that nodes of 1.1 may have.
  'LegacyHostIP',
];

export function locateNode(node: Node, addressTypes: readonly string[] = defaultAddressTypes): NodeLocation {
  const { addresses = [], daemonEndpoints, declaredFeatures = [] } = node.status ?? {};
  const port = daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  return {
    name: node.metadata.name!,
    host: preferredAddress(addresses, addressTypes),
    port: port > 0 && port <= portMax ? port : kubeletPort,
    servesWebSockets: declaredFeatures.includes(webSocketFeature),
  };
}

function preferredAddress(addresses: readonly NodeAddress[], types: readonly string[]): string {
  for (const wanted of types)
    for (const { type, address } of addresses) if (type === wanted && address) return address;
  const known = addresses.map(({ type = '', address = '' }) => `{${type} ${address}}`).join(' ');
  throw plain(`no preferred addresses found; known addresses: [${known}]`);
}
