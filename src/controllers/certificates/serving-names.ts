/**
 * Decides which names and addresses the serving certificate of a node agent may have without approval by an
 * administrator: those that only this node has, and that it has proved to be its own. What a node reports in its status
 * proves nothing.
 *
 * - its own name, and the name that only its agent has (`agentNameOf`);
 * - the address that its request came from;
 * - names and addresses that an administrator listed in an annotation of its Node, which nodes cannot write.
 *
 * None of them may lead to others: to this machine by loopback, to a service, to the API server, to another node.
 */
import { isIP } from 'node:net';
import type { CertificateSigningRequest, Node, Service, ServiceCIDR } from '../../api/generated/types.ts';
import { type Address, addressText, parseCIDR, parseIP } from '../../api/values/addresses.ts';
import { servingAddressesAnnotation, sourceAddressKey } from '../../api/values/node-identity.ts';
import type { AlternativeNames } from '../../pki/alternative-names.ts';
import { agentDomain, agentNameOf } from '../../pki/node-certificates.ts';
import { rangeId, rangesOf } from '../../registry/allocation/service-ranges.ts';
import type { Registry } from '../../registry/registry.ts';
import { ServiceSlices } from '../../registry/system/service-slices.ts';
import { everything } from '../../registry/view/filter.ts';
import type { ClusterTrust } from '../shared/controller.ts';

const clusterDomain = 'cluster.local';
/** Domains whose names belong to services, pods, this machine and agents. */
const takenDomains = ['svc', clusterDomain, 'localhost', agentDomain];
/** Ranges that no node may claim: loopback, link-local, multicast, "this network" and broadcast. */
const takenRanges = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/3',
  '::/127',
  'fe80::/10',
  'ff00::/8',
].map((text) => parseCIDR(text)!);

const textOf = (address: string): string => {
  const parsed = parseIP(address);
  return parsed ? addressText(parsed) : address.toLowerCase();
};

/** Whether all names of a request belong to the node that asks. */
export function areOwnNames(
  registry: Registry,
  trust: ClusterTrust,
  { metadata }: Node,
  { spec }: CertificateSigningRequest,
  { dns, ips }: AlternativeNames,
): boolean {
  const node = metadata.name!;
  const listed = (metadata.annotations?.[servingAddressesAnnotation] ?? '').split(/[\s,]+/).filter(Boolean);
  const proved = new Set(
    [node, ...(spec?.extra?.[sourceAddressKey] ?? []), ...listed].map((name) => textOf(name)),
  );
  const taken = new TakenNames(registry, trust, node);
  return (
    dns.every((name) => name === agentNameOf(node) || (proved.has(name) && !taken.hasName(name))) &&
    ips.every((ip) => proved.has(textOf(ip)) && !taken.hasAddress(ip))
  );
}

/** Names and addresses that belong to others. */
class TakenNames {
  readonly #nodes: ReadonlySet<string>;

  constructor(
    private readonly registry: Registry,
    private readonly trust: ClusterTrust,
    node: string,
  ) {
    const others = this.#all<Node>('core/nodes').filter(({ metadata }) => metadata.name !== node);
    this.#nodes = new Set(
      others.flatMap(({ metadata, status }) => [
        metadata.name!,
        agentNameOf(metadata.name!),
        ...(status?.addresses ?? []).map(({ address }) => textOf(address ?? '')),
      ]),
    );
  }

  hasName(name: string): boolean {
    if (name.includes('*') || isIP(name) || this.#nodes.has(name)) return true;
    if (takenDomains.some((domain) => name === domain || name.endsWith(`.${domain}`))) return true;
    if (this.trust.shown.some((certificate) => certificate.checkHost(name) !== undefined)) return true;
    // Inside of pods a service is found by its name, and by its name and namespace.
    return this.#all<Service>('core/services').some(({ metadata }) =>
      [metadata.name!, `${metadata.name}.${metadata.namespace}`].includes(name),
    );
  }

  hasAddress(text: string): boolean {
    const address = parseIP(text);
    if (!address || takenRanges.some((range) => contains(range, address))) return true;
    const canonical = addressText(address);
    if (this.#nodes.has(canonical) || this.#apiServers().has(canonical)) return true;
    if (this.trust.shown.some((certificate) => certificate.checkIP(canonical) !== undefined)) return true;
    return this.#all<ServiceCIDR>(rangeId)
      .flatMap(rangesOf)
      .some((range) => contains(range, address));
  }

  /** Also the other servers of the cluster, whose certificates this one does not have. */
  #apiServers(): ReadonlySet<string> {
    const slices = new ServiceSlices(this.registry.view).contents('default', 'kubernetes') ?? [];
    return new Set(
      slices.flatMap(({ endpoints }) =>
        (endpoints ?? []).flatMap(({ addresses }) => (addresses ?? []).map(textOf)),
      ),
    );
  }

  #all<T>(id: Parameters<Registry['view']['collection']>[0]): T[] {
    return this.registry.view
      .collection(id)
      .select(everything)
      .entries.map((entry) => entry.peek() as T);
  }
}

const contains = (range: Address & { first: bigint; last: bigint }, { family, value }: Address): boolean =>
  range.family === family && range.first <= value && value <= range.last;
