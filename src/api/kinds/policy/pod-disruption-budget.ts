/**
 * PodDisruptionBudget: how many of the selected pods must stay available during evictions. This is the stored
 * version.
 */

import { type FieldError, invalid, notSupported } from '../../errors/field-error.ts';
import type {
  PodDisruptionBudget,
  PodDisruptionBudgetSpec,
  PodDisruptionBudgetStatus,
  LabelSelector as SelectorObject,
} from '../../generated/types.ts';
import { type Column, defineKind } from '../../kind/kind.ts';
import { type LabelSelectorObject, validateLabelSelectorObject } from '../../kind/label-selector.ts';
import { status } from '../../kind/subresource.ts';
import { innerForm } from '../../model/inner-form.ts';
import { modelOf } from '../../model/model.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { conditionErrors } from '../../rules/shared/condition.ts';
import { collect, type Findings, negative } from '../../rules/shared/findings.ts';
import {
  type IntOrPercent,
  intOrPercentErrors,
  overWholeErrors,
} from '../../rules/workload/rolling-update.ts';
import type { Cell } from '../../values/elapsed.ts';
import { budgetGuard } from './budget-guard.ts';

const policies = ['AlwaysAllow', 'IfHealthyBudget'];

/**
 * An empty selector means all pods in this version, and none in v1beta1. Conversion expresses that with a requirement
 * on a label that no pod has, as Kubernetes does, so that a budget means the same in every version.
 */
const emptyMark = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match';

const markedSelector = (operator: string): SelectorObject => ({
  matchExpressions: [{ key: emptyMark, operator }],
});

/** Selects no pods in this version. */
export const noPods = (): SelectorObject => markedSelector('Exists');
/** Selects all pods in v1beta1. */
export const allPodsBefore = (): SelectorObject => markedSelector('DoesNotExist');

export const isEmptySelector = ({ matchLabels, matchExpressions }: SelectorObject): boolean =>
  Object.keys(matchLabels ?? {}).length + (matchExpressions?.length ?? 0) === 0;

/** Whether a selector is exactly that requirement. */
export function isMarked({ matchLabels, matchExpressions = [] }: SelectorObject, operator: string): boolean {
  const [only] = matchExpressions;
  return (
    Object.keys(matchLabels ?? {}).length === 0 &&
    matchExpressions.length === 1 &&
    only!.key === emptyMark &&
    only!.operator === operator &&
    !only!.values?.length
  );
}

/** The requirement is only valid alone, not combined with others. */
export function dropMark(spec: PodDisruptionBudgetSpec | undefined, alone: string): void {
  const { selector } = spec ?? {};
  if (!selector?.matchExpressions || isMarked(selector, alone)) return;
  const kept = selector.matchExpressions.filter(({ key }) => key !== emptyMark);
  selector.matchExpressions = kept.length ? kept : undefined;
}

export const budgetColumns: readonly Column[] = [
  nameColumn,
  { name: 'Min Available', description: 'Pods that must be left after an eviction.' },
  { name: 'Max Unavailable', description: 'Pods that may be missing after an eviction.' },
  { name: 'Allowed Disruptions', type: 'integer', description: 'Pods that may be evicted now.' },
  ageColumn,
];

const boundCell = (bound: IntOrPercent | undefined): string => (bound === undefined ? 'N/A' : String(bound));

export const budgetCells = (budget: PodDisruptionBudget): Cell[] => [
  budget.metadata.name,
  boundCell(budget.spec?.minAvailable),
  boundCell(budget.spec?.maxUnavailable),
  budget.status?.disruptionsAllowed ?? 0,
  ageCell(budget),
];

export function* budgetErrors(spec: PodDisruptionBudgetSpec): Findings {
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy: policy, selector } = spec;
  if (minAvailable !== undefined && maxUnavailable !== undefined)
    yield invalid(
      'spec',
      innerForm(modelOf('PodDisruptionBudgetSpec', 'policy-v1'), spec),
      'minAvailable and maxUnavailable cannot be both set',
    );
  for (const name of ['minAvailable', 'maxUnavailable'] as const) {
    yield* intOrPercentErrors(spec[name], `spec.${name}`);
    yield* overWholeErrors(spec[name], `spec.${name}`);
  }
  if (policy !== undefined && !policies.includes(policy))
    yield notSupported('spec.unhealthyPodEvictionPolicy', policy, policies);
  yield* validateLabelSelectorObject(selector as LabelSelectorObject | undefined, 'spec.selector');
}

/** Updates of the status need a resourceVersion: otherwise two evictions could use the same allowed disruption. */
export const unseenErrors = ({ metadata }: PodDisruptionBudget): FieldError[] =>
  Number(metadata.resourceVersion)
    ? []
    : [invalid('metadata.resourceVersion', 0, 'must be specified for an update')];

function* statusErrors(status: PodDisruptionBudgetStatus = {}): Findings {
  yield* conditionErrors(status.conditions, 'status.conditions');
  for (const name of ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const)
    yield* negative(`status.${name}`, status[name]);
}

export const podDisruptionBudget = defineKind<PodDisruptionBudget>({
  kind: 'PodDisruptionBudget',
  resource: 'poddisruptionbudgets',
  singular: 'poddisruptionbudget',
  shortNames: ['pdb'],
  group: 'policy',
  version: 'v1',
  table: 'policy-v1',
  namespaced: true,
  subresources: [
    status({ validate: (budget) => [...unseenErrors(budget), ...collect(statusErrors(budget.status))] }),
  ],
  generationOf: 'spec',
  guard: budgetGuard,

  defaults: ({ spec }) => dropMark(spec, 'Exists'),

  validate: ({ spec = {} }) => collect(budgetErrors(spec)),
  validateUpdate: unseenErrors,

  columns: budgetColumns,
  cells: budgetCells,
});
