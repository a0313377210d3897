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
import type { Endpoint, EndpointSlice, Service } from '../../api/generated/types.ts';
import { isReady } from '../../api/rules/service/slice-endpoints.ts';
import type { ServiceDirectory } from '../../client/service-directory.ts';
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
interface Elsewhere {
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
  const names = addresses.of(address).flatMap(({ namespace, name }) => {
    const service = directory.service(namespace, name);
    return service ? namedService(service, directory).namesOf(address) : [];
  });
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
    const found = isIPv4(clusterIP) ? [clusterIP] : this.#hosts().map(({ ip }) => ip);
    return [...new Set(found)].filter(isIPv4).map((address) => ({ type: 'A', name, ttl, address }));
  }

  /** The records of one host name of a headless service; several endpoints may share it. */
  host(name: readonly string[], host: string): DnsRecord[] {
    const found = this.#hosts().filter((one) => hostOf(one) === host);
    return [...new Set(found.map(({ ip }) => ip))].map((address) => ({ type: 'A', name, ttl, address }));
  }

  /** The names that an address has: the service's own, or those of its endpoints. */
  namesOf(address: string): (readonly string[])[] {
    if (this.service.spec?.clusterIP === address) return [this.name];
    const hosts = this.#isHeadless ? this.#hosts().filter(({ ip }) => ip === address) : [];
    return [...new Set(hosts.map(hostOf))].map((host) => [host, ...this.name]);
  }

  /** SRV records: of all ports, or of those with this name and protocol. */
  located(name: readonly string[], port?: string, protocol?: string): Reply {
    const wanted = (one: { name?: string; protocol?: string }): boolean =>
      port === undefined || ((one.name ?? '').toLowerCase() === port && (one.protocol ?? 'TCP') === protocol);
    const answers: DnsRecord[] = [];
    const additionals = new Map<string, DnsRecord>();
    const add = (target: readonly string[], number: number, addresses: readonly DnsRecord[]): void => {
      if (answers.length >= recordsMax) return;
      answers.push({ type: 'SRV', name, ttl, port: number, target });
      for (const record of addresses) additionals.set(JSON.stringify(record), record);
    };
    if (isIPv4(this.service.spec?.clusterIP ?? '')) {
      for (const one of this.service.spec!.ports ?? [])
        if (wanted(one)) add(this.name, one.port ?? 0, this.addresses(this.name));
    } else
      for (const slice of this.slices)
        for (const one of (slice.ports ?? []).filter(wanted))
          for (const host of hostsOf(slice)) {
            const target = [hostOf(host), ...this.name];
            add(target, one.port ?? 0, this.host(target, hostOf(host)));
          }
    if (!answers.length) return nothing(replyCodes.noName);
    return {
      code: replyCodes.ok,
      own: true,
      answers,
      additionals: [...additionals.values()].slice(0, recordsMax),
    };
  }

  get #isHeadless(): boolean {
    return this.service.spec?.type !== 'ExternalName' && !isIPv4(this.service.spec?.clusterIP ?? '');
  }

  #hosts(): Host[] {
    return this.slices.flatMap(hostsOf);
  }
}

/** The hosts behind a service. Slices of services that publish unready addresses mark them as ready. */
const hostsOf = ({ endpoints }: EndpointSlice): Host[] =>
  (endpoints ?? [])
    .filter(isReady)
    .flatMap((endpoint) =>
      (endpoint.addresses ?? []).filter((ip) => isIPv4(ip)).map((ip) => ({ ip, endpoint })),
    );

const hostOf = ({ ip, endpoint }: Host): string => endpoint.hostname || ip.replaceAll('.', '-');

/** A name without any address does not exist, whichever record type is queried. */
function answer(type: number, addresses: readonly DnsRecord[]): Reply {
  if (!addresses.length) return nothing(replyCodes.noName);
  if (type !== recordTypes.A && type !== recordTypes.ANY) return nothing(replyCodes.ok);
  return { code: replyCodes.ok, own: true, answers: addresses.slice(0, recordsMax) };
}

/** A negative answer, with the SOA record that limits how long it may be cached. */
const nothing = (code: Reply['code']): Reply => ({
  code,
  own: true,
  authorities: [{ type: 'SOA', name: zone, ttl, server: ['ns', 'dns', ...zone] }],
});
