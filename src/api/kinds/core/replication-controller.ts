/** ReplicationController: keeps a number of pods running. */
import { forbidden, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { ReplicationController, ReplicationControllerStatus } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { selectorFromObject } from '../../kind/label-selector.ts';
import { scale, status } from '../../kind/subresource.ts';
import { makerWarnings } from '../../rules/pod-warnings/pod-warnings.ts';
import {
  ageCell,
  ageColumn,
  containersCell,
  containersColumn,
  imagesCell,
  imagesColumn,
  mapCell,
  nameColumn,
  selectorColumn,
  wide,
} from '../../rules/shared/columns.ts';
import { collect, type Findings, negative } from '../../rules/shared/findings.ts';
import { defaultPodTemplate, templateErrors } from '../../rules/workload/template.ts';

export const replicationController = defineKind<ReplicationController>({
  kind: 'ReplicationController',
  resource: 'replicationcontrollers',
  singular: 'replicationcontroller',
  shortNames: ['rc'],
  categories: ['all'],
  namespaced: true,
  subresources: [
    scale({ selectorIsMap: true }),
    status({ validate: ({ status }) => collect(statusErrors(status ?? {})) }),
  ],
  generationOf: 'spec',
  deletion: {
    // Orphan by default: before there was a garbage collector, pods were kept, and old clients rely on it.
    propagation: 'Orphan',
    orphansAtOnce: true,
  },

  defaults(controller) {
    const spec = (controller.spec ??= {});
    const labels = spec.template?.metadata?.labels;
    if (labels && !spec.selector) spec.selector = { ...labels };
    if (labels && !controller.metadata.labels) controller.metadata.labels = { ...labels };
    spec.replicas ??= 1;
    if (spec.template) defaultPodTemplate(spec.template);
  },

  validate: (controller) => collect(specErrors(controller)),

  warnings: (controller, old) => makerWarnings(controller, old, controller.spec?.template, 'spec.template'),

  selectableFields: {
    'status.replicas': (controller) => String(controller.status?.replicas ?? 0),
  },

  columns: [
    nameColumn,
    { name: 'Desired', type: 'integer', description: 'Pods there should be.' },
    { name: 'Current', type: 'integer', description: 'Pods there are.' },
    { name: 'Ready', type: 'integer', description: 'Pods that are ready.' },
    ageColumn,
    wide(containersColumn),
    wide(imagesColumn),
    wide(selectorColumn),
  ],
  cells(controller) {
    const containers = controller.spec?.template?.spec?.containers;
    return [
      controller.metadata.name,
      controller.spec?.replicas ?? 0,
      controller.status?.replicas ?? 0,
      controller.status?.readyReplicas ?? 0,
      ageCell(controller),
      containersCell(containers),
      imagesCell(containers),
      mapCell(controller.spec?.selector),
    ];
  },
});

function* specErrors({ spec = {} }: ReplicationController): Findings {
  yield* negative('spec.minReadySeconds', spec.minReadySeconds);
  const selects = Object.keys(spec.selector ?? {}).length > 0;
  if (!selects) yield required('spec.selector');
  yield* negative('spec.replicas', spec.replicas);
  const { template } = spec;
  if (!template) return yield required('spec.template');
  const labels = template.metadata?.labels;
  if (selects && !selectorFromObject({ matchLabels: spec.selector }).matches(labels))
    yield invalid(
      'spec.template.metadata.labels',
      labels ?? null,
      '`selector` does not match template `labels`',
    );
  yield* templateErrors(template, 'spec.template');
  const { restartPolicy, activeDeadlineSeconds } = template.spec ?? {};
  if (restartPolicy !== 'Always')
    yield notSupported('spec.template.spec.restartPolicy', restartPolicy ?? '', ['Always']);
  if (activeDeadlineSeconds !== undefined)
    yield forbidden(
      'spec.template.spec.activeDeadlineSeconds',
      'activeDeadlineSeconds in ReplicationController is not Supported',
    );
}

/** Each counts a subset of the pods that the previous one counts. */
function* statusErrors(status: ReplicationControllerStatus): Findings {
  const parts = ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'] as const;
  for (const name of ['replicas', ...parts, 'observedGeneration'] as const)
    yield* negative(`status.${name}`, status[name]);
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  for (const name of parts)
    if ((status[name] ?? 0) > replicas)
      yield invalid(`status.${name}`, status[name], 'cannot be greater than status.replicas');
  if (availableReplicas > readyReplicas)
    yield invalid('status.availableReplicas', availableReplicas, 'cannot be greater than readyReplicas');
}
