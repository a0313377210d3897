/** Workloads: what the apps kinds with a pod template share. */
import { forbidden, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { PodTemplateSpec, LabelSelector as SelectorObject } from '../../generated/types.ts';
import type { Column } from '../../kind/kind.ts';
import {
  formatLabelSelectorObject,
  type LabelSelectorObject,
  selectorFromObject,
  validateLabelSelectorObject,
} from '../../kind/label-selector.ts';
import { modelOf } from '../../model/model.ts';
import { changedFields } from '../shared/change.ts';
import {
  containersCell,
  containersColumn,
  imagesCell,
  imagesColumn,
  selectorColumn,
  wide,
} from '../shared/columns.ts';
import type { Findings } from '../shared/findings.ts';

export const revisionHistoryLimitDefault = 10;

/** Spec fields that all of them have. */
export interface WorkloadSpec {
  selector?: SelectorObject;
  template?: PodTemplateSpec;
}

/** Whether the selector is valid. A missing one selects nothing, which is valid. */
export function* selectorErrors({ selector }: WorkloadSpec): Findings<boolean> {
  const errors = validateLabelSelectorObject(selector as LabelSelectorObject | undefined, 'spec.selector');
  yield* errors;
  return errors.length === 0;
}

/**
 * A selector of everything is refused: it would adopt the pods of others. `whose` is the kind's name in the message.
 */
export function* emptySelectorErrors({ selector }: WorkloadSpec, whose: string): Findings {
  if (!selector) return;
  const terms = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions?.length ?? 0);
  if (terms === 0) yield invalid('spec.selector', selector, `empty selector is invalid for ${whose}`);
}

/** Rules for a required selector, like selectorErrors. */
export function* ownSelectorErrors(spec: WorkloadSpec, whose: string): Findings<boolean> {
  if (!spec.selector) yield required('spec.selector');
  const understood = yield* selectorErrors(spec);
  yield* emptySelectorErrors(spec, whose);
  return understood;
}

/** The selector must match the template's labels; otherwise the controller would create pods without end. */
export function* templateLabelErrors({ selector, template }: WorkloadSpec): Findings {
  const labels = template?.metadata?.labels;
  if (!selectorFromObject(selector as LabelSelectorObject | undefined).matches(labels))
    yield invalid(
      'spec.template.metadata.labels',
      labels ?? null,
      '`selector` does not match template `labels`',
    );
}

/** restartPolicy must be Always, and activeDeadlineSeconds is not allowed: these pods are to keep running. */
export function* endlessErrors({ template }: WorkloadSpec, kind: string): Findings {
  const { restartPolicy, activeDeadlineSeconds } = template?.spec ?? {};
  if (restartPolicy !== 'Always')
    yield notSupported('spec.template.spec.restartPolicy', restartPolicy ?? '', ['Always']);
  if (activeDeadlineSeconds !== undefined)
    yield forbidden(
      'spec.template.spec.activeDeadlineSeconds',
      `activeDeadlineSeconds in ${kind} is not Supported`,
    );
}

/** The selector is immutable. */
export function* selectorChangeErrors(spec: WorkloadSpec = {}, old: WorkloadSpec = {}): Findings {
  if (changedFields(modelOf('LabelSelector'), spec.selector ?? {}, old.selector ?? {}).length)
    yield invalid('spec.selector', spec.selector ?? null, 'field is immutable');
}

/** The last columns, shown only with `-o wide`. */
export const templateColumns: readonly Column[] = [wide(containersColumn), wide(imagesColumn)];
export const workloadColumns: readonly Column[] = [...templateColumns, wide(selectorColumn)];

export function templateCells({ template }: WorkloadSpec = {}): string[] {
  const containers = template?.spec?.containers;
  return [containersCell(containers), imagesCell(containers)];
}

export const workloadCells = (spec: WorkloadSpec = {}): string[] => [
  ...templateCells(spec),
  formatLabelSelectorObject(spec.selector as LabelSelectorObject | undefined),
];
