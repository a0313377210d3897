/** Service traffic: rules for source ranges, external IPs, traffic policies and session affinity. */

import {
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type { ServiceSpec } from '../../generated/types.ts';
import { isCIDR, isIP } from '../../values/addresses.ts';
import { isQualifiedName, isSubdomain1123 } from '../../values/names.ts';
import { endpointAddressErrors } from './endpoint-address.ts';
import { hasHealthCheckPort, isExternallyAccessible } from './service-type.ts';

/** Three hours. */
const stickySecondsDefault = 10_800;
/** One day. */
const stickySecondsMax = 86_400;

const affinities: readonly string[] = ['ClientIP', 'None'];
const policies: readonly string[] = ['Cluster', 'Local'];
const distributions: readonly string[] = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
const balancerOnly = "may only be used when `type` is 'LoadBalancer'";

export function defaultTraffic(spec: ServiceSpec): void {
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (
    spec.sessionAffinity === 'ClientIP' &&
    spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined
  )
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: stickySecondsDefault } };
  if (isExternallyAccessible(spec)) spec.externalTrafficPolicy ||= 'Cluster';
  if (spec.type === 'ClusterIP' || spec.type === 'NodePort' || spec.type === 'LoadBalancer')
    spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
}

export function validateAffinity({ sessionAffinity = '', sessionAffinityConfig }: ServiceSpec): FieldError[] {
  if (!affinities.includes(sessionAffinity))
    return [notSupported('spec.sessionAffinity', sessionAffinity, affinities)];
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (seconds === undefined || (seconds > 0 && seconds <= stickySecondsMax)) return [];
  return [
    invalid(
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
      seconds,
      `must be greater than 0 and less than ${stickySecondsMax}`,
    ),
  ];
}

/** An external host name; a final dot marks it as fully qualified. */
export function validateExternalName({ externalName = '' }: ServiceSpec): FieldError[] {
  const name = externalName.endsWith('.') ? externalName.slice(0, -1) : externalName;
  if (name === '') return [required('spec.externalName')];
  return isSubdomain1123(name).map((problem) => invalid('spec.externalName', name, problem));
}

/** A valid IP must also be reachable: not loopback, link-local or multicast. */
export function validateExternalIPs({ externalIPs = [] }: ServiceSpec): FieldError[] {
  return externalIPs.flatMap((ip, i) => {
    const at = index('spec.externalIPs', i);
    const problems = isIP(ip);
    return problems.length
      ? problems.map((problem) => invalid(at, ip, problem))
      : endpointAddressErrors(ip, at);
  });
}

export function validateBalancer(spec: ServiceSpec): FieldError[] {
  const { loadBalancerSourceRanges: ranges = [], loadBalancerClass } = spec;
  const balanced = spec.type === 'LoadBalancer';
  const errors: FieldError[] = [];
  // The capital letter in this path is Kubernetes' own.
  const path = 'spec.LoadBalancerSourceRanges';
  if (ranges.length && !balanced) errors.push(forbidden(path, balancerOnly));
  else
    ranges.forEach((range, i) => {
      // Blanks around a range are allowed, as they were in the former annotation.
      const text = range.trim();
      for (const problem of isCIDR(text)) errors.push(invalid(index(path, i), text, problem));
    });
  if (!balanced && spec.allocateLoadBalancerNodePorts !== undefined)
    errors.push(forbidden('spec.allocateLoadBalancerNodePorts', balancerOnly));
  if (loadBalancerClass === undefined) return errors;
  if (!balanced) errors.push(forbidden('spec.loadBalancerClass', balancerOnly));
  else
    for (const problem of isQualifiedName(loadBalancerClass))
      errors.push(invalid('spec.loadBalancerClass', loadBalancerClass, problem));
  return errors;
}

export function validatePolicies(spec: ServiceSpec): FieldError[] {
  const { externalTrafficPolicy, healthCheckNodePort, internalTrafficPolicy, trafficDistribution } = spec;
  const errors: FieldError[] = [];
  if (externalTrafficPolicy) {
    const at = 'spec.externalTrafficPolicy';
    if (!isExternallyAccessible(spec))
      errors.push(invalid(at, externalTrafficPolicy, 'may only be set for externally-accessible services'));
    else if (!policies.includes(externalTrafficPolicy))
      errors.push(notSupported(at, externalTrafficPolicy, policies));
  }
  if (healthCheckNodePort && !hasHealthCheckPort(spec))
    errors.push(
      invalid(
        'spec.healthCheckNodePort',
        healthCheckNodePort,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ),
    );
  if (internalTrafficPolicy !== undefined && !policies.includes(internalTrafficPolicy))
    errors.push(notSupported('spec.internalTrafficPolicy', internalTrafficPolicy, policies));
  if (trafficDistribution !== undefined && !distributions.includes(trafficDistribution))
    errors.push(notSupported('spec.trafficDistribution', trafficDistribution, distributions));
  return errors;
}

/** The load balancer class and the health check port are immutable. */
export function validateBalancerUpdate(spec: ServiceSpec, before: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (spec.type === 'LoadBalancer' && before.type === 'LoadBalancer') {
    if (spec.loadBalancerClass !== before.loadBalancerClass)
      errors.push(
        invalid('spec.loadBalancerClass', spec.loadBalancerClass ?? null, 'may not change once set'),
      );
  }
  if (
    hasHealthCheckPort(spec) &&
    hasHealthCheckPort(before) &&
    spec.healthCheckNodePort !== before.healthCheckNodePort
  )
    errors.push(forbidden('spec.healthCheckNodePort', 'field is immutable'));
  return errors;
}
