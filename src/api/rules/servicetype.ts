/**
 * Service types: which fields a service of each type has, and what becomes of them when the type changes.
 *
 * `type` decides which of the other fields mean anything. Kubernetes never removes what a client asked for, but
 * a client that only changes the type sends back fields the server once filled in. So a field is wiped when the
 * new type has no use for it and the client left it as it was; one that was changed stays, for validation to refuse.
 */
import type { Service, ServiceSpec } from '../generated/types.ts';

export const noClusterIP = 'None';

/** Everything but a name for something outside has an address in the cluster. */
export const hasClusterIP = (spec: ServiceSpec): boolean => spec.type !== 'ExternalName';

export const isHeadless = (spec: ServiceSpec): boolean =>
  spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === noClusterIP;

export const hasNodePorts = (spec: ServiceSpec): boolean =>
  spec.type === 'NodePort' || spec.type === 'LoadBalancer';

/** Whether ports that ask for no node port get one. */
export const wantsNodePorts = (spec: ServiceSpec): boolean =>
  spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);

/** A balancer that must not send traffic to nodes without a pod asks each node at this port. */
export const hasHealthCheckPort = (spec: ServiceSpec): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

export const isExternallyAccessible = (spec: ServiceSpec): boolean =>
  hasNodePorts(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0);

export const sameList = (a: readonly string[] | undefined, b: readonly string[] | undefined): boolean =>
  (a?.length ?? 0) === (b?.length ?? 0) && (a ?? []).every((item, i) => item === b![i]);

/** Wipes what the new type has no use for; see above. */
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
  // The balancer is taken down later; nobody needs to see its address until then.
  if (spec.type !== 'LoadBalancer' && service.status) service.status.loadBalancer = {};
}

/** Traffic inside the cluster never goes through a service that is only a name. */
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

/** Ports may come and go with the type, as long as no node port is new. */
function dropNodePorts(spec: ServiceSpec, before: ServiceSpec): void {
  const known = new Set((before.ports ?? []).map((port) => port.nodePort));
  const ports = spec.ports ?? [];
  if (ports.some((port) => port.nodePort && !known.has(port.nodePort))) return;
  for (const port of ports) delete port.nodePort;
}

function dropIfSame(spec: ServiceSpec, before: ServiceSpec, name: keyof ServiceSpec): void {
  if (spec[name] === before[name]) delete spec[name];
}
