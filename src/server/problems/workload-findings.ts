/** What is not well about workloads and what belongs to them: rollouts, pods that cannot be created, jobs, autoscalers. */
import { type Any, conditionOf, type Examine, type Finding, fromCondition, onlyInEvents } from './finding.ts';

/** How long a controller may take to create pods. */
const createMs = 30_000;

export const deploymentFindings: Examine = (deployment) => {
  const failed = conditionOf(deployment, 'ReplicaFailure');
  if (failed?.status === 'True') return [fromCondition(failed, 'pods cannot be created')];
  const progressing = conditionOf(deployment, 'Progressing');
  const { replicas = 1 } = deployment.spec ?? {};
  const { readyReplicas = 0 } = deployment.status ?? {};
  if (progressing?.status !== 'False') return [];
  if (progressing.reason === 'ReplicaSetCreateError')
    return [fromCondition(progressing, 'its replica set cannot be created')];
  const text = `the rollout was given up with ${readyReplicas} of ${replicas} pods ready`;
  return [fromCondition(progressing, text, { followsFromPods: true })];
};

/** Replica sets of deployments are reported by these. */
export const replicaSetFindings: Examine = (set) => {
  if (set.metadata.ownerReferences?.some(({ controller }: Any) => controller)) return [];
  const failed = conditionOf(set, 'ReplicaFailure');
  return failed?.status === 'True' ? [fromCondition(failed, 'pods cannot be created')] : [];
};

/** These have no condition for pods that cannot be created: their events say why. */
const missing = (have: number, wanted: number, { metadata }: Any): Finding[] => {
  if (have >= wanted) return [];
  const text = `${have} of ${wanted} pods exist`;
  const since = metadata.creationTimestamp ?? '';
  const afterMs = (Date.parse(since) || 0) + createMs;
  return [
    {
      cause: text,
      text,
      severity: 'warning',
      since,
      afterMs,
      isExplainedByEvents: true,
      followsFromPods: true,
    },
  ];
};

export const statefulSetFindings: Examine = (set) =>
  missing(set.status?.replicas ?? 0, set.spec?.replicas ?? 1, set);

/** A selector of all pods is refused, and nothing is wanted then. */
export const daemonSetFindings: Examine = (set) => {
  const { currentNumberScheduled: have = 0, desiredNumberScheduled: wanted = 0 } = set.status ?? {};
  return wanted === 0 ? [onlyInEvents(set.metadata.creationTimestamp)] : missing(have, wanted, set);
};

/** A job that could not be created, times that were missed; what was before the last job is over. */
export const cronJobFindings: Examine = ({ metadata, status }) => [
  onlyInEvents((status as Any)?.lastScheduleTime ?? metadata.creationTimestamp),
];

/** Addresses that are taken, endpoints that cannot be written; a selector for which nobody may answer. */
export const serviceFindings: Examine = ({ metadata, spec }) => {
  const since = metadata.creationTimestamp ?? '';
  const isSelecting = spec?.type !== 'ExternalName' && Object.keys(spec?.selector ?? {}).length > 0;
  const asks: Finding = { cause: '', text: '', severity: 'warning', since, selects: spec?.selector };
  return [onlyInEvents(since), ...(isSelecting ? [asks] : [])];
};

export const jobFindings: Examine = (job) => {
  const failed = conditionOf(job, 'Failed');
  if (failed?.status === 'True') {
    const text = `the job has failed (${failed.reason ?? 'unknown'})`;
    return [fromCondition(failed, text, { isExplainedByPods: text })];
  }
  const { failed: count = 0, active = 0, succeeded = 0, startTime } = job.status ?? {};
  const isOver =
    conditionOf(job, 'Complete')?.status === 'True' ||
    conditionOf(job, 'SuccessCriteriaMet')?.status === 'True';
  if (isOver || job.spec?.suspend) return [];
  if (startTime && count + active + succeeded === 0) return missing(0, job.spec?.parallelism ?? 1, job);
  if (count === 0) return [];
  const text = `${count === 1 ? '1 pod has' : `${count} pods have`} failed, ${job.spec?.backoffLimit ?? 6} may`;
  return [
    {
      cause: text,
      text,
      severity: 'warning',
      since: startTime ?? '',
      isExplainedByEvents: true,
      isExplainedByPods: text,
    },
  ];
};

export const autoscalerFindings: Examine = (scaler) =>
  ['AbleToScale', 'ScalingActive']
    .flatMap((type) => {
      const condition = conditionOf(scaler, type);
      const isOff = condition?.reason === 'ScalingDisabled';
      return condition?.status === 'False' && !isOff
        ? [fromCondition(condition, 'cannot scale', { severity: 'warning' })]
        : [];
    })
    .slice(0, 1);

export const budgetFindings: Examine = (budget) => {
  const condition = conditionOf(budget, 'DisruptionAllowed');
  return condition?.status === 'False' && condition.reason === 'SyncFailed'
    ? [fromCondition(condition, 'the budget cannot be worked out', { severity: 'warning' })]
    : [];
};
