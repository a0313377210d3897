/**
 * PodDisruptionBudget in policy/v1beta1: a version of the stored policy/v1, in which an empty selector means no pods
 * instead of all. kubectl before 1.21 knows only this version.
 */
import type {
  PodDisruptionBudget,
  PodDisruptionBudgetV1beta1,
  LabelSelector as SelectorObject,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { conditionErrors } from '../../rules/shared/condition.ts';
import { collect } from '../../rules/shared/findings.ts';
import type { ApiObject } from '../../text/object.ts';
import {
  allPodsBefore,
  budgetCells,
  budgetColumns,
  budgetErrors,
  dropMark,
  isEmptySelector,
  isMarked,
  noPods,
  podDisruptionBudget,
  unseenErrors,
} from './pod-disruption-budget.ts';

function storedSelector(selector: SelectorObject | undefined): SelectorObject | undefined {
  if (!selector) return undefined;
  if (isEmptySelector(selector)) return noPods();
  return isMarked(selector, 'DoesNotExist') ? {} : selector;
}

function olderSelector(selector: SelectorObject | undefined): SelectorObject | undefined {
  if (!selector) return undefined;
  if (isEmptySelector(selector)) return allPodsBefore();
  return isMarked(selector, 'Exists') ? {} : selector;
}

const toStored = ({ spec = {}, ...rest }: PodDisruptionBudgetV1beta1): PodDisruptionBudget => ({
  ...rest,
  spec: { ...spec, selector: storedSelector(spec.selector) },
});

function fromStored(object: ApiObject): PodDisruptionBudgetV1beta1 {
  const { spec = {}, ...rest } = object as PodDisruptionBudget;
  return { ...rest, spec: { ...spec, selector: olderSelector(spec.selector) } };
}

export const policyV1beta1 = defineKind<PodDisruptionBudgetV1beta1>({
  kind: 'PodDisruptionBudget',
  resource: 'poddisruptionbudgets',
  singular: 'poddisruptionbudget',
  shortNames: ['pdb'],
  group: 'policy',
  version: 'v1beta1',
  table: 'policy-v1beta1',
  namespaced: true,
  stored: { kind: podDisruptionBudget, toStored, fromStored },
  subresources: [
    status({
      validate: (budget) => [
        ...unseenErrors(budget),
        ...collect(conditionErrors(budget.status?.conditions, 'status.conditions')),
      ],
    }),
  ],
  generationOf: 'spec',

  defaults: ({ spec }) => dropMark(spec, 'DoesNotExist'),

  validate: ({ spec = {} }) => collect(budgetErrors(spec)),
  validateUpdate: unseenErrors,

  columns: budgetColumns,
  cells: budgetCells,
});
