/**
 * Proxy targets: from `[scheme:]name[:port]` to a pod, service or node, and from there to an address. Pods and
 * endpoints are written by users, so each address is checked before it is dialled; pods that run as processes of a
 * node agent are reached through the agent, which dials its own pods only.
 */
import { badRequest, notFound, type StatusError, unavailable } from '../../api/errors/errors.ts';
import type { Node, Pod, Service } from '../../api/generated/types.ts';
import { endpointsOfPort, reachableEndpoints } from '../../api/rules/service/slice-endpoints.ts';
import { ServiceSlices } from '../../registry/system/service-slices.ts';
import { read } from '../../registry/verbs/list.ts';
import { hostPort } from '../../streams/dial/net-error.ts';
import { addressNotAllowed, allowedAddresses, isAllowedTarget } from '../../streams/dial/target-address.ts';
import type { ProxyTarget } from '../../streams/proxy/reverse-proxy.ts';
import type { ProxiedInfo, ProxyInfo } from '../http/request-info.ts';
import { type Connecting, dialTarget } from './connecting.ts';
import { locateNode } from './node-location.ts';
import type { PodPorts } from './pod-ports.ts';

/** Declared by nodes whose pods have no addresses of their own. */
const throughAgentFeature = 'PodPortsThroughKubelet';
const portMax = 65_535;

export type Reached = Pick<ProxyTarget, 'connect' | 'host' | 'secure'>;

interface Asked {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  /** Port name or number; '' when none is given. */
  readonly port: string;
  readonly secure: boolean;
  readonly form: ProxyInfo['form'];
  invalid(): StatusError;
}

export class ProxyTargets {
  readonly #slices: ServiceSlices;

  constructor(
    private readonly connecting: Connecting,
    private readonly ports: PodPorts,
  ) {
    this.#slices = new ServiceSlices(connecting.registry.view);
  }

  async choose({ resource, namespace = '', name: id = '', proxy }: ProxiedInfo): Promise<Reached> {
    const what = resource.slice(0, -1);
    const invalid = () => badRequest(`invalid ${what} request ${JSON.stringify(id)}`);
    const asked = { id, namespace, form: proxy.form, invalid, ...parseId(id, invalid) };
    if (resource === 'pods') return this.#pod(asked);
    return resource === 'services' ? this.#service(asked) : this.#node(asked);
  }

  async #pod(asked: Asked): Promise<Reached> {
    const pod = (await this.#read('pods', asked.namespace, asked.name)) as Pod;
    const port = asked.port
      ? portNumber(asked.port, asked.invalid)
      : (declaredPort(pod) ?? (asked.secure ? 443 : 80));
    const [ip] = addressesOf(pod);
    // Retry later: the pod has no address yet. In the new form an unscheduled pod is a bad address, as in Kubernetes.
    if (!ip && (pod.spec?.nodeName || asked.form === 'prefix'))
      throw unavailable(`no address available for pod ${JSON.stringify(asked.name)}`);
    return this.#reach(pod, ip, port, asked.secure);
  }

