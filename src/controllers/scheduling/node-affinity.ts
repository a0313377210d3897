/** Node selectors, node affinity, taints and tolerations. */
import type {
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Taint,
  Toleration,
} from '../../api/generated/types.ts';
import type { NodeFacts } from './node-facts.ts';
import type { PodFacts } from './pod-facts.ts';

type Described = Pick<NodeFacts, 'name' | 'labels'>;

const none: readonly [string, string][] = [];

export function selectsNode(pod: Pick<PodFacts, 'nodeSelector' | 'affinity'>, node: Described): boolean {
  for (const [key, value] of pod.nodeSelector ? Object.entries(pod.nodeSelector) : none)
    if (!Object.hasOwn(node.labels, key) || node.labels[key] !== value) return false;
  const required = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || matchesNodeSelector(required, node);
}

/** Terms are ORed; an empty term matches nothing. */
export const matchesNodeSelector = (selector: NodeSelector, node: Described): boolean =>
  (selector.nodeSelectorTerms ?? []).some((term) => matchesTerm(term, node));

function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  node: Described,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((one) =>
      meets(one, Object.hasOwn(node.labels, one.key!) ? node.labels[one.key!] : undefined),
    ) && matchFields.every((one) => meets(one, one.key === 'metadata.name' ? node.name : undefined))
  );
}

function meets({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return isNumber(value) && Number(value) > Number(values[0]);
    case 'Lt':
      return isNumber(value) && Number(value) < Number(values[0]);
    default:
      return false;
  }
}

const isNumber = (text: string | undefined): boolean => text !== undefined && /^[+-]?\d+$/.test(text);

/** The sum of the weights of the preferences that a node meets. */
export function nodePreference(pod: PodFacts, node: Described): number {
  let sum = 0;
  for (const { weight, preference } of pod.affinity?.nodeAffinity
    ?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
    if (preference && matchesTerm(preference, node)) sum += weight ?? 0;
  return sum;
}

export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some(({ key, operator, value, effect }) => {
    if (effect && effect !== taint.effect) return false;
    if (key && key !== taint.key) return false;
    if (operator === 'Exists') return true;
    return Boolean(key) && (value ?? '') === (taint.value ?? '');
  });
}
