/**
 * Eviction: deletes a pod and records the reason in its conditions, if its disruption budget allows that
 * (disruption-budgets.ts). Budgets do not apply to pods that are pending or finished.
 */

import { badRequest, modified, StatusError } from '../../api/errors/errors.ts';
import type { Eviction, Pod, PodDisruptionBudget } from '../../api/generated/types.ts';
import { isFinished } from '../../api/rules/pod/pod-facts.ts';
import { withCondition } from '../../api/rules/shared/condition.ts';
import { checkDeleteOptions, type DeleteOptions } from '../delete-options.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import { type Target, targetOf } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import { checkDeletePreconditions, remove } from './delete.ts';
import { budgetOf, isExempt, spend, stillProcessed } from './disruption-budgets.ts';
import { modify } from './modify.ts';

/** Attempts, when pod or budget change meanwhile. */
const roundsMax = 20;

/** The pod has changed since the decision was made. */
class Changed extends Error {}

export async function evict(
  registry: Registry,
  asking: Request,
  target: Target,
  eviction: Eviction,
): Promise<void> {
  const { kind: pods, namespace, name } = target;
  if ((eviction.metadata.name ?? '') !== name)
    throw badRequest('name in URL does not match name in Eviction object');
  const asked = (eviction.deleteOptions ?? {}) as DeleteOptions;
  checkDeleteOptions(asked);
  const request = asked.dryRun?.length ? asking.asDryRun() : asking;
  const behind = registry.view.caughtUp();
  if (behind) await registry.inTime(behind, request.deadlineMs);
  await registry.admission.connect(registry, request, target, eviction);
  for (let round = 1; ; round++) {
    const seen = registry.find(target);
    const pod = seen.peek() as Pod;
    checkDeletePreconditions(pods, name, asked, pod, seen);
    const budget = isGuarded(pod) ? budgetOf(registry, namespace, pod) : undefined;
    const exempt = budget !== undefined && isExempt(budget.peek() as PodDisruptionBudget, pod);
    try {
      if (budget && !exempt) await spend(registry, request, budget, name);
      // A decision based on the state of the pod holds only while the pod is unchanged.
      const fixed = exempt || isWaiting(pod);
      return await end(registry, request, seen, asked, fixed);
    } catch (error) {
      if (!mayHelp(error, budget)) throw error;
      if (round === roundsMax) throw budget ? stillProcessed(budget.name) : modified(pods, name);
    }
  }
}

/** Whether to try again: the pod has changed, or the budget was deleted. */
const mayHelp = (error: unknown, budget: Entry | undefined): boolean =>
  error instanceof Changed ||
  (error instanceof StatusError &&
    error.code === 404 &&
    budget !== undefined &&
    error.status.details?.kind === budget.kind.resource &&
    error.status.details.group === budget.kind.group);

const isOver = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined || isFinished(status?.phase);

const isWaiting = (pod: Pod): boolean => !isOver(pod) && pod.status?.phase === 'Pending';

const isGuarded = (pod: Pod): boolean => !isOver(pod) && !isWaiting(pod);

/** Sets the condition of an evicted pod, and deletes it; with `fixed` only if the pod has not changed. */
async function end(
  registry: Registry,
  request: Request,
  seen: Entry,
  asked: DeleteOptions,
  fixed: boolean,
): Promise<void> {
  const { kind, name } = seen;
  const uid = (seen.peek() as Pod).metadata.uid!;
  const marked = await modify(registry, request, targetOf(seen, 'status'), (current) => {
    const pod = current.object() as Pod;
    if (pod.metadata.uid !== uid || (fixed && current.revision !== seen.revision)) throw new Changed();
    checkDeletePreconditions(kind, name, asked, pod, current);
    noteEviction(pod, registry.now());
    return pod;
  });
  // The client's resourceVersion was checked above; setting the condition has changed the version.
  const preconditions = { uid, ...(fixed ? { resourceVersion: String(marked.revision) } : {}) };
  try {
    await remove(registry, request, targetOf(seen), { ...asked, preconditions });
  } catch (error) {
    throw fixed && error instanceof StatusError && error.code === 409 ? new Changed() : error;
  }
}

function noteEviction(pod: Pod, now: string): void {
  const status = (pod.status ??= {});
  const note = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  };
  status.conditions = withCondition(status.conditions, note, now);
}
