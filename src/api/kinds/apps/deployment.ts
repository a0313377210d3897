/**
 * Deployment: keeps a number of pods of a template running, and replaces them step by step when the template changes.
 */
import { child, forbidden, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  Deployment,
  DeploymentSpec,
  DeploymentStatus,
  DeploymentStrategy,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { inMetadata, resetting } from '../../kind/reset-fields.ts';
import { scale, status } from '../../kind/subresource.ts';
import { modelOf } from '../../model/model.ts';
import { makerWarnings } from '../../rules/pod-warnings/pod-warnings.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, negative } from '../../rules/shared/findings.ts';
import {
  boundErrors,
  isZero,
  overWholeErrors,
  type RollingBounds,
} from '../../rules/workload/rolling-update.ts';
import { defaultPodTemplate } from '../../rules/workload/template.ts';
import {
  revisionHistoryLimitDefault,
  selectorChangeErrors,
  workloadCells,
  workloadColumns,
} from '../../rules/workload/workload.ts';
import {
  availableErrors,
  collisionErrors,
  negativeCounts,
  partErrors,
} from '../../rules/workload/workload-status.ts';
import { replicatedErrors } from './replica-set.ts';

const progressDeadlineSecondsDefault = 600;
const boundDefault = '25%';

export const deployment = defineKind<Deployment>({
  kind: 'Deployment',
  resource: 'deployments',
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  group: 'apps',
  table: 'apps-v1',
  namespaced: true,
  subresources: [
    scale(),
    status({
      prepare({ metadata }, old) {
        metadata.labels = old.metadata.labels && { ...old.metadata.labels };
      },
      validate: ({ status }, old) => collect(statusErrors(status ?? {}, old)),
      resets: resetting(['spec'], inMetadata('labels')),
    }),
  ],
  generationOf: 'spec',

  defaults(object) {
    const spec = (object.spec ??= {});
    spec.replicas ??= 1;
    defaultStrategy((spec.strategy ??= {}));
    spec.revisionHistoryLimit ??= revisionHistoryLimitDefault;
    spec.progressDeadlineSeconds ??= progressDeadlineSecondsDefault;
    defaultPodTemplate((spec.template ??= {}));
  },

  prepareForUpdate({ metadata }, { metadata: old }) {
    // Annotations are copied to replica sets, so their changes increase the generation.
    const { annotations } = metadata;
    if (changedFields(modelOf('ObjectMeta'), { annotations }, { annotations: old.annotations }).length)
      metadata.generation = (old.generation ?? 0) + 1;
  },

  validate: ({ spec }) => collect(specErrors(spec ?? {})),

  validateUpdate: ({ spec }, old) => collect(selectorChangeErrors(spec, old.spec)),

  warnings: (object, old) => makerWarnings(object, old, object.spec?.template, 'spec.template'),

  columns: [
    nameColumn,
    { name: 'Ready', description: 'Pods that are ready, of those there should be.' },
    { name: 'Up-to-date', description: 'Pods that were made from the template of today.' },
    { name: 'Available', description: 'Pods that have been ready for long enough.' },
    ageColumn,
    ...workloadColumns,
  ],
  cells: (object) => [
    object.metadata.name,
    `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 0}`,
    object.status?.updatedReplicas ?? 0,
    object.status?.availableReplicas ?? 0,
    ageCell(object),
    ...workloadCells(object.spec),
  ],
});

function defaultStrategy(strategy: DeploymentStrategy): void {
  strategy.type ??= 'RollingUpdate';
  if (strategy.type !== 'RollingUpdate') return;
  const bounds = (strategy.rollingUpdate ??= {});
  bounds.maxUnavailable ??= boundDefault;
  bounds.maxSurge ??= boundDefault;
}

function* specErrors(spec: DeploymentSpec): Findings {
  yield* negative('spec.replicas', spec.replicas);
  yield* replicatedErrors(spec);
  yield* strategyErrors(spec.strategy ?? {}, 'spec.strategy');
  const { minReadySeconds = 0, progressDeadlineSeconds } = spec;
  yield* negative('spec.minReadySeconds', minReadySeconds);
  yield* negative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
  if (progressDeadlineSeconds === undefined) return;
  const path = 'spec.progressDeadlineSeconds';
  yield* negative(path, progressDeadlineSeconds);
  // Otherwise no pod could become available before the deadline.
  if (progressDeadlineSeconds <= minReadySeconds)
    yield invalid(path, progressDeadlineSeconds, 'must be greater than minReadySeconds');
}

function* strategyErrors(strategy: DeploymentStrategy, path: string): Findings {
  const { type, rollingUpdate } = strategy;
  const rollingPath = child(path, 'rollingUpdate');
  if (type === 'Recreate') {
    if (rollingUpdate)
      yield forbidden(rollingPath, "may not be specified when strategy `type` is 'Recreate'");
  } else if (type !== 'RollingUpdate') yield notSupported(path, strategy, ['Recreate', 'RollingUpdate']);
  else if (!rollingUpdate) yield required(rollingPath, 'this should be defaulted and never be nil');
  else yield* rollingUpdateErrors(rollingUpdate, rollingPath);
}

function* rollingUpdateErrors(bounds: RollingBounds, path: string): Findings {
  const unavailablePath = child(path, 'maxUnavailable');
  yield* boundErrors(bounds, path);
  // With both at zero a rollout could not make its first step.
  if (isZero(bounds.maxUnavailable) && isZero(bounds.maxSurge))
    yield invalid(unavailablePath, bounds.maxUnavailable, 'may not be 0 when `maxSurge` is 0');
  yield* overWholeErrors(bounds.maxUnavailable, unavailablePath);
}

function* statusErrors(status: DeploymentStatus, old: Deployment): Findings {
  const parts = ['updatedReplicas', 'readyReplicas', 'availableReplicas'] as const;
  yield* negativeCounts(status, [
    'observedGeneration',
    'replicas',
    ...parts,
    'unavailableReplicas',
    'terminatingReplicas',
    'collisionCount',
  ]);
  yield* partErrors(status, parts);
  yield* availableErrors(status);
  yield* collisionErrors(status, old.status);
}
