/**
 * Service types: which fields each type of service has, and what happens to them when the type changes.
 *
 * `type` decides which other fields are valid. A client that only changes the type sends back fields that the server
 * had filled in. So a field is cleared when the new type does not have it and the client left it unchanged; one that
 * the client changed is kept, for validation to refuse. Kubernetes does the same.
 */
import type { Service, ServiceSpec } from '../../generated/types.ts';

export const noClusterIP = 'None';

/** All types but ExternalName have a cluster IP. */
export const hasClusterIP = (spec: ServiceSpec): boolean => spec.type !== 'ExternalName';

export const isHeadless = (spec: ServiceSpec): boolean =>
  spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === noClusterIP;

export const hasNodePorts = (spec: ServiceSpec): boolean =>
  spec.type === 'NodePort' || spec.type === 'LoadBalancer';

/** Whether ports without a node port get one. */
export const wantsNodePorts = (spec: ServiceSpec): boolean =>
  spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);

/** Balancers with externalTrafficPolicy Local check the health of each node at this port. */
export const hasHealthCheckPort = (spec: ServiceSpec): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

export const isExternallyAccessible = (spec: ServiceSpec): boolean =>
  hasNodePorts(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0);

export const sameList = (a: readonly string[] | undefined, b: readonly string[] | undefined): boolean =>
  (a?.length ?? 0) === (b?.length ?? 0) && (a ?? []).every((item, i) => item === b![i]);

/** Clears fields that the new type does not have; see above. */
export function dropUnusedFields(service: Service, old: Service): void {
  const spec = (service.spec ??= {});
  const before = old.spec ?? {};
  if (hasClusterIP(before) && !hasClusterIP(spec)) dropAddresses(spec, before);
  if (hasNodePorts(before) && !hasNodePorts(spec)) dropNodePorts(spec, before);
  if (hasHealthCheckPort(before) && !hasHealthCheckPort(spec))
    dropIfSame(spec, before, 'healthCheckNodePort');
  if (before.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    dropIfSame(spec, before, 'allocateLoadBalancerNodePorts');
    dropIfSame(spec, before, 'loadBalancerClass');
  }
  if (isExternallyAccessible(before) && !isExternallyAccessible(spec))
    dropIfSame(spec, before, 'externalTrafficPolicy');
  dropInternalPolicy(spec);
  // The balancer's status is cleared at once, although its controller removes the balancer later.
  if (spec.type !== 'LoadBalancer' && service.status) service.status.loadBalancer = {};
}

/** ExternalName services have no internal traffic policy. */
export function dropInternalPolicy(spec: ServiceSpec): void {
  if (spec.type === 'ExternalName') delete spec.internalTrafficPolicy;
}

function dropAddresses(spec: ServiceSpec, before: ServiceSpec): void {
  if (spec.clusterIP === before.clusterIP && sameList(spec.clusterIPs, before.clusterIPs)) {
    delete spec.clusterIP;
    delete spec.clusterIPs;
  }
  if (sameList(spec.ipFamilies, before.ipFamilies)) delete spec.ipFamilies;
  dropIfSame(spec, before, 'ipFamilyPolicy');
}

/** Node ports may change with the type, as long as the client sets no new one. */
function dropNodePorts(spec: ServiceSpec, before: ServiceSpec): void {
  const known = new Set((before.ports ?? []).map((port) => port.nodePort));
  const ports = spec.ports ?? [];
  if (ports.some((port) => port.nodePort && !known.has(port.nodePort))) return;
  for (const port of ports) delete port.nodePort;
}

function dropIfSame(spec: ServiceSpec, before: ServiceSpec, name: keyof ServiceSpec): void {
  if (spec[name] === before[name]) delete spec[name];
}
