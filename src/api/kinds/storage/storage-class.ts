/** StorageClass: how volumes for claims are made. */
import {
  child,
  duplicate,
  type FieldError,
  index,
  invalid,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type { StorageClass, TopologySelectorTerm } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { modelOf } from '../../model/model.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { nodeLabelDeprecation } from '../../rules/shared/node-labels.ts';
import { isDefaultStorageClass } from '../../rules/storage/default-class.ts';
import { parameterErrors, provisionerErrors } from '../../rules/storage/storage-parameters.ts';
import { isQualifiedName } from '../../values/names.ts';

const reclaimPolicies = ['Delete', 'Retain'];
const bindingModes = ['Immediate', 'WaitForFirstConsumer'];

function* classErrors(storage: StorageClass): Findings {
  const { provisioner, parameters, reclaimPolicy, volumeBindingMode = '', allowedTopologies = [] } = storage;
  yield* provisionerErrors(provisioner, 'provisioner');
  yield* parameterErrors(parameters);
  if (reclaimPolicy && !reclaimPolicies.includes(reclaimPolicy))
    yield notSupported('reclaimPolicy', reclaimPolicy, reclaimPolicies);
  if (!bindingModes.includes(volumeBindingMode))
    yield notSupported('volumeBindingMode', volumeBindingMode, bindingModes);
  yield* topologyErrors(allowedTopologies);
}

function* topologyErrors(terms: readonly TopologySelectorTerm[]): Findings {
  // As in Kubernetes, a term that demands nothing counts as the repetition of one.
  const seen = terms.length ? [identity({})] : [];
  for (const [i, term] of terms.entries()) {
    const path = child(index('allowedTopologies', i), 'matchLabelExpressions');
    yield* termErrors(term, path);
    if (seen.includes(identity(term))) yield duplicate(path, '');
    seen.push(identity(term));
  }
}

function* termErrors({ matchLabelExpressions = [] }: TopologySelectorTerm, path: string): Findings {
  const keys = new Set<string>();
  for (const [i, { key = '', values = [] }] of matchLabelExpressions.entries()) {
    const entry = index(path, i);
    if (values.length === 0) yield required(child(entry, 'values'));
    for (const [j, value] of values.entries())
      if (values.indexOf(value) < j) yield duplicate(index(child(entry, 'values'), j), value);
    yield* problemsOf(child(entry, 'key'), key, isQualifiedName(key));
    if (keys.has(key)) yield duplicate(child(entry, 'key'), key);
    keys.add(key);
  }
}

/** Terms are alike when they have the same values for the same keys, in any order. */
function identity({ matchLabelExpressions = [] }: TopologySelectorTerm): string {
  const values = new Map(
    matchLabelExpressions.map(({ key = '', values = [] }) => [key, [...new Set(values)]]),
  );
  return JSON.stringify([...values].map(([key, list]) => [key, list.sort()] as const).sort());
}

const fixedFields = ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const;

function changeErrors(storage: StorageClass, old: StorageClass): FieldError[] {
  const changed = changedFields(modelOf('StorageClass', 'storage-v1'), storage, old);
  return fixedFields
    .filter((name) => changed.includes(name))
    .map((name) => invalid(name, storage[name], 'field is immutable'));
}

const warnings = ({ allowedTopologies = [] }: StorageClass): string[] =>
  allowedTopologies.flatMap(({ matchLabelExpressions = [] }, i) =>
    matchLabelExpressions.flatMap(({ key = '' }, j) => {
      const deprecation = nodeLabelDeprecation(key);
      const path = child(index(child(index('allowedTopologies', i), 'matchLabelExpressions'), j), 'key');
      return deprecation ? [`${path}: ${deprecation}`] : [];
    }),
  );

export const storageClass = defineKind<StorageClass>({
  kind: 'StorageClass',
  resource: 'storageclasses',
  singular: 'storageclass',
  shortNames: ['sc'],
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: false,
  deletion: { returnsObject: true },

  defaults(storage) {
    storage.reclaimPolicy ??= 'Delete';
    storage.volumeBindingMode ??= 'Immediate';
  },

  validate: (storage) => collect(classErrors(storage)),
  validateUpdate: changeErrors,
  warnings,

  columns: [
    nameColumn,
    { name: 'Provisioner', description: 'Who makes the volumes.' },
    { name: 'ReclaimPolicy', description: 'What becomes of a volume when its claim is gone.' },
    { name: 'VolumeBindingMode', description: 'When a volume is made: at once, or for the first pod.' },
    { name: 'AllowVolumeExpansion', description: 'Whether claims may grow.' },
    ageColumn,
  ],
  cells: (storage) => [
    `${storage.metadata.name}${isDefaultStorageClass(storage) ? ' (default)' : ''}`,
    storage.provisioner ?? '',
    storage.reclaimPolicy ?? 'Delete',
    storage.volumeBindingMode ?? 'Immediate',
    storage.allowVolumeExpansion ?? false,
    ageCell(storage),
  ],
});
