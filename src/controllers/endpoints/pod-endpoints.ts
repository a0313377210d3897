/** The endpoints that a service's pods make, in groups with the same ports. Pure: from objects to contents of slices. */

import type { Endpoint, EndpointPortV1, Service } from '../../api/generated/types.ts';
import { type AddressFamily, type EndpointGroup, portsKey } from '../../api/rules/service/slice-endpoints.ts';
import { semanticEqual } from '../../api/text/object.ts';
import { parseIP } from '../../api/values/addresses.ts';
import { type IndexedPod, isFinished } from '../shared/indexed-pod.ts';
import { type PodPorts, TargetPorts } from './target-ports.ts';

/** A node that pods run on. */
export interface KnownNode {
  /** The node's zone; undefined when it has none. */
  readonly zone: string | undefined;
}

/** How connections should be kept near: zone and node hints of endpoints. */
const zoneDistributions: readonly (string | undefined)[] = [
  'PreferClose',
  'PreferSameZone',
  'PreferSameNode',
];

/** Finds a pod's node; undefined for one that does not exist. */
export type NodeLookup = (name: string) => KnownNode | undefined;

interface Group {
  readonly ports: EndpointPortV1[];
  readonly endpoints: Endpoint[];
}

export function endpointGroups(
  service: Service,
  pods: readonly IndexedPod[],
  family: AddressFamily,
  nodeOf: NodeLookup,
): EndpointGroup[] {
  const targets = new TargetPorts(service);
  const groups = new Map<string, Group>();
  const groupOf = new Map<PodPorts, Group>();
  for (const pod of pods) {
    const endpoint = endpointOf(service, pod, family, nodeOf);
    if (!endpoint) continue;
    const numbers = targets.of(pod);
    let group = groupOf.get(numbers);
    if (!group) {
      const ports = portsOf(service, numbers);
      const key = portsKey(ports);
      group = groups.get(key) ?? { ports, endpoints: [] };
      groups.set(key, group);
      groupOf.set(numbers, group);
    }
    group.endpoints.push(endpoint);
  }
  return [...groups.values()];
}

/** The endpoint of a pod; undefined when it has none: finished, without an address, or on an unknown node. */
function endpointOf(
  { metadata, spec = {} }: Service,
  pod: IndexedPod,
  family: AddressFamily,
  nodeOf: NodeLookup,
): Endpoint | undefined {
  const addresses = addressesOf(pod, family);
  const publish = spec.publishNotReadyAddresses === true;
  const node = nodeOf(pod.nodeName);
  if (isFinished(pod) || addresses.length === 0 || (!node && !publish)) return undefined;
  const { namespace, name, uid, nodeName, hostname, subdomain, marked } = pod;
  const ready = publish || (pod.ready && !marked);
  const zone = node?.zone;
  return {
    addresses,
    conditions: { ready, serving: pod.ready, terminating: marked },
    ...(hostname && subdomain === metadata.name ? { hostname } : {}),
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(nodeName ? { nodeName } : {}),
    ...(zone ? { zone } : {}),
    ...(ready ? hintsOf(spec.trafficDistribution, zone, nodeName) : {}),
  };
}

function addressesOf({ ips }: IndexedPod, family: AddressFamily): string[] {
  const wanted = family === 'IPv6' ? 6 : 4;
  return ips.filter((ip) => parseIP(ip)?.family === wanted);
}

function hintsOf(
  distribution: string | undefined,
  zone: string | undefined,
  nodeName: string,
): Pick<Endpoint, 'hints'> {
  if (!zoneDistributions.includes(distribution)) return {};
  const hints = {
    ...(zone ? { forZones: [{ name: zone }] } : {}),
    ...(distribution === 'PreferSameNode' && nodeName ? { forNodes: [{ name: nodeName }] } : {}),
  };
  return Object.keys(hints).length ? { hints } : {};
}

/** The ports of a pod for a service, without those that it does not declare. */
const portsOf = ({ spec = {} }: Service, numbers: PodPorts): EndpointPortV1[] =>
  (spec.ports ?? []).flatMap((port, i) => {
    const number = numbers[i];
    if (number === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = port;
    return [{ name, protocol, port: number, ...(appProtocol ? { appProtocol } : {}) }];
  });

/** Whether a change of a pod does not matter to the services that select it. */
export const sameEndpoint = (a: IndexedPod, b: IndexedPod): boolean =>
  a.uid === b.uid &&
  a.ready === b.ready &&
  a.marked === b.marked &&
  isFinished(a) === isFinished(b) &&
  a.nodeName === b.nodeName &&
  a.hostname === b.hostname &&
  a.subdomain === b.subdomain &&
  semanticEqual(a.ips, b.ips) &&
  semanticEqual(a.labels, b.labels);
