/** Stateful status: the numbers of pods of a stateful set, by readiness and revision. */
import type { StatefulSet, StatefulSetStatus } from '../../api/generated/types.ts';
import { availableInMs, type IndexedPod } from '../shared/indexed-pod.ts';
import { revisionNameOf } from './stateful-identity.ts';
import { isRunningAndReady } from './stateful-plan.ts';

/** The revisions of a set, by name. */
export interface SetRevisions {
  /** The revision before the update that is under way. */
  readonly current: string;
  readonly update: string;
  readonly collisionCount: number | undefined;
}

export function statusOf(
  { metadata, spec = {}, status: before }: StatefulSet,
  { current, update, collisionCount }: SetRevisions,
  pods: readonly IndexedPod[],
  nowMs: number,
): StatefulSetStatus {
  const ready = pods.filter(isRunningAndReady);
  const staying = pods.filter(({ marked }) => !marked);
  const ofRevision = (name: string): number => staying.filter((pod) => revisionNameOf(pod) === name).length;
  const status: StatefulSetStatus = {
    observedGeneration: metadata.generation,
    replicas: pods.length,
    readyReplicas: ready.length,
    currentReplicas: ofRevision(current),
    updatedReplicas: ofRevision(update),
    currentRevision: current,
    updateRevision: update,
    collisionCount: collisionCount ?? 0,
    conditions: before?.conditions,
    availableReplicas: ready.filter((pod) => availableInMs(pod, spec.minReadySeconds, nowMs) <= 0).length,
  };
  return isUpdated(spec, status)
    ? { ...status, currentRevision: update, currentReplicas: status.updatedReplicas }
    : status;
}

/** Whether an update is complete, so that its revision becomes the current one. */
function isUpdated(
  { replicas = 1, updateStrategy }: NonNullable<StatefulSet['spec']>,
  status: StatefulSetStatus,
): boolean {
  const { replicas: there, readyReplicas, updatedReplicas } = status;
  return (
    updateStrategy?.type === 'RollingUpdate' &&
    [there, readyReplicas, updatedReplicas].every((count) => count === replicas)
  );
}
