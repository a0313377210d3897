/** How far the rollout of a workload is: a deployment, a stateful set, a daemon set or a replica set. */
import type { ApiObject, Json } from './objects.ts';

export interface Rollout {
  /**
   * `complete`: all pods are new and ready. `stuck`: the controller has given up, or cannot create pods. `unready`: the
   * rollout is over, and pods are not ready any more.
   */
  readonly state: 'complete' | 'progressing' | 'paused' | 'stuck' | 'unready';
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
  if (spec?.paused) return { state: 'paused', ...counts };
  const isOver = isSeen && updated >= wanted && wasRolledOut(progressing, status);
  return { state: isOver ? 'unready' : 'progressing', ...counts };
}

/** Deployments say that a rollout is over; stateful sets have one revision then. */
const wasRolledOut = (progressing: Json, { currentRevision, updateRevision }: Json = {}): boolean =>
  progressing
    ? progressing.reason === 'NewReplicaSetAvailable'
    : currentRevision !== undefined && currentRevision === updateRevision;

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
