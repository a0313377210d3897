/** StatefulSet: keeps pods running that have stable names and their own volumes. */
import { child, forbidden, index, invalid, required } from '../../errors/field-error.ts';
import type {
  PersistentVolumeClaim,
  PodTemplateSpec,
  StatefulSet,
  StatefulSetSpec,
  StatefulSetStatus,
  StatefulSetUpdateStrategy,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { scale, status } from '../../kind/subresource.ts';
import { modelOf } from '../../model/model.ts';
import { changedTemplateWarnings } from '../../rules/pod-warnings/pod-warnings.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { choice, collect, type Findings, negative, problemsOf } from '../../rules/shared/findings.ts';
import { claimSpecErrors } from '../../rules/storage/claim-spec.ts';
import { claimSpecWarnings } from '../../rules/storage/claim-warnings.ts';
import { defaultPodTemplate, templateErrors } from '../../rules/workload/template.ts';
import {
  endlessErrors,
  ownSelectorErrors,
  revisionHistoryLimitDefault,
  templateCells,
  templateColumns,
  templateLabelErrors,
} from '../../rules/workload/workload.ts';
import {
  availableErrors,
  collisionErrors,
  negativeCounts,
  partErrors,
} from '../../rules/workload/workload-status.ts';
import { isLabel1123, labelName } from '../../values/names.ts';
import { persistentVolumeClaim } from '../core/persistent-volume-claim.ts';

/** Mutable fields, in the order of Kubernetes' message. */
const changeable: readonly (keyof StatefulSetSpec)[] = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
];

export const statefulSet = defineKind<StatefulSet>({
  kind: 'StatefulSet',
  resource: 'statefulsets',
  singular: 'statefulset',
  shortNames: ['sts'],
  categories: ['all'],
  group: 'apps',
  table: 'apps-v1',
  namespaced: true,
  // The host name of a pod is the set's name and an ordinal.
  nameRule: labelName,
  subresources: [
    scale(),
    status({ validate: ({ status }, old) => collect(statusErrors(status ?? {}, old)) }),
  ],
  generationOf: 'spec',

  defaults(object) {
    const spec = (object.spec ??= {});
    spec.podManagementPolicy ??= 'OrderedReady';
    defaultUpdateStrategy((spec.updateStrategy ??= {}));
    const retention = (spec.persistentVolumeClaimRetentionPolicy ??= {});
    retention.whenDeleted ??= 'Retain';
    retention.whenScaled ??= 'Retain';
    spec.replicas ??= 1;
    spec.revisionHistoryLimit ??= revisionHistoryLimitDefault;
    defaultPodTemplate((spec.template ??= {}));
    for (const claim of spec.volumeClaimTemplates ?? []) defaultClaim(claim);
  },

  validate: ({ spec }, old) => collect(specErrors(spec ?? {}, old)),

  validateUpdate: ({ spec = {} }, old) => collect(changeErrors(spec, old.spec ?? {})),

  warnings: (object, old) => [
    ...changedTemplateWarnings(object, old, object.spec?.template, 'spec.template'),
    ...claimWarnings(object.spec ?? {}, old),
    ...historyWarnings(object.spec ?? {}),
  ],

  columns: [
    nameColumn,
    { name: 'Ready', description: 'Pods that are ready, of those there should be.' },
    ageColumn,
    ...templateColumns,
  ],
  cells: (object) => [
    object.metadata.name,
    `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 0}`,
    ageCell(object),
    ...templateCells(object.spec),
  ],
});

/** A strategy that is given without its parameters gets no default parameters. */
function defaultUpdateStrategy(strategy: StatefulSetUpdateStrategy): void {
  if (strategy.type === undefined) {
    strategy.type = 'RollingUpdate';
    strategy.rollingUpdate ??= {};
  }
  if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate) strategy.rollingUpdate.partition ??= 0;
}

/** A claim template is encoded like a whole object. */
function defaultClaim(claim: PersistentVolumeClaim): void {
  claim.kind = 'PersistentVolumeClaim';
  claim.apiVersion = 'v1';
  persistentVolumeClaim.defaults!(claim);
}

