/** Node locations: address, port and abilities of a node's agent, from its Node object. */
import { plain } from '../../api/errors/errors.ts';
import type { Node, NodeAddress } from '../../api/generated/types.ts';
import type { NodeLocation } from '../../streams/dial/node-connector.ts';

/** Default port of kubelets. */
const kubeletPort = 10_250;
const portMax = 65_535;
/** Nodes that declare this feature serve every WebSocket protocol themselves. */
const webSocketFeature = 'ExtendWebSocketsToKubelet';

/** Types of addresses, in order of preference. */
export const defaultAddressTypes: readonly string[] = [
  'Hostname',
  'InternalDNS',
  'InternalIP',
  'ExternalDNS',
  'ExternalIP',
  // The address field of nodes in Kubernetes 1.1.
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
