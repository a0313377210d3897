/** Quota usage: what an object uses, and which quotas apply to it. */

import type {
  PersistentVolumeClaim,
  Pod,
  PodAffinityTerm,
  PodSpec,
  ResourceQuota,
  ScopedResourceSelectorRequirement,
  Service,
} from '../../generated/types.ts';
import type { Kind, ResourceId } from '../../kind/kind.ts';
import type { ApiObject } from '../../text/object.ts';
import type { ResourceList } from '../../values/resource-list.ts';
import { timeToMs } from '../../values/time.ts';
import { isFinished } from '../pod/pod-facts.ts';
import { podLimits, podRequests, qosClass } from '../pod/pod-resources.ts';

/** Kinds that a quota can name without `count/`. */
const plainCounts = new Set<ResourceId>([
  'core/replicationcontrollers',
  'core/secrets',
  'core/configmaps',
  'core/resourcequotas',
]);

/** Kinds of which objects use different amounts; of all others each counts as one. */
const measuredKinds = new Set<ResourceId>(['core/pods', 'core/services', 'core/persistentvolumeclaims']);

/** Whether quotas need not read the objects of a kind. */
export const isOnlyCounted = ({ id }: Kind): boolean => !measuredKinds.has(id);

/** What quotas have to know of an object. */
export interface QuotaFacts {
  /** Its usage for as long as it is there. */
  readonly counted: ResourceList;
  /** Its usage until it has ended. */
  readonly usage: ResourceList;
  readonly endMs: number;
  /** Undefined for objects other than pods, which are in no scope. */
  readonly scopes: PodScopes | undefined;
}

interface PodScopes {
  readonly isTerminating: boolean;
  readonly isBestEffort: boolean;
  readonly hasCrossNamespaceAffinity: boolean;
  readonly priorityClass: string;
}

export const usageAt = ({ counted, usage, endMs }: QuotaFacts, nowMs: number): ResourceList =>
  nowMs > endMs ? counted : { ...counted, ...usage };

/** The usage of one object of a kind whose objects are only counted. */
export function countedUsage(kind: Kind): ResourceList {
  const counted = { [`count/${kind.group ? `${kind.resource}.${kind.group}` : kind.resource}`]: '1' };
  return plainCounts.has(kind.id) ? { ...counted, [kind.resource]: '1' } : counted;
}

export function quotaFacts(kind: Kind, object: ApiObject): QuotaFacts {
  const lasting = { counted: countedUsage(kind), endMs: Number.POSITIVE_INFINITY, scopes: undefined };
  switch (kind.id) {
    case 'core/pods':
      return {
        ...lasting,
        usage: podUsage(object as Pod),
        endMs: endOf(object as Pod),
        scopes: scopesOf((object as Pod).spec),
      };
    case 'core/services':
      return { ...lasting, usage: serviceUsage(object as Service) };
    case 'core/persistentvolumeclaims':
      return { ...lasting, usage: claimUsage(object as PersistentVolumeClaim) };
    default:
      return { ...lasting, usage: {} };
  }
}

function podUsage(pod: Pod): ResourceList {
  const usage: ResourceList = { pods: '1' };
  for (const [name, value] of Object.entries(podRequests(pod.spec ?? {}))) {
    // Standard resources count under both names, others only as requests.
    if (!name.includes('/')) usage[name] = value;
    usage[`requests.${name}`] = value;
  }
  for (const [name, value] of Object.entries(podLimits(pod.spec ?? {})))
    if (['cpu', 'memory', 'ephemeral-storage'].includes(name)) usage[`limits.${name}`] = value;
  return usage;
}

