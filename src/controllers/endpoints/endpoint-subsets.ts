/**
 * Endpoints subsets: the pod addresses of a service. Ports with the same addresses share a subset; pods whose port
 * has another number are in another subset.
 */

import type {
  EndpointAddress,
  EndpointPort,
  EndpointSubset,
  Service,
  ServicePort,
} from '../../api/generated/types.ts';
import { parseIP } from '../../api/values/addresses.ts';
import { type IndexedPod, isFinished } from '../shared/indexed-pod.ts';
import { type PodPorts, TargetPorts } from './target-ports.ts';

interface Member {
  readonly address: EndpointAddress;
  readonly ready: boolean;
}

/** Pods that have the same ports. */
interface Group {
  readonly number: number;
  readonly members: Member[];
}

/** One port, and all pods that have it. */
interface Lane {
  readonly port: EndpointPort | undefined;
  readonly groups: Group[];
}

export const isHeadless = ({ spec = {} }: Service): boolean => !spec.clusterIP || spec.clusterIP === 'None';

export function subsetsOf(service: Service, pods: readonly IndexedPod[]): EndpointSubset[] {
  const targets = new TargetPorts(service);
  const groups = new Map<PodPorts, Group>();
  const { ports = [], publishNotReadyAddresses } = service.spec ?? {};
  for (const pod of pods) {
    const ip = isReachable(pod, publishNotReadyAddresses === true) && ipFor(service, pod);
    if (!ip) continue;
    const member = {
      address: addressOf(service, pod, ip),
      ready: pod.ready || publishNotReadyAddresses === true,
    };
    const numbers = targets.of(pod);
    const group = groups.get(numbers);
    if (group) group.members.push(member);
    else groups.set(numbers, { number: groups.size, members: [member] });
  }
  if (ports.length === 0 && isHeadless(service))
    return merged(groups.size ? [{ port: undefined, groups: [...groups.values()] }] : []);
  return merged(lanesOf(ports, groups));
}

function lanesOf(ports: readonly ServicePort[], groups: ReadonlyMap<PodPorts, Group>): Lane[] {
  const lanes = new Map<string, Lane>();
  for (const [numbers, group] of groups)
    for (const [i, one] of ports.entries()) {
      const number = numbers[i];
      if (number === undefined) continue;
      const port = endpointPort(one, number);
      const name = [port.name, port.port, port.protocol, port.appProtocol].join('/');
      const lane = lanes.get(name);
      if (lane) lane.groups.push(group);
      else lanes.set(name, { port, groups: [group] });
    }
  return [...lanes.values()];
}

/** Services with publishNotReadyAddresses include pods until they are gone. */
const isReachable = (pod: IndexedPod, publishNotReady: boolean): boolean =>
  !isFinished(pod) && (publishNotReady || !pod.marked);

/** The address of a pod in the family of the service. */
function ipFor({ spec = {} }: Service, { ips }: IndexedPod): string | undefined {
  const family = spec.ipFamilies?.[0] === 'IPv6' ? 6 : 4;
  return ips.find((ip) => parseIP(ip)?.family === family);
}

function addressOf({ metadata }: Service, pod: IndexedPod, ip: string): EndpointAddress {
  const { namespace, name, uid, nodeName, hostname, subdomain } = pod;
  return {
    ip,
    ...(hostname && subdomain === metadata.name ? { hostname } : {}),
    ...(nodeName ? { nodeName } : {}),
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}

const endpointPort = ({ name, protocol = 'TCP', appProtocol }: ServicePort, port: number): EndpointPort => ({
  ...(name ? { name } : {}),
  port,
  protocol,
  ...(appProtocol ? { appProtocol } : {}),
});

function merged(lanes: readonly Lane[]): EndpointSubset[] {
  const subsets = new Map<string, { members: readonly Member[]; ports: EndpointPort[] }>();
  for (const { port, groups } of lanes) {
    // A pod is in one group: the same groups are the same pods.
    const who = groups.map(({ number }) => number).join();
    const ports = port ? [port] : [];
    const subset = subsets.get(who);
    if (subset) subset.ports.push(...ports);
    else {
      const members = groups.flatMap((group) => group.members);
      members.sort((a, b) => compare(a.address, b.address));
      subsets.set(who, { members, ports });
    }
  }
  return [...subsets.values()]
    .sort((a, b) => compare(a.members[0]!.address, b.members[0]!.address))
    .map(toSubset);
}

function toSubset({ members, ports }: { members: readonly Member[]; ports: EndpointPort[] }): EndpointSubset {
  const addresses = members.filter(({ ready }) => ready).map(({ address }) => address);
  const notReadyAddresses = members.filter(({ ready }) => !ready).map(({ address }) => address);
  return {
    ...(addresses.length ? { addresses } : {}),
    ...(notReadyAddresses.length ? { notReadyAddresses } : {}),
    ...(ports.length ? { ports } : {}),
  };
}

/** By ip, then by uid. */
function compare(a: EndpointAddress, b: EndpointAddress): number {
  const [x, y] = a.ip === b.ip ? [a.targetRef?.uid ?? '', b.targetRef?.uid ?? ''] : [a.ip ?? '', b.ip ?? ''];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Truncates the addresses to a number: ready ones are kept first, and each subset loses its share. */
export function truncated(
  subsets: readonly EndpointSubset[],
  addressesMax: number,
): { subsets: EndpointSubset[]; cut: boolean } {
  const ready = subsets.map(({ addresses }) => addresses?.length ?? 0);
  const others = subsets.map(({ notReadyAddresses }) => notReadyAddresses?.length ?? 0);
  if (sum(ready) + sum(others) <= addressesMax) return { subsets: [...subsets], cut: false };
  const readyShares = shares(ready, addressesMax);
  const otherShares = shares(others, addressesMax - sum(readyShares));
  const kept = subsets.map(({ addresses = [], notReadyAddresses = [], ports }, i): EndpointSubset => {
    const some = addresses.slice(0, readyShares[i]);
    const rest = notReadyAddresses.slice(0, otherShares[i]);
    return {
      ...(some.length ? { addresses: some } : {}),
      ...(rest.length ? { notReadyAddresses: rest } : {}),
      ...(ports ? { ports } : {}),
    };
  });
  return {
    subsets: kept.filter(({ addresses, notReadyAddresses }) => addresses || notReadyAddresses),
    cut: true,
  };
}

/** Divides a total among sizes, in proportion. */
function shares(sizes: readonly number[], max: number): number[] {
  const total = sum(sizes);
  if (total <= max) return [...sizes];
  const parts = sizes.map((size) => Math.floor((size * max) / total));
  let left = max - sum(parts);
  return parts.map((part, i) => (left > 0 && part < sizes[i]! ? part + Math.min(1, left--) : part));
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
