/** The ports of a service: where to listen, and the endpoints behind them. Pure: from objects to a plan. */
import { parseIP } from '../../api/addresses.ts';
import type { EndpointAddress, Endpoints, Service, ServicePort } from '../../api/generated/types.ts';
import { isAllowedTarget } from '../../streams/targetaddress.ts';

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
}

export interface NodeIdentity {
  readonly nodeName: string;
  readonly address: string;
}

const affinitySecondsDefault = 10_800;
/** Endpoints used per service port; the API accepts more than are useful. */
const targetsMax = 1_000;

/** The entries of a service; empty for services without a cluster IP. */
export function serviceEntries(
  service: Service,
  endpoints: Endpoints | undefined,
  node: NodeIdentity,
): ServiceEntry[] {
  const { namespace, name } = service.metadata;
  const { type, clusterIP = '', externalIPs = [], ports = [] } = service.spec ?? {};
  // Headless and ExternalName services have no address.
  if (type === 'ExternalName' || parseIP(clusterIP) === undefined) return [];
  return ports.flatMap((port) => {
    const { protocol = 'TCP', port: number = 0, nodePort = 0 } = port;
    if (protocol !== 'TCP' && protocol !== 'UDP') return [];
    const portKey = `${namespace}/${name}:${port.name ?? ''}/${protocol}`;
    const all = targetsOf(service, port, endpoints, node);
    const entry = (entrance: Entrance, ip: string | undefined, at: number, local: boolean): ServiceEntry => ({
      key: `${portKey} ${entrance} ${ip ?? '*'}:${at}`,
      ...{ entrance, protocol, ip, port: at },
      subject: `service ${portKey}`,
      affinityKey: portKey,
      affinityMs: affinityOf(service),
      targets: (local ? all.filter((one) => one.local) : all).slice(0, targetsMax),
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

function affinityOf({ spec }: Service): number | undefined {
  if (spec?.sessionAffinity !== 'ClientIP') return undefined;
  return (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? affinitySecondsDefault) * 1_000;
}

interface LocatedTarget extends ServiceTarget {
  readonly local: boolean;
}

function targetsOf(
  service: Service,
  port: ServicePort,
  endpoints: Endpoints | undefined,
  node: NodeIdentity,
): LocatedTarget[] {
  const targets = new Map<string, LocatedTarget>();
  for (const { addresses = [], ports = [] } of endpoints?.subsets ?? [])
    for (const { name = '', port: number = 0, protocol = 'TCP' } of ports) {
      if (name !== (port.name ?? '') || protocol !== (port.protocol ?? 'TCP')) continue;
      for (const address of addresses)
        if (mayAnswer(service, address, node))
          targets.set(`${address.ip}:${number}`, target(address, number, node));
    }
  return [...targets.values()];
}

function target(
  { ip = '', nodeName, targetRef }: EndpointAddress,
  port: number,
  node: NodeIdentity,
): LocatedTarget {
  const local = nodeName === node.nodeName;
  return { ip, port, local, shared: local && ip === node.address && targetRef?.kind === 'Pod' };
}

/**
 * Rejects endpoint addresses such as loopback and link-local: users write Endpoints objects, and must not be
 * able to direct the agent to what only this machine may reach. The API server's own service is exempt: the
 * server writes its endpoints itself, and may listen on loopback.
 */
function mayAnswer({ metadata }: Service, { ip = '' }: EndpointAddress, node: NodeIdentity): boolean {
  const isApi = metadata.namespace === 'default' && metadata.name === 'kubernetes';
  return isApi ? parseIP(ip) !== undefined : ip === node.address || isAllowedTarget(ip);
}
