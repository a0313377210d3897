/** ReplicaSet: keeps a number of pods of one template running. */
import { invalid } from '../../errors/field-error.ts';
import type { ReplicaSet, ReplicaSetSpec, ReplicaSetStatus } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { scale, status } from '../../kind/subresource.ts';
import { makerWarnings } from '../../rules/pod-warnings/pod-warnings.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, negative } from '../../rules/shared/findings.ts';
import { defaultPodTemplate, templateErrors } from '../../rules/workload/template.ts';
import {
  endlessErrors,
  ownSelectorErrors,
  selectorChangeErrors,
  templateLabelErrors,
  type WorkloadSpec,
  workloadCells,
  workloadColumns,
} from '../../rules/workload/workload.ts';
import { availableErrors, negativeCounts, partErrors } from '../../rules/workload/workload-status.ts';

export const replicaSet = defineKind<ReplicaSet>({
  kind: 'ReplicaSet',
  resource: 'replicasets',
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  group: 'apps',
  table: 'apps-v1',
  namespaced: true,
  subresources: [scale(), status({ validate: ({ status }) => collect(statusErrors(status ?? {})) })],
  generationOf: 'spec',

  defaults(object) {
    const spec = (object.spec ??= {});
    spec.replicas ??= 1;
    defaultPodTemplate((spec.template ??= {}));
  },

  validate: ({ spec }) => collect(specErrors(spec ?? {})),

  validateUpdate: ({ spec }, old) => collect(selectorChangeErrors(spec, old.spec)),

  warnings: (object, old) => makerWarnings(object, old, object.spec?.template, 'spec.template'),

  columns: [
    nameColumn,
    { name: 'Desired', type: 'integer', description: 'Pods there should be.' },
    { name: 'Current', type: 'integer', description: 'Pods there are.' },
    { name: 'Ready', type: 'integer', description: 'Pods that are ready.' },
    ageColumn,
    ...workloadColumns,
  ],
  cells: (object) => [
    object.metadata.name,
    object.spec?.replicas ?? 0,
    object.status?.replicas ?? 0,
    object.status?.readyReplicas ?? 0,
    ageCell(object),
    ...workloadCells(object.spec),
  ],
});

function* specErrors(spec: ReplicaSetSpec): Findings {
  yield* negative('spec.replicas', spec.replicas);
  yield* negative('spec.minReadySeconds', spec.minReadySeconds);
  yield* replicatedErrors(spec);
}

/** Deployments have the same rules for selector and template, with the same messages. */
export function* replicatedErrors(spec: WorkloadSpec): Findings {
  const understood = yield* ownSelectorErrors(spec, 'deployment');
  if (!understood) return yield invalid('spec.selector', spec.selector, 'invalid label selector');
  yield* templateLabelErrors(spec);
  yield* templateErrors(spec.template ?? {}, 'spec.template');
  yield* endlessErrors(spec, 'ReplicaSet');
}

function* statusErrors(status: ReplicaSetStatus): Findings {
  const parts = ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'] as const;
  yield* negativeCounts(status, ['replicas', ...parts, 'observedGeneration', 'terminatingReplicas']);
  yield* partErrors(status, parts);
  yield* availableErrors(status);
}
