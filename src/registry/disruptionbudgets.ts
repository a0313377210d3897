/**
 * Disruption budgets, as evictions meet them: which budget guards a pod, and whether it has a pod to spare. One that
 * has is spent before the pod is deleted, so that of two evictions for the last pod to spare only one gets it.
 */
import { budgetViolation, forbidden, plain } from '../api/errors.ts';
import type {
  Pod,
  PodDisruptionBudget,
  PodDisruptionBudgetStatus,
  LabelSelector as SelectorObject,
} from '../api/generated/types.ts';
import { tellAllowance } from '../api/kinds/poddisruptionbudget.ts';
import { type LabelSelectorObject, SelectorError, selectorFromObject } from '../api/labelselector.ts';
import type { Entry } from './entry.ts';
import { Filter } from './filter.ts';
import { modify } from './modify.ts';
import type { Registry } from './registry.ts';
import type { Request } from './request.ts';
import { targetOf } from './target.ts';

/** Evictions a budget may have allowed without its controller having seen the pods go. */
const disruptedPodsMax = 2000;
/** What clients are told to wait for a controller that has not got to a budget yet. */
const unseenRetrySeconds = 10;

/** The budget that guards a pod; undefined when none does. Two cannot both be kept to, and are refused. */
export function budgetOf(registry: Registry, namespace: string, pod: Pod): Entry | undefined {
  const { entries } = registry.view
    .collection('policy/poddisruptionbudgets')
    .select(new Filter(namespace, undefined, undefined, undefined));
  const guarding = entries.filter((entry) => {
    const { spec } = entry.peek() as PodDisruptionBudget;
    return selects(spec?.selector, pod.metadata.labels);
  });
  if (guarding.length > 1)
    throw plain(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  return guarding[0];
}

/** A selector that cannot be understood selects nothing. */
function selects(selector: SelectorObject | undefined, labels: Record<string, string> | undefined): boolean {
  try {
    return selectorFromObject(selector as LabelSelectorObject | undefined).matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return false;
    throw error;
  }
}

/**
 * Whether a budget lets a pod go without being spent: one that is not ready is none of those that are counted on.
 * Unless the budget says otherwise, it goes only while enough others are ready, lest it be the one that is awaited.
 */
export function isExempt({ spec, status = {} }: PodDisruptionBudget, pod: Pod): boolean {
  if (pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return false;
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status;
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy;
}

/** Takes one from what a budget allows, and notes for which pod. Throws when it allows nothing. */
export async function spend(
  registry: Registry,
  request: Request,
  entry: Entry,
  podName: string,
): Promise<void> {
  await modify(registry, request, targetOf(entry, 'status'), (current) => {
    const budget = current.object() as PodDisruptionBudget;
    const status = (budget.status ??= {});
    checkAllowance(budget, status);
    status.disruptionsAllowed = status.disruptionsAllowed! - 1;
    status.disruptedPods = { ...status.disruptedPods, [podName]: registry.now() };
    if (status.disruptionsAllowed === 0) tellAllowance(status, registry.now());
    return budget;
  });
}

function checkAllowance({ metadata }: PodDisruptionBudget, status: PodDisruptionBudgetStatus): void {
  const { name = '', generation = 0 } = metadata;
  const { observedGeneration = 0, disruptionsAllowed = 0, disruptedPods = {} } = status;
  if (observedGeneration < generation) throw stillProcessed(name);
  const refused = { kind: 'PodDisruptionBudget', resource: 'poddisruptionbudget', group: 'policy' };
  if (disruptionsAllowed < 0) throw forbidden(refused, name, 'pdb disruptions allowed is negative');
  if (Object.keys(disruptedPods).length > disruptedPodsMax)
    throw forbidden(
      refused,
      name,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    );
  if (disruptionsAllowed === 0) throw budgetViolation(`The disruption budget ${name} ${refusal(status)}`);
}

/** The status of a budget does not tell what its spec means, or is about to change. */
export const stillProcessed = (name: string): Error =>
  budgetViolation(
    `The disruption budget ${name} is still being processed by the server.`,
    unseenRetrySeconds,
  );

/** Numbers say nothing when they could not be worked out. */
function refusal({ conditions, currentHealthy = 0, desiredHealthy = 0 }: PodDisruptionBudgetStatus): string {
  const denial = conditions?.find(({ type, status }) => type === 'DisruptionAllowed' && status === 'False');
  const said = denial?.message ? denial : undefined;
  if (said?.reason === 'SyncFailed')
    return `does not allow evicting pods currently because it failed sync: ${said.message}`;
  if (currentHealthy <= desiredHealthy)
    return `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  return `does not allow evicting pods currently${said ? ` (${said.reason}): ${said.message}` : ''}`;
}
