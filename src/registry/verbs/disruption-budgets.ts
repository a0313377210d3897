/**
 * Disruption budgets in evictions: which budget selects a pod, and whether it allows a disruption. The budget's
 * status is lowered before the pod is deleted, so of two concurrent evictions for the last allowed disruption only
 * one succeeds.
 */
import { budgetViolation, forbidden, plain } from '../../api/errors/errors.ts';
import type {
  Pod,
  PodDisruptionBudget,
  PodDisruptionBudgetStatus,
  LabelSelector as SelectorObject,
} from '../../api/generated/types.ts';
import {
  type LabelSelectorObject,
  SelectorError,
  selectorFromObject,
} from '../../api/kind/label-selector.ts';
import { tellAllowance } from '../../api/kinds/policy/pod-disruption-budget.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import { targetOf } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import { Filter } from '../view/filter.ts';
import { modify } from './modify.ts';

/** Evicted pods in a budget's status that its controller has not yet seen deleted. */
const disruptedPodsMax = 2000;
/** Retry-After when the controller has not processed a budget yet. */
const unseenRetrySeconds = 10;

/**
 * The budget that selects a pod, or undefined. An eviction of a pod with several budgets is refused, as in
 * Kubernetes.
 */
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

/** An invalid selector selects nothing. */
function selects(selector: SelectorObject | undefined, labels: Record<string, string> | undefined): boolean {
  try {
    return selectorFromObject(selector as LabelSelectorObject | undefined).matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return false;
    throw error;
  }
}

/**
 * Whether a pod may be evicted without lowering the budget: it is not ready, so it does not count as healthy. Under
 * the default policy that holds only while enough other pods are healthy; otherwise the budget may be waiting for
 * this pod.
 */
export function isExempt({ spec, status = {} }: PodDisruptionBudget, pod: Pod): boolean {
  if (pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return false;
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status;
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy;
}

/** Lowers `disruptionsAllowed` of a budget by one and records the pod. Throws when no disruption is allowed. */
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

/** The answer when the controller has not yet processed the newest spec of a budget. */
export const stillProcessed = (name: string): Error =>
  budgetViolation(
    `The disruption budget ${name} is still being processed by the server.`,
    unseenRetrySeconds,
  );

/**
 * Says why no disruption is allowed: the controller's error when it could not compute the numbers, else the numbers.
 */
function refusal({ conditions, currentHealthy = 0, desiredHealthy = 0 }: PodDisruptionBudgetStatus): string {
  const denial = conditions?.find(({ type, status }) => type === 'DisruptionAllowed' && status === 'False');
  const said = denial?.message ? denial : undefined;
  if (said?.reason === 'SyncFailed')
    return `does not allow evicting pods currently because it failed sync: ${said.message}`;
  if (currentHealthy <= desiredHealthy)
    return `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  return `does not allow evicting pods currently${said ? ` (${said.reason}): ${said.message}` : ''}`;
}
