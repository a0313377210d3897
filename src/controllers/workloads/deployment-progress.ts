/** The progress of a deployment: counters and conditions, computed from its replica sets. */
import type {
  Deployment,
  DeploymentCondition,
  DeploymentSpec,
  DeploymentStatus,
  ReplicaSet,
  ReplicaSetStatus,
} from '../../api/generated/types.ts';
import { boundsOf, sizeOf } from './rolling-plan.ts';

/** The maximum of an int32, which means no deadline. */
const noDeadlineSeconds = 2 ** 31 - 1;

export type Conditions = readonly DeploymentCondition[];

export const hasDeadline = ({ progressDeadlineSeconds = noDeadlineSeconds }: DeploymentSpec): boolean =>
  progressDeadlineSeconds !== noDeadlineSeconds;

export const conditionOf = (conditions: Conditions, type: string): DeploymentCondition | undefined =>
  conditions.find((one) => one.type === type);

const without = (conditions: Conditions, type: string): DeploymentCondition[] =>
  conditions.filter((one) => one.type !== type);

/** A condition with the same status and reason is kept, also if its message differs. */
export function withCondition(
  conditions: Conditions,
  type: string,
  [status, reason, message]: readonly [status: string, reason: string, message: string],
  now: string,
): DeploymentCondition[] {
  const before = conditionOf(conditions, type);
  if (before?.status === status && before.reason === reason) return [...conditions];
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
  return [
    ...without(conditions, type),
    { type, status, lastUpdateTime: now, lastTransitionTime, reason, message },
  ];
}

/** A paused or just resumed rollout has no deadline until it makes progress. */
export function withPause(
  { paused }: DeploymentSpec,
  conditions: Conditions,
  now: string,
): DeploymentCondition[] {
  const reason = conditionOf(conditions, 'Progressing')?.reason;
  const said = reason === 'DeploymentPaused';
  // A rollout past its deadline keeps that condition.
  if (reason === 'ProgressDeadlineExceeded' || said === Boolean(paused)) return [...conditions];
  return withCondition(
    conditions,
    'Progressing',
    paused
      ? ['Unknown', 'DeploymentPaused', 'Deployment is paused']
      : ['Unknown', 'DeploymentResumed', 'Deployment is resumed'],
    now,
  );
}

/** The status without its conditions. */
export function countsOf(
  { metadata, status = {} }: Deployment,
  newSet: ReplicaSet | undefined,
  oldSets: readonly ReplicaSet[],
): DeploymentStatus {
  const all = newSet ? [...oldSets, newSet] : oldSets;
  const sum = (name: keyof ReplicaSetStatus): number =>
    all.reduce((total, set) => total + Number(set.status?.[name] ?? 0), 0);
  const availableReplicas = sum('availableReplicas');
  const wanted = all.reduce((total, set) => total + sizeOf(set), 0);
  return {
    observedGeneration: metadata.generation,
    replicas: sum('replicas'),
    updatedReplicas: newSet?.status?.replicas ?? 0,
    readyReplicas: sum('readyReplicas'),
    availableReplicas,
    unavailableReplicas: Math.max(0, wanted - availableReplicas),
    terminatingReplicas: sum('terminatingReplicas'),
    ...(status.collisionCount === undefined ? {} : { collisionCount: status.collisionCount }),
  };
}

export function withAvailability(
  spec: DeploymentSpec,
  { availableReplicas = 0 }: DeploymentStatus,
  conditions: Conditions,
  now: string,
): DeploymentCondition[] {
  const enough = availableReplicas >= (spec.replicas ?? 1) - boundsOf(spec).maxUnavailable;
  return withCondition(
    conditions,
    'Available',
    enough
      ? ['True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.']
      : ['False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.'],
    now,
  );
}

/** Whether all pods are of the newest template, and available. */
export function isComplete({ metadata, spec = {} }: Deployment, status: DeploymentStatus): boolean {
  const { replicas = 1 } = spec;
  return (
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.availableReplicas ?? 0) === replicas &&
    (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  );
}

/** Whether there was progress: more new pods, fewer old ones, more ready or available ones. */
function isBetter(before: DeploymentStatus, now: DeploymentStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number => replicas - updatedReplicas;
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

/** The condition Progressing of a rollout; `counts` are the new counters. */
export function withProgress(
  deployment: Deployment,
  newSet: ReplicaSet | undefined,
  counts: DeploymentStatus,
  conditions: Conditions,
  nowMs: number,
  now: string,
): DeploymentCondition[] {
  const { spec = {}, status = {}, metadata } = deployment;
  if (!hasDeadline(spec)) return without(conditions, 'Progressing');
  const current = conditionOf(conditions, 'Progressing');
  // A completed rollout stays complete, whatever happens to its pods.
  if (counts.replicas === counts.updatedReplicas && current?.reason === 'NewReplicaSetAvailable')
    return [...conditions];
  const who = newSet ? `ReplicaSet "${newSet.metadata.name}"` : `Deployment "${metadata.name}"`;
  const set = (
    from: Conditions,
    ...condition: [status: string, reason: string, message: string]
  ): DeploymentCondition[] => withCondition(from, 'Progressing', condition, now);
  if (isComplete(deployment, counts))
    return set(conditions, 'True', 'NewReplicaSetAvailable', `${who} has successfully progressed.`);
  if (isBetter(status, counts)) {
    // lastUpdateTime is set each time: the deadline counts from it.
    const [fresh] = set([], 'True', 'ReplicaSetUpdated', `${who} is progressing.`) as [DeploymentCondition];
    const since = current?.status === 'True' ? current.lastTransitionTime : now;
    return [...without(conditions, 'Progressing'), { ...fresh, lastTransitionTime: since }];
  }
  if (current && deadlineInMs(spec, current, nowMs) <= 0)
    return set(conditions, 'False', 'ProgressDeadlineExceeded', `${who} has timed out progressing.`);
  return [...conditions];
}

/** Time until the progress deadline; infinite for a deployment without one. */
export function deadlineInMs(
  { progressDeadlineSeconds = noDeadlineSeconds }: DeploymentSpec,
  progressing: DeploymentCondition | undefined,
  nowMs: number,
): number {
  const ended = ['NewReplicaSetAvailable', 'ProgressDeadlineExceeded'].includes(progressing?.reason ?? '');
  if (!progressing?.lastUpdateTime || ended || progressDeadlineSeconds === noDeadlineSeconds)
    return Number.POSITIVE_INFINITY;
  return Date.parse(progressing.lastUpdateTime) + progressDeadlineSeconds * 1000 - nowMs;
}

/** A failure of replica sets to create pods is shown on the deployment, that of the newest set first. */
export function withFailure(
  newSet: ReplicaSet | undefined,
  oldSets: readonly ReplicaSet[],
  conditions: Conditions,
): DeploymentCondition[] {
  const failures = [...(newSet ? [newSet] : []), ...oldSets].flatMap(
    ({ status }) => status?.conditions?.filter(({ type }) => type === 'ReplicaFailure') ?? [],
  );
  const [failure] = failures;
  if (!failure) return without(conditions, 'ReplicaFailure');
  const { status = '', reason = '', message = '', lastTransitionTime = '' } = failure;
  return withCondition(conditions, 'ReplicaFailure', [status, reason, message], lastTransitionTime);
}
