/** How far the rollout of a workload is: a deployment, a stateful set, a daemon set or a replica set. */
import type { ApiObject, Json } from './objects.ts';

export interface Rollout {
  /** `complete`: all pods are new and ready. `stuck`: the controller has given up, or cannot create pods. */
  readonly state: 'complete' | 'progressing' | 'paused' | 'stuck';
  readonly wanted: number;
  readonly ready: number;
  /** Pods of the newest template. */
  readonly updated: number;
  /** Why it is stuck, in the words of the controller. */
  readonly reason?: string;
}

/** `id` is the name of the kind, such as `deployments.apps`. */
export function rolloutOf(id: string, { spec, status, metadata }: ApiObject): Rollout {
  const isDaemon = id.startsWith('daemonsets');
  const wanted = (isDaemon ? status?.desiredNumberScheduled : (spec?.replicas ?? 1)) ?? 0;
  const ready = (isDaemon ? status?.numberReady : status?.readyReplicas) ?? 0;
  const updated = status?.[updatedField(id)] ?? 0;
  const counts = { wanted, ready, updated };
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const condition = (type: string): Json => status?.conditions?.find((each: Json) => each.type === type);
  const progressing = condition('Progressing');
  const failure = condition('ReplicaFailure');
  if (isSeen && ready >= wanted && (updated >= wanted || isOnDelete(spec)))
    return { state: 'complete', ...counts };
  if (isSeen && failure?.status === 'True') return { state: 'stuck', ...counts, reason: failure.message };
  if (isSeen && progressing?.status === 'False')
    return { state: 'stuck', ...counts, reason: progressing.message ?? progressing.reason };
  return { state: spec?.paused ? 'paused' : 'progressing', ...counts };
}

/** The pods of a replica set are all of one template. */
function updatedField(id: string): string {
  if (id.startsWith('replicasets')) return 'replicas';
  return id.startsWith('daemonsets') ? 'updatedNumberScheduled' : 'updatedReplicas';
}

/** Such workloads replace a pod only when it is deleted, so old pods are as they should be. */
const isOnDelete = (spec: Json): boolean => spec?.updateStrategy?.type === 'OnDelete';

/** Kinds that keep pods alike, by a selector. */
export const isWorkload = (id: string): boolean =>
  ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'replicasets.apps'].includes(id);
