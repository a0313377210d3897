/** DaemonSet: keeps one pod of a template on every node that fits. */
import { child, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  DaemonSet,
  DaemonSetSpec,
  DaemonSetStatus,
  DaemonSetUpdateStrategy,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { modelOf } from '../../model/model.ts';
import { templateWarnings } from '../../rules/pod-warnings/pod-warnings.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { ageCell, ageColumn, mapCell, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, negative } from '../../rules/shared/findings.ts';
import {
  boundErrors,
  isZero,
  overWholeErrors,
  type RollingBounds,
} from '../../rules/workload/rolling-update.ts';
import { defaultPodTemplate, templateErrors } from '../../rules/workload/template.ts';
import {
  emptySelectorErrors,
  endlessErrors,
  revisionHistoryLimitDefault,
  selectorChangeErrors,
  selectorErrors,
  templateLabelErrors,
  workloadCells,
  workloadColumns,
} from '../../rules/workload/workload.ts';
import { collisionErrors, negativeCounts } from '../../rules/workload/workload-status.ts';

/** The generation of the template, an annotation here; older versions had a field for it. */
const templateGeneration = 'deprecated.daemonset.template.generation';

export const daemonSet = defineKind<DaemonSet>({
  kind: 'DaemonSet',
  resource: 'daemonsets',
  singular: 'daemonset',
  shortNames: ['ds'],
  categories: ['all'],
  group: 'apps',
  table: 'apps-v1',
  namespaced: true,
  subresources: [
    status({
      prepare: (object, old) => countTemplate(object, templateCount(old)),
      validate: ({ status }, old) => collect(statusErrors(status ?? {}, old)),
    }),
  ],
  generationOf: 'spec',

  defaults(object) {
    const spec = (object.spec ??= {});
    defaultUpdateStrategy((spec.updateStrategy ??= {}));
    spec.revisionHistoryLimit ??= revisionHistoryLimitDefault;
    defaultPodTemplate((spec.template ??= {}));
  },

  defaultsOfNew: (object) => countTemplate(object, templateCount(object)),

  prepareForCreate: (object) => countTemplate(object, Math.max(1, templateCount(object))),

  prepareForUpdate(object, old) {
    const changed = changedFields(modelOf('DaemonSetSpec', 'apps-v1'), object.spec ?? {}, old.spec ?? {});
    countTemplate(object, templateCount(old) + (changed.includes('template') ? 1 : 0));
  },

  validate: ({ spec }) => collect(specErrors(spec ?? {})),

  validateUpdate: ({ spec }, old) => collect(selectorChangeErrors(spec, old.spec)),

  warnings(object, old) {
    if (old && templateCount(old) === templateCount(object)) return [];
    return templateWarnings(object.spec?.template, 'spec.template');
  },

  columns: [
    nameColumn,
    { name: 'Desired', type: 'integer', description: 'Nodes that should run a pod.' },
    { name: 'Current', type: 'integer', description: 'Nodes that should run a pod and have one.' },
    { name: 'Ready', type: 'integer', description: 'Nodes with a pod that is ready.' },
    { name: 'Up-to-date', type: 'integer', description: 'Nodes with a pod from the template of today.' },
    {
      name: 'Available',
      type: 'integer',
      description: 'Nodes with a pod that has been ready for long enough.',
    },
    { name: 'Node Selector', description: 'Labels a node must have to run a pod.' },
    ageColumn,
    ...workloadColumns,
  ],
  cells: (object) => [
    object.metadata.name,
    object.status?.desiredNumberScheduled ?? 0,
    object.status?.currentNumberScheduled ?? 0,
    object.status?.numberReady ?? 0,
    object.status?.updatedNumberScheduled ?? 0,
    object.status?.numberAvailable ?? 0,
    mapCell(object.spec?.template?.spec?.nodeSelector),
    ageCell(object),
    ...workloadCells(object.spec),
  ],
});

function defaultUpdateStrategy(strategy: DaemonSetUpdateStrategy): void {
  strategy.type ??= 'RollingUpdate';
  if (strategy.type !== 'RollingUpdate') return;
  const bounds = (strategy.rollingUpdate ??= {});
  bounds.maxUnavailable ??= 1;
  bounds.maxSurge ??= 0;
}

function templateCount({ metadata }: DaemonSet): number {
  const text = metadata.annotations?.[templateGeneration] ?? '';
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : 0;
}

function countTemplate({ metadata }: DaemonSet, count: number): void {
  metadata.annotations = { ...metadata.annotations, [templateGeneration]: String(count) };
}

function* specErrors(spec: DaemonSetSpec): Findings {
  const understood = yield* selectorErrors(spec);
  // A missing selector is not reported as required: the error is that it does not match the labels.
  if (understood) yield* templateLabelErrors(spec);
  yield* emptySelectorErrors(spec, 'daemonset');
  yield* templateErrors(spec.template ?? {}, 'spec.template');
  yield* endlessErrors(spec, 'DaemonSet');
  yield* negative('spec.minReadySeconds', spec.minReadySeconds);
  yield* updateStrategyErrors(spec.updateStrategy ?? {}, 'spec.updateStrategy');
  yield* negative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
}

function* updateStrategyErrors(strategy: DaemonSetUpdateStrategy, path: string): Findings {
  const { type, rollingUpdate } = strategy;
  const rollingPath = child(path, 'rollingUpdate');
  if (type === 'OnDelete') return;
  if (type !== 'RollingUpdate') yield notSupported(path, strategy, ['RollingUpdate', 'OnDelete']);
  else if (!rollingUpdate) yield required(rollingPath);
  else yield* rollingUpdateErrors(rollingUpdate, rollingPath);
}

/**
 * Exactly one of maxUnavailable and maxSurge is zero: a node either loses its old pod first or gets the new one
 * first.
 */
function* rollingUpdateErrors(bounds: RollingBounds, path: string): Findings {
  const { maxUnavailable, maxSurge } = bounds;
  const unavailablePath = child(path, 'maxUnavailable');
  const surgePath = child(path, 'maxSurge');
  yield* boundErrors(bounds, path);
  yield* overWholeErrors(maxUnavailable, unavailablePath);
  yield* overWholeErrors(maxSurge, surgePath);
  if (!isZero(maxUnavailable) && !isZero(maxSurge))
    yield invalid(surgePath, maxSurge, 'may not be set when maxUnavailable is non-zero');
  if (isZero(maxUnavailable) && isZero(maxSurge))
    yield required(unavailablePath, 'cannot be 0 when maxSurge is 0');
}

function* statusErrors(status: DaemonSetStatus, old: DaemonSet): Findings {
  yield* negativeCounts(status, [
    'currentNumberScheduled',
    'numberMisscheduled',
    'desiredNumberScheduled',
    'numberReady',
    'observedGeneration',
    'updatedNumberScheduled',
    'numberAvailable',
    'numberUnavailable',
    'collisionCount',
  ]);
  yield* collisionErrors(status, old.status);
}
