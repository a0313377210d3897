/**
 * The DNS names of a cluster's services and pods:
 *
 *   <service>.<namespace>.svc.cluster.local              the cluster IP; headless: all ready addresses
 *   <host>.<service>.<namespace>.svc.cluster.local       one endpoint, by host name or by address (10-1-2-3)
 *   _<port>._<protocol>.<service>.<namespace>.svc.…      SRV: host and number of a named port
 *   10-1-2-3.<namespace>.pod.cluster.local               10.1.2.3
 *   3.2.1.10.in-addr.arpa                                PTR: the service or the endpoint with this address
 */
import { isIPv4 } from 'node:net';
import type { Endpoint, EndpointPortV1, EndpointSlice, Service } from '../../api/generated/types.ts';
import { isReady } from '../../api/rules/service/slice-endpoints.ts';
import type { ServiceDirectory } from '../../client/service-directory.ts';
import { composedKey } from '../../composed-key.ts';
import { type DnsRecord, type Question, type Reply, recordTypes, replyCodes } from './dns-message.ts';
import type { ServiceAddresses } from './service-addresses.ts';

export const clusterDomain = 'cluster.local';
const zone = clusterDomain.split('.');
const reverseZone = ['in-addr', 'arpa'];
/** Short, because services change at any time. */
const ttl = 5;
/** Maximum number of records in one answer. */
const recordsMax = 200;

/** A CNAME to a name outside the cluster. */
export interface Elsewhere {
  readonly alias: DnsRecord;
  readonly target: string;
}

export type LookupAnswer = Reply | Elsewhere | undefined;

/** Undefined for names outside the cluster's domain, and for addresses that are not the cluster's. */
export function lookUp(
  { labels, type }: Question,
  directory: ServiceDirectory,
  addresses: ServiceAddresses,
): LookupAnswer {
  const address = reversedAddress(labels);
  if (address) return addressReply(labels, type, address, directory, addresses);
  const inner = labels.length - zone.length;
  if (inner < 0 || zone.some((label, index) => labels[inner + index] !== label)) return undefined;
  const path = labels.slice(0, inner);
  const kind = path.pop();
  const namespace = path.pop();
  if (kind === undefined) return nothing(replyCodes.ok);
  if (kind !== 'svc' && kind !== 'pod') return nothing(replyCodes.noName);
  // Names with others below them exist, but have no records (NOERROR, not NXDOMAIN).
  if (namespace === undefined || path.length === 0) return nothing(replyCodes.ok);
  if (kind === 'pod') return podReply(labels, path, type);
  const name = path.pop()!;
  const service = directory.service(namespace, name);
  if (!service) return nothing(replyCodes.noName);
  return serviceReply(namedService(service, directory), labels, path, type);
}

function podReply(labels: readonly string[], path: readonly string[], type: number): Reply {
  const address = path[0]!.replaceAll('-', '.');
  if (path.length !== 1 || !isIPv4(address)) return nothing(replyCodes.noName);
  return answer(type, [{ type: 'A', name: labels, ttl, address }]);
}

function serviceReply(
  service: NamedService,
  labels: readonly string[],
  path: readonly string[],
  type: number,
): Reply | Elsewhere {
  const { externalName } = service;
  if (externalName !== undefined) {
    if (path.length) return nothing(replyCodes.noName);
    const target = externalName.replace(/\.$/, '').toLowerCase();
    return { alias: { type: 'CNAME', name: labels, ttl, target: target.split('.') }, target };
  }
  if (path.length === 0) {
    if (type === recordTypes.SRV) return service.located(labels);
    return answer(type, service.addresses(labels));
  }
  if (path.length === 1) return answer(type, service.host(labels, path[0]!));
  const [port = '', protocol = ''] = path;
  if (path.length !== 2 || !port.startsWith('_') || !/^_(tcp|udp|sctp)$/.test(protocol))
    return nothing(replyCodes.noName);
  const found = service.located(labels, port.slice(1), protocol.slice(1).toUpperCase());
  return type === recordTypes.SRV || found.code !== replyCodes.ok ? found : nothing(replyCodes.ok);
}

/** The address in a name such as `3.2.1.10.in-addr.arpa`. */
function reversedAddress(labels: readonly string[]): string | undefined {
  if (labels.length !== 4 + reverseZone.length) return undefined;
  if (reverseZone.some((label, i) => labels[4 + i] !== label)) return undefined;
  const address = labels.slice(0, 4).reverse().join('.');
  return isIPv4(address) ? address : undefined;
}

function addressReply(
  labels: readonly string[],
  type: number,
  address: string,
  directory: ServiceDirectory,
  addresses: ServiceAddresses,
): Reply | undefined {
  const names: (readonly string[])[] = [];
  for (const { namespace, name } of addresses.of(address)) {
    if (names.length >= recordsMax) break;
    const service = directory.service(namespace, name);
    if (service) names.push(...namedService(service, directory).namesOf(address));
  }
  if (!names.length) return undefined;
  if (type !== recordTypes.PTR && type !== recordTypes.ANY) return nothing(replyCodes.ok);
  const answers = names.slice(0, recordsMax);
  return {
    code: replyCodes.ok,
    own: true,
    answers: answers.map((target) => ({ type: 'PTR', name: labels, ttl, target })),
  };
}

function namedService(service: Service, directory: ServiceDirectory): NamedService {
  const { namespace = '', name = '' } = service.metadata;
  return new NamedService(service, directory.slices(namespace, name), [name, namespace, 'svc', ...zone]);
}