/** Immutable fields are checked on create only. */
function* specErrors(spec: StatefulSetSpec, old: StatefulSet | undefined): Findings {
  yield* policyErrors(spec);
  if (!old)
    for (const [i, claim] of (spec.volumeClaimTemplates ?? []).entries())
      yield* claimSpecErrors(claim.spec ?? {}, child(index('spec.volumeClaimTemplates', i), 'spec'));
  yield* negative('spec.replicas', spec.replicas);
  yield* negative('spec.minReadySeconds', spec.minReadySeconds);
  yield* negative('spec.ordinals.start', spec.ordinals?.start);
  if (!old && spec.serviceName)
    yield* problemsOf('spec.serviceName', spec.serviceName, isLabel1123(spec.serviceName));
  const understood = yield* ownSelectorErrors(spec, 'statefulset');
  if (understood) {
    yield* templateLabelErrors(spec);
    yield* templateErrors(completed(spec), 'spec.template');
  } else yield invalid('spec.selector', spec.selector, '');
  yield* endlessErrors(spec, 'StatefulSet');
}

function* policyErrors(spec: StatefulSetSpec): Findings {
  const { podManagementPolicy: management, persistentVolumeClaimRetentionPolicy: retention } = spec;
  const managementPath = 'spec.podManagementPolicy';
  if (!management) yield required(managementPath);
  else if (management !== 'OrderedReady' && management !== 'Parallel')
    yield invalid(managementPath, management, "must be 'OrderedReady' or 'Parallel'");
  yield* updateStrategyErrors(spec.updateStrategy ?? {}, 'spec.updateStrategy');
  for (const name of ['whenDeleted', 'whenScaled'] as const)
    yield* choice(`spec.persistentVolumeClaimRetentionPolicy.${name}`, retention?.[name], [
      'Retain',
      'Delete',
    ]);
}

function* updateStrategyErrors(strategy: StatefulSetUpdateStrategy, path: string): Findings {
  const { type, rollingUpdate } = strategy;
  const rollingPath = child(path, 'rollingUpdate');
  if (type === 'RollingUpdate') yield* negative(child(rollingPath, 'partition'), rollingUpdate?.partition);
  else if (type !== 'OnDelete') yield invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'");
  else if (rollingUpdate)
    yield invalid(rollingPath, rollingUpdate, "only allowed for updateStrategy 'RollingUpdate'");
}

/** The template as its pods will have it: with the volumes of its claims, and without host names. */
function completed({ template = {}, volumeClaimTemplates = [] }: StatefulSetSpec): PodTemplateSpec {
  const claimed = new Set(volumeClaimTemplates.map(({ metadata }) => metadata?.name ?? ''));
  const volumes = [
    ...[...claimed].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...(template.spec?.volumes ?? []).filter(({ name }) => !claimed.has(name ?? '')),
  ];
  return { ...template, spec: { ...template.spec, volumes, hostname: undefined, subdomain: undefined } };
}

function* changeErrors(spec: StatefulSetSpec, old: StatefulSetSpec): Findings {
  const changed = changedFields(modelOf('StatefulSetSpec', 'apps-v1'), spec, old);
  if (changed.every((name) => changeable.includes(name as keyof StatefulSetSpec))) return;
  const names = changeable.map((name) => `'${name}'`);
  const last = names.pop();
  yield forbidden(
    'spec',
    `updates to statefulset spec for fields other than ${names.join(', ')} and ${last} are forbidden`,
  );
}

function* statusErrors(status: StatefulSetStatus, old: StatefulSet): Findings {
  const parts = ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'] as const;
  yield* negativeCounts(status, ['replicas', ...parts, 'observedGeneration', 'collisionCount']);
  yield* partErrors(status, parts);
  yield* availableErrors(status, 'status.readyReplicas');
  yield* collisionErrors(status, old.status);
}

/** Kubernetes reports another path on update than on create. */
function* claimWarnings(
  { volumeClaimTemplates = [] }: StatefulSetSpec,
  old: StatefulSet | undefined,
): Generator<string> {
  for (const [i, { spec }] of volumeClaimTemplates.entries()) {
    const entry = index('spec.volumeClaimTemplates', i);
    yield* claimSpecWarnings(spec, old ? child(entry, 'Spec') : entry);
  }
}

const historyWarnings = ({ revisionHistoryLimit = 0 }: StatefulSetSpec): string[] =>
  revisionHistoryLimit < 0
    ? [
        'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
      ]
    : [];
