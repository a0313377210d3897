/**
 * Pods that have failed and were replaced. An evicted pod stays until it is deleted or garbage collection takes it, as
 * with Kubernetes, although its workload has long made another: it is then no problem of now, and no longer counts.
 */
import type { Kind } from '../../api/kind/kind.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import type { Any } from './finding.ts';
import type { Found, ObjectName } from './problem.ts';

/** Workloads that make another pod for one that has failed. */
const workloads: Readonly<Record<string, readonly [version: string, resource: string]>> = {
  Deployment: ['apps/v1', 'deployments'],
  ReplicaSet: ['apps/v1', 'replicasets'],
  StatefulSet: ['apps/v1', 'statefulsets'],
  DaemonSet: ['apps/v1', 'daemonsets'],
  ReplicationController: ['v1', 'replicationcontrollers'],
};

export function workloadKindOf(owner: ObjectName, kinds: KindTable): Kind | undefined {
  const known = workloads[owner.kind];
  return known?.[0] === owner.apiVersion ? kinds.resource(...known) : undefined;
}

/** Whether all pods that a workload wants are ready, as its controller has seen them since the last change of its spec. */
export function isWhole({ metadata, spec = {}, status = {} }: Any): boolean {
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return false;
  const { readyReplicas = 0, numberReady = readyReplicas, desiredNumberScheduled } = status;
  return numberReady >= (desiredNumberScheduled ?? spec.replicas ?? 1);
}

export const asPast = (found: Found): Found => ({
  ...found,
  finding: { ...found.finding, severity: 'past' },
});