/** An address behind a headless service. */
interface Host {
  readonly ip: string;
  readonly endpoint: Endpoint;
}

/** A service with the name it has in DNS. */
class NamedService {
  constructor(
    private readonly service: Service,
    private readonly slices: readonly EndpointSlice[],
    private readonly name: readonly string[],
  ) {}

  get externalName(): string | undefined {
    return this.service.spec?.type === 'ExternalName' ? this.service.spec.externalName : undefined;
  }

  addresses(name: readonly string[]): DnsRecord[] {
    const { clusterIP = '' } = this.service.spec ?? {};
    return isIPv4(clusterIP) ? records(name, [clusterIP]) : this.#records(name, () => true);
  }

  /** The records of one host name of a headless service; several endpoints may share it. */
  host(name: readonly string[], host: string): DnsRecord[] {
    const address = host.replaceAll('-', '.');
    return this.#records(name, ({ ip, endpoint: { hostname } }) =>
      hostname ? hostname === host : ip === address,
    );
  }

  /** The addresses of some hosts, as many as an answer may have. */
  #records(name: readonly string[], isIt: (host: Host) => boolean): DnsRecord[] {
    const found = new Set<string>();
    for (const host of this.#hosts()) {
      if (found.size >= recordsMax) break;
      if (isIt(host)) found.add(host.ip);
    }
    return records(name, found);
  }

  /** The names that an address has: the service's own, or those of its endpoints. */
  namesOf(address: string): (readonly string[])[] {
    if (this.service.spec?.clusterIP === address) return [this.name];
    const found = new Set<string>();
    if (this.#isHeadless) for (const host of this.#hosts()) if (host.ip === address) found.add(hostOf(host));
    return [...found].slice(0, recordsMax).map((host) => [host, ...this.name]);
  }

  /** SRV records: of all ports, or of those with this name and protocol. */
  located(name: readonly string[], port?: string, protocol?: string): Reply {
    const wanted = (one: { name?: string; protocol?: string }): boolean =>
      port === undefined || ((one.name ?? '').toLowerCase() === port && (one.protocol ?? 'TCP') === protocol);
    const answers: DnsRecord[] = [];
    const add = (target: readonly string[], number = 0): boolean =>
      answers.push({ type: 'SRV', name, ttl, port: number, target }) < recordsMax;
    const hasOneAddress = isIPv4(this.service.spec?.clusterIP ?? '');
    const hosts = new Set<string>();
    if (hasOneAddress)
      (this.service.spec!.ports ?? []).filter(wanted).every((one) => add(this.name, one.port));
    else
      for (const [number, host] of this.#doors(wanted)) {
        hosts.add(host);
        if (!add([host, ...this.name], number)) break;
      }
    if (!answers.length) return nothing(replyCodes.noName);
    const additionals = hasOneAddress ? this.addresses(this.name) : this.#addressesOf(hosts);
    return { code: replyCodes.ok, own: true, answers, additionals };
  }

  /** The ports of all hosts, each with the name of its host. */
  *#doors(wanted: (port: EndpointPortV1) => boolean): Iterable<[port: number | undefined, host: string]> {
    for (const slice of this.slices) {
      const hosts = new Set<string>();
      for (const host of hostsOf(slice)) if (hosts.size < recordsMax) hosts.add(hostOf(host));
      for (const { port } of hosts.size > 0 ? (slice.ports ?? []).filter(wanted) : [])
        for (const host of hosts) yield [port, host];
    }
  }

  /** The addresses of hosts by their names, each under its own: one look at all, however many are wanted. */
  #addressesOf(wanted: ReadonlySet<string>): DnsRecord[] {
    const found = new Map<string, DnsRecord>();
    for (const host of this.#hosts()) {
      if (found.size >= recordsMax) break;
      const name = hostOf(host);
      if (!wanted.has(name)) continue;
      found.set(composedKey(name, host.ip), { type: 'A', name: [name, ...this.name], ttl, address: host.ip });
    }
    return [...found.values()];
  }

  get #isHeadless(): boolean {
    return this.service.spec?.type !== 'ExternalName' && !isIPv4(this.service.spec?.clusterIP ?? '');
  }

  *#hosts(): Iterable<Host> {
    for (const slice of this.slices) yield* hostsOf(slice);
  }
}

/** The hosts behind a service. Slices of services that publish unready addresses mark them as ready. */
function* hostsOf({ addressType, endpoints }: EndpointSlice): Iterable<Host> {
  if (addressType !== 'IPv4') return;
  for (const endpoint of endpoints ?? [])
    if (isReady(endpoint)) for (const ip of endpoint.addresses ?? []) yield { ip, endpoint };
}

const records = (name: readonly string[], addresses: Iterable<string>): DnsRecord[] =>
  [...addresses].map((address) => ({ type: 'A', name, ttl, address }));

const hostOf = ({ ip, endpoint }: Host): string => endpoint.hostname || ip.replaceAll('.', '-');

/** A name without any address does not exist, whichever record type is queried. */
function answer(type: number, addresses: readonly DnsRecord[]): Reply {
  if (!addresses.length) return nothing(replyCodes.noName);
  if (type !== recordTypes.A && type !== recordTypes.ANY) return nothing(replyCodes.ok);
  return { code: replyCodes.ok, own: true, answers: addresses };
}

/** A negative answer, with the SOA record that limits how long it may be cached. */
const nothing = (code: Reply['code']): Reply => ({
  code,
  own: true,
  authorities: [{ type: 'SOA', name: zone, ttl, server: ['ns', 'dns', ...zone] }],
});
