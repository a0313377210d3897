/** Disruption budgets for preemption: which pods cannot be evicted without violating one. */
import type { PodDisruptionBudget } from '../../api/generated/types.ts';
import {
  type LabelSelectorObject,
  SelectorError,
  selectorFromObject,
} from '../../api/kind/label-selector.ts';
import type { Registry } from '../../registry/registry.ts';
import { Filter } from '../../registry/view/filter.ts';
import type { PodFacts } from './pod-facts.ts';

interface Budget {
  readonly namespace: string;
  readonly selects: (pod: PodFacts) => boolean;
  /** Pods that the budget has already counted as disrupted. */
  readonly disrupted: Readonly<Record<string, unknown>>;
  allowed: number;
}

/** The pods whose eviction a budget would not allow, if all were evicted in this order. */
export function violatingBudgets({ view }: Registry, pods: readonly PodFacts[]): ReadonlySet<PodFacts> {
  const violating = new Set<PodFacts>();
  const collection = view.collection('policy/poddisruptionbudgets');
  const budgets = [...new Set(pods.map(({ namespace }) => namespace))].flatMap((namespace) =>
    collection
      .select(new Filter(namespace, undefined, undefined, undefined))
      .entries.map((entry) => budgetOf(namespace, entry.peek() as PodDisruptionBudget)),
  );
  if (!budgets.length) return violating;
  for (const pod of pods)
    for (const budget of budgets) {
      if (budget.namespace !== pod.namespace || !budget.selects(pod)) continue;
      if (Object.hasOwn(budget.disrupted, pod.name)) continue;
      budget.allowed--;
      if (budget.allowed < 0) violating.add(pod);
    }
  return violating;
}

function budgetOf(namespace: string, { spec = {}, status = {} }: PodDisruptionBudget): Budget {
  const { matchLabels = {}, matchExpressions = [] } = spec.selector ?? {};
  const isEmpty = !Object.keys(matchLabels).length && !matchExpressions.length;
  return {
    namespace,
    // As in kube-scheduler, a budget that selects everything, or nothing, protects nothing from preemption.
    selects: isEmpty ? () => false : selectorOf(spec.selector as LabelSelectorObject),
    disrupted: status.disruptedPods ?? {},
    allowed: status.disruptionsAllowed ?? 0,
  };
}

/** An invalid selector selects nothing. */
function selectorOf(object: LabelSelectorObject): (pod: PodFacts) => boolean {
  try {
    const selector = selectorFromObject(object);
    return ({ labels }) => selector.matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return () => false;
    throw error;
  }
}
