/**
 * The endpoints of a service, read from all its EndpointSlices together, and which of them a connection may go to.
 * Service proxies, name servers, ingress and the API's own proxies share these rules of Kubernetes.
 */
import type { Endpoint, EndpointPortV1, EndpointSlice } from '../../generated/types.ts';

/** Says which service a slice belongs to. */
export const serviceNameLabel = 'kubernetes.io/service-name';
/** Says which controller maintains a slice. */
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';

export type AddressFamily = 'IPv4' | 'IPv6';

/** Endpoints with the same ports, which may share slices. */
export interface EndpointGroup {
  readonly ports: readonly EndpointPortV1[];
  readonly endpoints: readonly Endpoint[];
}

/** Identifies a list of ports; their order does not count. */
export const portsKey = (ports: readonly EndpointPortV1[]): string =>
  ports
    .map(({ name = '', protocol = 'TCP', port, appProtocol }) =>
      JSON.stringify([name, protocol, port ?? null, appProtocol ?? null]),
    )
    .sort()
    .join();

/** A port of an endpoint. */
export interface ServiceEndpoint {
  /** Its first address: only that one is used. */
  readonly ip: string;
  readonly port: number;
  readonly endpoint: Endpoint;
}

/** Where a connection begins. */
export interface NodePlace {
  readonly nodeName: string;
  /** The zone of the node, read only where endpoints have hints; undefined when it has none. */
  readonly zone?: string | undefined;
}

/** A condition that is not set counts as true. */
export const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready !== false;

const isTerminating = ({ conditions }: Endpoint): boolean => conditions?.terminating === true;

/** Still answers although it is being deleted: the last resort when no endpoint is ready. */
const isFallback = (endpoint: Endpoint): boolean =>
  isTerminating(endpoint) && endpoint.conditions?.serving !== false;

/** Which of several endpoints with one address stands for it: the greatest. */
const preference = (endpoint: Endpoint): number => {
  if (isReady(endpoint)) return isTerminating(endpoint) ? 2 : 3;
  return isFallback(endpoint) ? 1 : 0;
};

/** The endpoints that have a service port, which slices have by name and protocol. Each address and port once. */
export function endpointsOfPort(
  slices: Iterable<EndpointSlice>,
  portName: string,
  protocol = 'TCP',
): ServiceEndpoint[] {
  const found = new Map<string, ServiceEndpoint>();
  for (const { addressType, endpoints, ports } of slices) {
    if (addressType === 'FQDN') continue;
    // Lists without entries are null in slices.
    for (const { name = '', protocol: spoken = 'TCP', port } of ports ?? []) {
      if (name !== portName || spoken !== protocol || port === undefined) continue;
      for (const endpoint of endpoints ?? []) {
        const ip = endpoint.addresses?.[0];
        if (!ip) continue;
        const key = `${ip} ${port}`;
        const other = found.get(key);
        // An address may be in two slices while it moves from one to the other, and pods that share the network of a
        // machine share theirs: the one that answers counts.
        if (!other || preference(other.endpoint) < preference(endpoint))
          found.set(key, { ip, port, endpoint });
      }
    }
  }
  return [...found.values()];
}

/** The endpoints for connections from a place, by the cluster-wide traffic policy. */
export function reachableEndpoints(
  endpoints: readonly ServiceEndpoint[],
  place?: NodePlace,
): readonly ServiceEndpoint[] {
  const ready = endpoints.filter(({ endpoint }) => isReady(endpoint));
  if (ready.length === 0) return endpoints.filter(({ endpoint }) => isFallback(endpoint));
  if (!place) return ready;
  return (
    hinted(
      ready,
      () => place.nodeName,
      ({ hints }) => hints?.forNodes,
    ) ??
    hinted(
      ready,
      () => place.zone,
      ({ hints }) => hints?.forZones,
    ) ??
    ready
  );
}

/** The endpoints for connections from a node, when a service wants them to stay on it. */
export function localEndpoints(
  endpoints: readonly ServiceEndpoint[],
  nodeName: string,
): readonly ServiceEndpoint[] {
  const own = endpoints.filter(({ endpoint }) => endpoint.nodeName === nodeName);
  return reachableEndpoints(own);
}

/**
 * The endpoints with a hint for a name; undefined when hints do not apply: every endpoint must have some, and one must
 * match.
 */
function hinted(
  ready: readonly ServiceEndpoint[],
  nameOf: () => string | undefined,
  of: (endpoint: Endpoint) => readonly { name?: string }[] | undefined,
): readonly ServiceEndpoint[] | undefined {
  if (!ready.every(({ endpoint }) => of(endpoint)?.length)) return undefined;
  const name = nameOf();
  const meant = ready.filter(({ endpoint }) => of(endpoint)!.some((hint) => hint.name === name));
  return meant.length ? meant : undefined;
}