  async #service(asked: Asked): Promise<Reached> {
    const { name, namespace, secure } = asked;
    const service = (await this.#read('services', namespace, name)) as Service;
    const portName = servicePortName(service, asked.port);
    const slices = this.#slices.contents(namespace, name);
    if (!slices) throw notFound(this.#kind('services'), name);
    if (slices.every(({ endpoints }) => !endpoints?.length)) throw noEndpoints(name);
    const reachable = reachableEndpoints(endpointsOfPort(slices, portName));
    for (const { ip, port, endpoint } of this.#fromAnywhere(reachable)) {
      const { targetRef } = endpoint;
      // Otherwise a user who may write slices could make the server connect to any address.
      if (targetRef?.namespace !== namespace || (targetRef.kind ?? 'Pod') !== 'Pod') continue;
      const pod = this.#find('pods', namespace, targetRef.name ?? '') as Pod | undefined;
      if (pod && addressesOf(pod).includes(ip)) return this.#reach(pod, ip, port, secure);
    }
    throw noEndpoints(asked.id);
  }

  async #node(asked: Asked): Promise<Reached> {
    const { nodes, addressTypes } = this.connecting;
    const node = (await this.#read('nodes', '', asked.name)) as Node;
    const port = asked.port ? portNumber(asked.port, asked.invalid) : undefined;
    const location = locateNode(node, addressTypes);
    if (port === undefined || port === location.port)
      return { connect: () => nodes.connect(location), host: hostPort(location.host, location.port) };
    return {
      connect: async () => dialTarget(this.connecting, await allowedAddresses(location.host), port),
      host: hostPort(location.host, port),
      secure: asked.secure,
    };
  }

  #reach(pod: Pod, ip: string | undefined, port: number, secure: boolean): Reached {
    if (!ip) throw addressNotAllowed();
    const host = hostPort(ip, port);
    const node = this.#find('nodes', '', pod.spec?.nodeName ?? '') as Node | undefined;
    if (node?.status?.declaredFeatures?.includes(throughAgentFeature)) {
      const location = locateNode(node, this.connecting.addressTypes);
      return { connect: () => this.ports.dial(pod, location, port), host, secure };
    }
    if (!isAllowedTarget(ip)) throw addressNotAllowed();
    return { connect: () => dialTarget(this.connecting, [ip], port), host, secure };
  }

  /** All elements once, from a random one on. */
  *#fromAnywhere<T>(list: readonly T[]): Generator<T> {
    if (list.length === 0) return;
    const start = this.connecting.registry.sources.randomBelow(list.length);
    for (let i = 0; i < list.length; i++) yield list[(start + i) % list.length]!;
  }

  #kind(resource: string) {
    return this.connecting.registry.kinds.resource('v1', resource)!;
  }

  async #read(resource: string, namespace: string, name: string): Promise<unknown> {
    const place = { kind: this.#kind(resource), namespace, name };
    const entry = await read(this.connecting.registry, place, undefined);
    return entry.object();
  }

  #find(resource: string, namespace: string, name: string): unknown {
    return this.connecting.registry.view.collection(this.#kind(resource)).get(namespace, name)?.object();
  }
}

const noEndpoints = (service: string): StatusError =>
  unavailable(`no endpoints available for service ${JSON.stringify(service)}`);

/** `name`, `name:port` or `scheme:name:port`, of which scheme and port may be empty. */
function parseId(id: string, invalid: () => StatusError): Pick<Asked, 'name' | 'port' | 'secure'> {
  const parts = id.split(':');
  if (parts.length > 3) throw invalid();
  const [scheme, name, port] = parts.length === 3 ? parts : ['', ...parts];
  if (!name || !['', 'http', 'https'].includes(scheme!)) throw invalid();
  return { name, port: port ?? '', secure: scheme === 'https' };
}

function portNumber(text: string, invalid: () => StatusError): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > portMax) throw invalid();
  return port;
}

/** The first port of the first container that has one. */
const declaredPort = ({ spec }: Pod): number | undefined =>
  spec?.containers?.flatMap(({ ports = [] }) => ports)[0]?.containerPort;

/** Slices have the ports of a service by name only. */
function servicePortName({ metadata, spec }: Service, port: string): string {
  if (!/^[+-]?\d{1,18}$/.test(port)) return port;
  const found = spec?.ports?.find((candidate) => candidate.port === Number(port));
  if (!found)
    throw unavailable(
      `no service port ${BigInt(port.replace(/^\+/, ''))} found for service ${JSON.stringify(metadata.name)}`,
    );
  return found.name ?? '';
}

const addressesOf = ({ status }: Pod): string[] =>
  [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)].filter(
    (ip) => ip !== undefined && ip !== '',
  ) as string[];
