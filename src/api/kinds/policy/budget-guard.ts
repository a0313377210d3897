/**
 * Disruption budgets as guards of pods: which pods a budget selects, and whether it allows a disruption. The budget's
 * status is lowered before the pod is deleted, so of two concurrent evictions for the last allowed disruption only
 * one succeeds.
 */
import { budgetViolation, forbidden } from '../../errors/errors.ts';
import type {
  Pod,
  PodDisruptionBudget,
  PodDisruptionBudgetStatus,
  LabelSelector as SelectorObject,
} from '../../generated/types.ts';
import { type LabelSelectorObject, SelectorError, selectorFromObject } from '../../kind/label-selector.ts';
import type { GuardRules } from '../../kind/subresource.ts';
import { withCondition } from '../../rules/shared/condition.ts';

/** Evicted pods in a budget's status that its controller has not yet seen deleted. */
const disruptedPodsMax = 2000;
/** Retry-After when the controller has not processed a budget yet. */
const unseenRetrySeconds = 10;

export const budgetGuard: GuardRules<PodDisruptionBudget> = {
  isGuarding: ({ spec }, { metadata }) => selects(spec?.selector, metadata.labels),

  severalRefusal:
    'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',

  /**
   * It is not ready, so it does not count as healthy. Under the default policy that holds only while enough other pods are
   * healthy; otherwise the budget may be waiting for this pod.
   */
  isExempt({ spec, status = {} }, pod) {
    const { conditions } = (pod as Pod).status ?? {};
    if (conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return false;
    if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
    const { currentHealthy = 0, desiredHealthy = 0 } = status;
    return desiredHealthy > 0 && currentHealthy >= desiredHealthy;
  },

  /** Lowers `disruptionsAllowed` by one and records the pod. Throws when no disruption is allowed. */
  spend(budget, pod, now) {
    const status = (budget.status ??= {});
    checkAllowance(budget, status);
    status.disruptionsAllowed = status.disruptionsAllowed! - 1;
    status.disruptedPods = { ...status.disruptedPods, [pod]: now };
    if (status.disruptionsAllowed === 0) tellAllowance(status, now);
  },

  unsettled: stillProcessed,
};

/** An invalid selector selects nothing. */
function selects(selector: SelectorObject | undefined, labels: Record<string, string> | undefined): boolean {
  try {
    return selectorFromObject(selector as LabelSelectorObject | undefined).matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return false;
    throw error;
  }
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
function stillProcessed(name: string): Error {
  return budgetViolation(
    `The disruption budget ${name} is still being processed by the server.`,
    unseenRetrySeconds,
  );
}

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

/** Sets the condition that says whether pods may be evicted. */
export function tellAllowance(status: PodDisruptionBudgetStatus, now: string): void {
  const allowed = (status.disruptionsAllowed ?? 0) > 0;
  status.conditions = withCondition(
    status.conditions,
    {
      type: 'DisruptionAllowed',
      status: allowed ? 'True' : 'False',
      reason: allowed ? 'SufficientPods' : 'InsufficientPods',
      message: '',
      observedGeneration: status.observedGeneration,
    },
    now,
  );
}