/** Finished pods use nothing; neither do pods whose deletion is overdue by a whole grace period. */
function endOf({ metadata, status }: Pod): number {
  if (isFinished(status?.phase)) return Number.NEGATIVE_INFINITY;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  return deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined
    ? Number.POSITIVE_INFINITY
    : timeToMs(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

const scopesOf = (spec: PodSpec = {}): PodScopes => ({
  isTerminating: spec.activeDeadlineSeconds !== undefined,
  isBestEffort: qosClass(spec) === 'BestEffort',
  hasCrossNamespaceAffinity: affinityTerms(spec).some(
    (term) => Boolean(term.namespaces?.length) || term.namespaceSelector !== undefined,
  ),
  priorityClass: spec.priorityClassName ?? '',
});

function serviceUsage({ spec = {} }: Service): ResourceList {
  const ports = spec.ports ?? [];
  const balanced = spec.type === 'LoadBalancer';
  const nodePorts =
    balanced && spec.allocateLoadBalancerNodePorts === false
      ? ports.filter((port) => port.nodePort).length
      : balanced || spec.type === 'NodePort'
        ? ports.length
        : 0;
  return {
    services: '1',
    'services.nodeports': String(nodePorts),
    'services.loadbalancers': balanced ? '1' : '0',
  };
}

function claimUsage({ spec = {} }: PersistentVolumeClaim): ResourceList {
  const usage: ResourceList = { persistentvolumeclaims: '1' };
  const storage = spec.resources?.requests?.storage;
  if (storage !== undefined) usage['requests.storage'] = storage;
  if (spec.storageClassName) {
    const prefix = `${spec.storageClassName}.storageclass.storage.k8s.io`;
    usage[`${prefix}/persistentvolumeclaims`] = '1';
    if (storage !== undefined) usage[`${prefix}/requests.storage`] = storage;
  }
  return usage;
}

/** Whether a quota applies to an object; one with scopes applies only to pods in them. */
export function quotaCovers({ spec = {} }: ResourceQuota, { scopes }: Pick<QuotaFacts, 'scopes'>): boolean {
  const requirements: ScopedResourceSelectorRequirement[] = [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
  if (requirements.length === 0) return true;
  return scopes !== undefined && requirements.every((requirement) => podIn(requirement, scopes));
}

function podIn(
  { scopeName, operator, values }: ScopedResourceSelectorRequirement,
  scopes: PodScopes,
): boolean {
  switch (scopeName) {
    case 'Terminating':
      return scopes.isTerminating;
    case 'NotTerminating':
      return !scopes.isTerminating;
    case 'BestEffort':
      return scopes.isBestEffort;
    case 'NotBestEffort':
      return !scopes.isBestEffort;
    case 'CrossNamespacePodAffinity':
      return scopes.hasCrossNamespaceAffinity;
    case 'PriorityClass':
      return matches(scopes.priorityClass, operator ?? 'Exists', values ?? []);
    default:
      return false;
  }
}

function matches(value: string, operator: string, values: readonly string[]): boolean {
  if (operator === 'In') return values.includes(value);
  if (operator === 'NotIn') return !values.includes(value);
  return operator === 'DoesNotExist' ? value === '' : value !== '';
}

function affinityTerms({ affinity }: PodSpec): PodAffinityTerm[] {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap((side) => [
    ...(side?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(side?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      (weighted) => weighted.podAffinityTerm ?? {},
    ),
  ]);
}

/** Resources for which every container needs a value once a quota limits them. */
const perContainer = /^((requests\.|limits\.)?(cpu|memory|ephemeral-storage))$/;

/** The containers without a value: `requests.cpu for: c,d`, sorted. */
export function unspecified(pod: Pod, limited: readonly string[]): string[] {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  return limited
    .filter((name) => perContainer.test(name))
    .sort()
    .flatMap((name) => {
      const [list, resource] = name.startsWith('limits.')
        ? (['limits', name.slice('limits.'.length)] as const)
        : (['requests', name.replace(/^requests\./, '')] as const);
      const missing = containers
        .filter(({ resources }) => resources?.[list]?.[resource] === undefined)
        .map((container) => container.name);
      return missing.length ? [`${name} for: ${missing.sort().join(',')}`] : [];
    });
}
