/** The progress of a deployment: its numbers and conditions, as what its replica sets say adds up to. */
import type {
  Deployment,
  DeploymentCondition,
  DeploymentSpec,
  DeploymentStatus,
  ReplicaSet,
  ReplicaSetStatus,
} from '../../api/generated/types.ts';
import { boundsOf, sizeOf } from './rollingplan.ts';

/** This number of seconds, the largest there is, stands for no deadline. */
const noDeadlineSeconds = 2 ** 31 - 1;

export type Conditions = readonly DeploymentCondition[];

export const hasDeadline = ({ progressDeadlineSeconds = noDeadlineSeconds }: DeploymentSpec): boolean =>
  progressDeadlineSeconds !== noDeadlineSeconds;

export const conditionOf = (conditions: Conditions, type: string): DeploymentCondition | undefined =>
  conditions.find((one) => one.type === type);

const without = (conditions: Conditions, type: string): DeploymentCondition[] =>
  conditions.filter((one) => one.type !== type);

/** A condition that says the same as before, if in other words, stays as it is. */
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

/** A rollout that is paused, or resumed, is not measured against its deadline until it gets on. */
export function withPause(
  { paused }: DeploymentSpec,
  conditions: Conditions,
  now: string,
): DeploymentCondition[] {
  const reason = conditionOf(conditions, 'Progressing')?.reason;
  const said = reason === 'DeploymentPaused';
  // That it has not got on for too long stays said.
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

/** Everything about a status but its conditions. */
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

/** Whether the new numbers are better than those before: more new pods, fewer old ones, more that are well. */
function isBetter(before: DeploymentStatus, now: DeploymentStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number => replicas - updatedReplicas;
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

/** The condition Progressing, where a rollout is under way; `counts` are the new numbers. */
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
  // Once complete, it is not a rollout any more, whatever becomes of its pods.
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
    // Said anew each time, because the deadline runs from the last time it was.
    const [fresh] = set([], 'True', 'ReplicaSetUpdated', `${who} is progressing.`) as [DeploymentCondition];
    const since = current?.status === 'True' ? current.lastTransitionTime : now;
    return [...without(conditions, 'Progressing'), { ...fresh, lastTransitionTime: since }];
  }
  if (current && deadlineInMs(spec, current, nowMs) <= 0)
    return set(conditions, 'False', 'ProgressDeadlineExceeded', `${who} has timed out progressing.`);
  return [...conditions];
}

/** How long until a rollout has not got on for too long; infinite when it cannot come to that. */
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

/** What keeps replica sets from making pods is said of the deployment, too; the newest set's failure comes first. */
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
