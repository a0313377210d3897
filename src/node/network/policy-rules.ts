/**
 * Translates network policies for a pod into addresses and ports. Pure: from policies, pods and namespaces to rules,
 * which the packet filter of a pod and the service proxy both apply.
 *
 * A pod that no policy of a direction selects may do everything. A selected pod may do what any rule of any policy
 * allows: policies add up, and none forbids.
 */

import type {
  Namespace,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  Pod,
} from '../../api/generated/types.ts';
import { type LabelSelectorObject, type Labels, selectorFromObject } from '../../api/kind/label-selector.ts';
import { isFinished } from '../../api/rules/pod/pod-facts.ts';
import { parseCIDR, parseIP } from '../../api/values/addresses.ts';
import { Memo } from '../../memo.ts';

interface AllowedAddresses {
  readonly cidr: string;
  readonly except: readonly string[];
}

export interface AllowedPorts {
  readonly protocol: string;
  readonly first: number;
  readonly last: number;
}

/** One allowance: connections with any of these addresses, at any of these ports. */
export interface Allowance {
  /** Allowed addresses; undefined: all. */
  readonly addresses: readonly AllowedAddresses[] | undefined;
  /** Allowed ports; undefined: all. */
  readonly ports: readonly AllowedPorts[] | undefined;
}

/** The rules of a pod; undefined for a direction in which it is not isolated. */
export interface PodRules {
  readonly ingress: readonly Allowance[] | undefined;
  readonly egress: readonly Allowance[] | undefined;
}

/** The input of the computation. */
export interface PolicyWorld {
  policies(namespace: string): Iterable<NetworkPolicy>;
  pods(): Iterable<Pod>;
  namespace(name: string): Namespace | undefined;
}

const portMax = 65_535;

export function rulesOf(pod: Pod, world: PolicyWorld): PodRules {
  const { namespace = '', labels } = pod.metadata;
  const selecting = [...world.policies(namespace)].filter(({ spec }) => matches(spec?.podSelector, labels));
  const of = (type: string): NetworkPolicy[] =>
    selecting.filter(({ spec }) => (spec?.policyTypes ?? ['Ingress']).includes(type));
  const [ingress, egress] = [of('Ingress'), of('Egress')];
  return {
    ingress: ingress.length
      ? ingress.flatMap((policy) =>
          (policy.spec?.ingress ?? []).flatMap(({ from, ports }) => {
            const addresses = from?.length
              ? from.flatMap((peer) => addressesOf(peer, namespace, world))
              : undefined;
            const open = ports?.length ? ports.flatMap((port) => portsOf(port, pod)) : undefined;
            return isEmpty(addresses) || isEmpty(open) ? [] : [{ addresses, ports: open }];
          }),
        )
      : undefined,
    egress: egress.length
      ? egress.flatMap((policy) =>
          (policy.spec?.egress ?? []).flatMap(({ to, ports }) => egressOf(to, ports, namespace, world)),
        )
      : undefined,
  };
}

const isEmpty = (list: readonly unknown[] | undefined): boolean => list?.length === 0;

/** Egress rules. A named port has its own number in each target pod. */
function egressOf(
  to: readonly NetworkPolicyPeer[] = [],
  ports: readonly NetworkPolicyPort[] = [],
  namespace: string,
  world: PolicyWorld,
): Allowance[] {
  const addresses = to.length ? to.flatMap((peer) => addressesOf(peer, namespace, world)) : undefined;
  const numbered = ports.filter(({ port }) => typeof port !== 'string').flatMap((port) => portsOf(port));
  const found: Allowance[] = [];
  if (!isEmpty(addresses) && (ports.length === 0 || numbered.length))
    found.push({ addresses, ports: ports.length ? numbered : undefined });
  const named = ports.filter(({ port }) => typeof port === 'string');
  if (named.length === 0) return found;
  const peers = to.length ? to.flatMap((peer) => podsOf(peer, namespace, world)) : [...world.pods()];
  for (const pod of peers) {
    const open = named.flatMap((port) => portsOf(port, pod));
    const single = singleAddresses(pod);
    if (open.length && single.length) found.push({ addresses: single, ports: open });
  }
  return found;
}

function addressesOf(peer: NetworkPolicyPeer, namespace: string, world: PolicyWorld): AllowedAddresses[] {
  if (peer.ipBlock) {
    const { cidr = '', except = [] } = peer.ipBlock;
    return parseCIDR(cidr)?.family === 4 ? [{ cidr, except }] : [];
  }
  return podsOf(peer, namespace, world).flatMap(singleAddresses);
}

function podsOf(peer: NetworkPolicyPeer, namespace: string, world: PolicyWorld): Pod[] {
  const { podSelector, namespaceSelector } = peer;
  if (!podSelector && !namespaceSelector) return [];
  const isIn = (name: string): boolean =>
    namespaceSelector
      ? matches(namespaceSelector, world.namespace(name)?.metadata.labels)
      : name === namespace;
  return [...world.pods()].filter(
    ({ metadata }) =>
      isIn(metadata.namespace ?? '') && (!podSelector || matches(podSelector, metadata.labels)),
  );
}

/** The addresses of a pod; none for pods on the network of their node and for finished ones. */
export const podAddresses = ({ spec, status }: Pod): string[] => {
  if (spec?.hostNetwork || isFinished(status?.phase ?? '')) return [];
  const all = [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)];
  return [...new Set(all)].filter((ip): ip is string => parseIP(ip ?? '')?.family === 4);
};

const singleAddresses = (pod: Pod): AllowedAddresses[] =>
  podAddresses(pod).map((ip) => ({ cidr: `${ip}/32`, except: [] }));

/** @param pod in which a port name is looked up */
function portsOf({ port, endPort, protocol = 'TCP' }: NetworkPolicyPort, pod?: Pod): AllowedPorts[] {
  if (port === undefined) return [{ protocol, first: 1, last: portMax }];
  if (typeof port === 'number') return [{ protocol, first: port, last: endPort ?? port }];
  const { containers = [], initContainers = [] } = pod?.spec ?? {};
  const declared = [...containers, ...initContainers].flatMap(({ ports = [] }) => ports);
  return declared
    .filter((one) => one.name === port && (one.protocol ?? 'TCP') === protocol)
    .map(({ containerPort: number = 0 }) => ({ protocol, first: number, last: number }));
}

/** Read once: they are asked about every pod, again with every change of a pod. */
const selectors = new Memo((selector: object) => selectorFromObject(selector as LabelSelectorObject));
const anything = {};

const matches = (selector: object | undefined, labels: Labels | undefined): boolean =>
  selectors.of(selector ?? anything).matches(labels);

/** Whether one of the allowances of a direction covers a connection. */
export function permits(
  allowances: readonly Allowance[] | undefined,
  ip: string,
  protocol: string,
  port: number,
): boolean {
  if (!allowances) return true;
  return allowances.some(
    ({ addresses, ports }) =>
      (!addresses ||
        addresses.some((one) => covers(one.cidr, ip) && !one.except.some((not) => covers(not, ip)))) &&
      (!ports || ports.some((one) => one.protocol === protocol && port >= one.first && port <= one.last)),
  );
}

function covers(cidr: string, ip: string): boolean {
  const [range, address] = [parseCIDR(cidr), parseIP(ip)];
  return range?.family === address?.family && address!.value >= range!.first && address!.value <= range!.last;
}
