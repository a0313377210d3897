/** Job policies, evaluated: what a pod's failure means for its job, and when enough indexes have succeeded. */
import type { JobSpecV1, Pod, PodFailurePolicyRule } from '../../api/generated/types.ts';
import { IndexSet } from './job-index-set.ts';

export interface FailureVerdict {
  readonly action: 'Count' | 'Ignore' | 'FailJob' | 'FailIndex';
  readonly message: string;
}

const counted: FailureVerdict = { action: 'Count', message: '' };

/** The first rule that matches a failed pod decides; without one the failure counts. */
export function judgeFailure({ podFailurePolicy }: JobSpecV1, pod: Pod): FailureVerdict {
  for (const [i, rule] of (podFailurePolicy?.rules ?? []).entries()) {
    const why = exitCodeMatch(rule, pod) ?? conditionMatch(rule, pod);
    if (why)
      return {
        action: rule.action as FailureVerdict['action'],
        message: `${why} matching ${rule.action} rule at index ${i}`,
      };
  }
  return counted;
}

/** A container that succeeded is never matched. */
function exitCodeMatch(
  { onExitCodes }: PodFailurePolicyRule,
  { metadata, status = {} }: Pod,
): string | undefined {
  if (!onExitCodes) return undefined;
  const { containerName, operator, values = [] } = onExitCodes;
  for (const { name, state } of [
    ...(status.containerStatuses ?? []),
    ...(status.initContainerStatuses ?? []),
  ]) {
    const exitCode = state?.terminated?.exitCode ?? 0;
    if (exitCode === 0 || (containerName !== undefined && containerName !== name)) continue;
    if (values.includes(exitCode) === (operator === 'In'))
      return `Container ${name} for pod ${metadata.namespace}/${metadata.name} failed with exit code ${exitCode}`;
  }
  return undefined;
}

function conditionMatch(
  { onPodConditions = [] }: PodFailurePolicyRule,
  { metadata, status = {} }: Pod,
): string | undefined {
  const found = status.conditions?.find((condition) =>
    onPodConditions.some(
      ({ type, status = 'True' }) => type === condition.type && status === condition.status,
    ),
  );
  return found && `Pod ${metadata.namespace}/${metadata.name} has condition ${found.type}`;
}

/** The first rule of the success policy that is met. */
export function successRule(
  { successPolicy, completions = 0 }: JobSpecV1,
  completed: IndexSet,
): number | undefined {
  for (const [i, { succeededIndexes, succeededCount }] of (successPolicy?.rules ?? []).entries()) {
    const wanted = succeededIndexes === undefined ? undefined : IndexSet.read(succeededIndexes, completions);
    const matched = wanted ? completed.common(wanted) : completed.size;
    if (matched >= (succeededCount ?? wanted?.size ?? 0)) return i;
  }
  return undefined;
}
