/** Warnings about services: fields that have no effect, addresses that are not written as they should be. */
import { index } from '../../errors/field-error.ts';
import type { Service } from '../../generated/types.ts';
import { addressWarning, rangeWarning } from '../../values/addresses.ts';

const topologyHints = 'service.kubernetes.io/topology-aware-hints';

type Warnings = Generator<string, void, undefined>;

export function* serviceWarnings({ metadata, spec = {} }: Service): Warnings {
  const { type, clusterIP, clusterIPs = [], externalIPs = [], loadBalancerIP, externalName } = spec;
  const isHeadless = type === 'ClusterIP' && clusterIP === 'None';
  if (metadata.annotations && Object.hasOwn(metadata.annotations, topologyHints))
    yield `annotation ${topologyHints} is deprecated, please use service.kubernetes.io/topology-mode instead`;
  if (clusterIP && clusterIP !== 'None') yield* listed('spec.clusterIPs', clusterIPs, addressWarning);
  if (isHeadless) {
    if (loadBalancerIP) yield 'spec.loadBalancerIP is ignored for headless services';
    if (externalIPs.length) yield 'spec.externalIPs is ignored for headless services';
    if (spec.sessionAffinity !== 'None') yield 'spec.SessionAffinity is ignored for headless services';
  }
  yield* listed('spec.externalIPs', externalIPs, addressWarning);
  if (externalIPs.length && !isHeadless && type !== 'ExternalName')
    yield 'spec.externalIPs is deprecated and may no longer be implemented in some clusters';
  const balancer = loadBalancerIP && addressWarning(loadBalancerIP);
  if (balancer) yield `spec.loadBalancerIP: ${balancer}`;
  yield* listed('spec.loadBalancerSourceRanges', spec.loadBalancerSourceRanges ?? [], rangeWarning);
  if (externalIPs.length && type === 'ExternalName')
    yield 'spec.externalIPs is ignored when spec.type is "ExternalName"';
  if (externalName && type !== 'ExternalName')
    yield 'spec.externalName is ignored when spec.type is not "ExternalName"';
  if (spec.trafficDistribution === 'PreferClose')
    yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"';
}

function* listed(
  path: string,
  values: readonly string[],
  look: (value: string) => string | undefined,
): Warnings {
  for (const [i, value] of values.entries()) {
    const warning = look(value);
    if (warning) yield `${index(path, i)}: ${warning}`;
  }
}
