/** The ports of a service: where to listen, and the endpoints behind them. Pure: from objects to a plan. */

import type { EndpointSlice, Service } from '../../api/generated/types.ts';
import {
  endpointsOfPort,
  localEndpoints,
  type NodePlace,
  reachableEndpoints,
  type ServiceEndpoint,
} from '../../api/rules/service/slice-endpoints.ts';
import { parseIP } from '../../api/values/addresses.ts';
import { composedKey } from '../../composed-key.ts';
import { isAllowedTarget } from '../../streams/dial/target-address.ts';

type Protocol = 'TCP' | 'UDP';

/** Where a service listens: at its cluster IP, at a node port, or at an external IP. */
type Entrance = 'cluster' | 'node' | 'external';

/** An endpoint. */
export interface ServiceTarget {
  readonly ip: string;
  readonly port: number;
  /** Whether it is a pod that shares the network of this node. */
  readonly shared: boolean;
}

/** One port of a service at one entrance. */
export interface ServiceEntry {
  /** Identifies the entry while its targets change. */
  readonly key: string;
  /** Names the service and port in messages. */
  readonly subject: string;
  /** The service, for events; absent for host ports of pods. */
  readonly service?: Service;
  readonly entrance: Entrance;
  readonly protocol: Protocol;
  /** Undefined for node ports: all addresses of the node. */
  readonly ip: string | undefined;
  readonly port: number;
  /** Entries of one service port share one affinity table. */
  readonly affinityKey: string;
  /** Timeout of client IP affinity; undefined without affinity. */
  readonly affinityMs: number | undefined;
  readonly targets: readonly ServiceTarget[];
  /** Whether it is a port of the service `kubernetes`, whose endpoints are API servers. */
  readonly isApi: boolean;
}

/** The node where connections arrive. */
export interface ProxyingNode extends NodePlace {
  readonly address: string;
}

/** Names the proxy that serves a service, if it is not the node's own. */
const proxyNameLabel = 'service.kubernetes.io/service-proxy-name';
const affinitySecondsDefault = 10_800;
/** Endpoints used per service port; the API accepts more than are useful. */
const targetsMax = 1_000;

/** The entries of a service; empty for services without a cluster IP. */
export function serviceEntries(
  service: Service,
  slices: readonly EndpointSlice[],
  node: ProxyingNode,
): ServiceEntry[] {
  const { namespace, name } = service.metadata;
  const { type, clusterIP = '', externalIPs = [], ports = [] } = service.spec ?? {};
  // Headless and ExternalName services have no address; another proxy serves those with the label.
  if (type === 'ExternalName' || parseIP(clusterIP) === undefined) return [];
  if (service.metadata.labels?.[proxyNameLabel] !== undefined) return [];
  const slicesOf = byPort(slices);
  return ports.flatMap((port) => {
    const { protocol = 'TCP', port: number = 0, nodePort = 0 } = port;
    if (protocol !== 'TCP' && protocol !== 'UDP') return [];
    const portKey = `${namespace}/${name}:${port.name ?? ''}/${protocol}`;
    const ownSlices = slicesOf.get(composedKey(port.name ?? '', protocol)) ?? [];
    const all = endpointsOfPort(ownSlices, port.name ?? '', protocol).filter(({ ip }) =>
      mayAnswer(service, ip, node),
    );
    const near = reachableEndpoints(all, node);
    const own = localEndpoints(all, node.nodeName);
    const entry = (entrance: Entrance, ip: string | undefined, at: number, local: boolean): ServiceEntry => ({
      key: `${portKey} ${entrance} ${ip ?? '*'}:${at}`,
      ...{ entrance, protocol, ip, port: at },
      subject: `service ${portKey}`,
      service,
      affinityKey: portKey,
      affinityMs: affinityOf(service),
      isApi: isApiService(service),
      targets: (local ? own : near).slice(0, targetsMax).map((one) => targetOf(one, node)),
    });
    const localInside = service.spec?.internalTrafficPolicy === 'Local';
    const localOutside = service.spec?.externalTrafficPolicy === 'Local';
    return [
      entry('cluster', clusterIP, number, localInside),
      ...externalIPs.map((ip) => entry('external', ip, number, localOutside)),
      ...(nodePort ? [entry('node', undefined, nodePort, localOutside)] : []),
    ];
  });
}

/** The slices that have a port, by its name and protocol: a service may have thousands of ports, and of slices. */
function byPort(slices: readonly EndpointSlice[]): Map<string, Set<EndpointSlice>> {
  const found = new Map<string, Set<EndpointSlice>>();
  for (const slice of slices)
    for (const { name = '', protocol = 'TCP' } of slice.ports ?? []) {
      const key = composedKey(name, protocol);
      const known = found.get(key);
      if (known) known.add(slice);
      else found.set(key, new Set([slice]));
    }
  return found;
}

function affinityOf({ spec }: Service): number | undefined {
  if (spec?.sessionAffinity !== 'ClientIP') return undefined;
  return (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? affinitySecondsDefault) * 1_000;
}

function targetOf(
  { ip, port, endpoint }: ServiceEndpoint,
  { nodeName, address }: ProxyingNode,
): ServiceTarget {
  const local = endpoint.nodeName === nodeName;
  return { ip, port, shared: local && ip === address && endpoint.targetRef?.kind === 'Pod' };
}

/**
 * Rejects endpoint addresses such as loopback and link-local: users write slices, and must not be
 * able to direct the agent to what only this machine may reach. The API server's own service is exempt: the
 * server writes its endpoints itself, and may listen on loopback.
 */
function mayAnswer(service: Service, ip: string, node: ProxyingNode): boolean {
  return isApiService(service) ? parseIP(ip) !== undefined : ip === node.address || isAllowedTarget(ip);
}

const isApiService = ({ metadata }: Service): boolean =>
  metadata.namespace === 'default' && metadata.name === 'kubernetes';
