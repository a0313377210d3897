/** What is mirrored of an Endpoints object: its addresses, in groups with the same ports. Pure. */

import type {
  Endpoint,
  EndpointAddress,
  EndpointPort,
  EndpointPortV1,
  EndpointSubset,
  Endpoints,
} from '../../generated/types.ts';
import { parseIP } from '../../values/addresses.ts';
import { type AddressFamily, type EndpointGroup, portsKey } from './slice-endpoints.ts';

/** Addresses of one subset that are mirrored; also the endpoints of one slice. */
export const mirroredMax = 1_000;

export interface Mirror {
  readonly groups: Readonly<Record<AddressFamily, readonly EndpointGroup[]>>;
  /** How many addresses are no IP addresses. */
  readonly invalid: number;
  /** How many addresses were left out because their subset has too many. */
  readonly skipped: number;
}

interface Member {
  readonly address: EndpointAddress;
  readonly ready: boolean;
}

export function mirrorOf({ subsets = [] }: Endpoints): Mirror {
  const found = { IPv4: new Map<string, Group>(), IPv6: new Map<string, Group>() };
  let invalid = 0;
  let skipped = 0;
  for (const { members, ports } of repacked(subsets)) {
    const valid = members.filter(({ address }) => parseIP(address.ip ?? '') !== undefined);
    invalid += members.length - valid.length;
    skipped += Math.max(valid.length - mirroredMax, 0);
    for (const named of distinctlyNamed(ports)) {
      const key = portsKey(named);
      for (const { address, ready } of valid.slice(0, mirroredMax)) {
        const groups = found[parseIP(address.ip!)!.family === 6 ? 'IPv6' : 'IPv4'];
        const group = groups.get(key) ?? { ports: named, endpoints: [] };
        groups.set(key, group);
        group.endpoints.push(endpointOf(address, ready));
      }
    }
  }
  const groups = { IPv4: [...found.IPv4.values()], IPv6: [...found.IPv6.values()] };
  return { groups, invalid, skipped };
}

interface Group {
  readonly ports: readonly EndpointPortV1[];
  readonly endpoints: Endpoint[];
}

/**
 * Merges subsets: an address that is in several has the ports of all of them, and addresses with the same ports are
 * together. An address that is ready in one of them is ready.
 */
function repacked(subsets: readonly EndpointSubset[]): { members: Member[]; ports: EndpointPortV1[] }[] {
  const members = new Map<
    string,
    { address: EndpointAddress; ready: boolean; ports: Map<string, EndpointPortV1> }
  >();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets)
    for (const [list, ready] of [
      [addresses, true],
      [notReadyAddresses, false],
    ] as const)
      for (const address of list) {
        const key = JSON.stringify([address.ip, address.targetRef?.uid ?? '']);
        const known = members.get(key) ?? { address, ready, ports: new Map<string, EndpointPortV1>() };
        known.ready ||= ready;
        for (const port of ports) known.ports.set(portsKey([slicePort(port)]), slicePort(port));
        members.set(key, known);
      }
  const packed = new Map<string, { members: Member[]; ports: EndpointPortV1[] }>();
  for (const { address, ready, ports } of members.values()) {
    const list = [...ports.values()];
    const key = portsKey(list);
    const subset = packed.get(key) ?? { members: [], ports: list };
    packed.set(key, subset);
    subset.members.push({ address, ready });
  }
  for (const subset of packed.values()) subset.members.sort((a, b) => Number(b.ready) - Number(a.ready));
  return [...packed.values()];
}

/**
 * Divides ports so that no list has a name twice, which slices may not have. Subsets that share an address may share
 * names of ports, too: commonly the empty name, for several servers behind one address.
 */
function distinctlyNamed(ports: readonly EndpointPortV1[]): EndpointPortV1[][] {
  const lists: EndpointPortV1[][] = [[]];
  const counts = new Map<string, number>();
  for (const port of ports) {
    const name = port.name ?? '';
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    lists[count] ??= [];
    lists[count].push(port);
  }
  return lists;
}

const slicePort = ({ name = '', port, protocol = 'TCP', appProtocol }: EndpointPort): EndpointPortV1 => ({
  name,
  protocol,
  ...(port === undefined ? {} : { port }),
  ...(appProtocol ? { appProtocol } : {}),
});

const endpointOf = (
  { ip = '', targetRef, nodeName, hostname }: EndpointAddress,
  ready: boolean,
): Endpoint => ({
  addresses: [ip],
  conditions: { ready },
  ...(hostname ? { hostname } : {}),
  ...(targetRef ? { targetRef } : {}),
  ...(nodeName ? { nodeName } : {}),
});
