/** The kinds of the contract, as its own tables list them; not derived from the code under test. */
import { type Sample, samples } from './samples.ts';

export interface ContractKind {
  readonly kind: string;
  /** Path segment. */
  readonly segment: string;
  /** Path prefix of the group. */
  readonly prefix: string;
  readonly apiVersion: string;
  readonly namespaced: boolean;
  readonly hasStatus: boolean;
  readonly sample: Sample;
}

const core = { prefix: '/api/v1', apiVersion: 'v1' };
const extensions = { prefix: '/apis/extensions/v1beta1', apiVersion: 'extensions/v1beta1' };

function table(
  group: { prefix: string; apiVersion: string },
  namespaced: boolean,
  withStatus: readonly string[],
  rows: Record<string, string>,
): ContractKind[] {
  return Object.entries(rows).map(([kind, segment]) => ({
    ...group,
    kind,
    segment,
    namespaced,
    hasStatus: withStatus.includes(segment),
    sample: samples[kind]!,
  }));
}

export const namespacedKinds = table(core, true, ['persistentvolumeclaims', 'pods', 'resourcequotas'], {
  Endpoints: 'endpoints',
  Event: 'events',
  LimitRange: 'limitranges',
  PersistentVolumeClaim: 'persistentvolumeclaims',
  Pod: 'pods',
  PodTemplate: 'podtemplates',
  ReplicationController: 'replicationcontrollers',
  ResourceQuota: 'resourcequotas',
  Secret: 'secrets',
  Service: 'services',
  ServiceAccount: 'serviceaccounts',
});

export const clusterKinds = table(core, false, ['namespaces', 'nodes', 'persistentvolumes'], {
  Namespace: 'namespaces',
  Node: 'nodes',
  PersistentVolume: 'persistentvolumes',
});

export const extensionsKinds = table(extensions, true, ['horizontalpodautoscalers', 'ingresses', 'jobs'], {
  HorizontalPodAutoscaler: 'horizontalpodautoscalers',
  Ingress: 'ingresses',
  Job: 'jobs',
});

export const kindOf = (kind: string): ContractKind =>
  [...namespacedKinds, ...clusterKinds, ...extensionsKinds].find((one) => one.kind === kind)!;

/** Two namespaces per kind, so that a quota or limit range does not affect pods. */
export const homeOf = (kind: ContractKind): string => (kind.namespaced ? `home-${kind.segment}` : '');
export const awayOf = (kind: ContractKind): string => (kind.namespaced ? `away-${kind.segment}` : '');
