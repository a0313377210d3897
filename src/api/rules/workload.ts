/** Workloads: what the kinds of apps that keep pods of a template running have in common. */
import { forbidden, invalid, notSupported, required } from '../fielderror.ts';
import type { PodTemplateSpec, LabelSelector as SelectorObject } from '../generated/types.ts';
import type { Column, Subresource } from '../kind.ts';
import {
  formatLabelSelectorObject,
  type LabelSelectorObject,
  selectorFromObject,
  validateLabelSelectorObject,
} from '../labelselector.ts';
import { modelOf } from '../model.ts';
import { changedFields } from './change.ts';
import {
  containersCell,
  containersColumn,
  imagesCell,
  imagesColumn,
  selectorColumn,
  wide,
} from './columns.ts';
import type { Findings } from './findings.ts';

export const revisionHistoryLimitDefault = 10;

/** What all of them have in their spec. */
export interface WorkloadSpec {
  selector?: SelectorObject;
  template?: PodTemplateSpec;
}

/** The number of replicas as a path of its own. */
export const scaleSubresource: Subresource = {
  name: 'scale',
  kind: 'Scale',
  group: 'autoscaling',
  version: 'v1',
  verbs: ['get', 'patch', 'update'],
};

/** Tells whether the selector can be understood. A workload without one selects nothing, which is understood. */
export function* selectorErrors({ selector }: WorkloadSpec): Findings<boolean> {
  const errors = validateLabelSelectorObject(selector as LabelSelectorObject | undefined, 'spec.selector');
  yield* errors;
  return errors.length === 0;
}

/** A selector of everything would take over the pods of others. `whose` is how Kubernetes calls the kind here. */
export function* emptySelectorErrors({ selector }: WorkloadSpec, whose: string): Findings {
  if (!selector) return;
  const terms = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions?.length ?? 0);
  if (terms === 0) yield invalid('spec.selector', selector, `empty selector is invalid for ${whose}`);
}

/** The rules for a selector that has to be there, as selectorErrors. */
export function* ownSelectorErrors(spec: WorkloadSpec, whose: string): Findings<boolean> {
  if (!spec.selector) yield required('spec.selector');
  const understood = yield* selectorErrors(spec);
  yield* emptySelectorErrors(spec, whose);
  return understood;
}

/** A workload that does not select the pods it makes would make more and more of them. */
export function* templateLabelErrors({ selector, template }: WorkloadSpec): Findings {
  const labels = template?.metadata?.labels;
  if (!selectorFromObject(selector as LabelSelectorObject | undefined).matches(labels))
    yield invalid(
      'spec.template.metadata.labels',
      labels ?? null,
      '`selector` does not match template `labels`',
    );
}

/** These pods are meant to run on: one that ends is started again, and none ends by the clock. */
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

/** Which pods belong to a workload is settled when it is made. */
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
