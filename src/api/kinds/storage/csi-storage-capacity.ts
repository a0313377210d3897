/** CSIStorageCapacity: how much storage of a class is left for some nodes. */
import { child, type FieldError, index, invalid } from '../../errors/field-error.ts';
import type { CSIStorageCapacity } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { type LabelSelectorObject, validateLabelSelectorObject } from '../../kind/label-selector.ts';
import { modelOf } from '../../model/model.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { nodeLabelDeprecation } from '../../rules/shared/node-labels.ts';
import { isSubdomain1123 } from '../../values/names.ts';
import { parseQuantity, sign } from '../../values/quantity.ts';

function* capacityErrors({ nodeTopology, storageClassName = '', capacity }: CSIStorageCapacity): Findings {
  yield* validateLabelSelectorObject(nodeTopology as LabelSelectorObject, 'nodeTopology');
  yield* problemsOf('storageClassName', storageClassName, isSubdomain1123(storageClassName));
  if (capacity !== undefined && sign(parseQuantity(capacity)) < 0)
    yield invalid('capacity', capacity, 'must be greater than or equal to 0');
}

function changeErrors(capacity: CSIStorageCapacity, old: CSIStorageCapacity): FieldError[] {
  const changed = changedFields(modelOf('CSIStorageCapacity', 'storage-v1'), capacity, old);
  return (['nodeTopology', 'storageClassName'] as const)
    .filter((name) => changed.includes(name))
    .map((name) => invalid(name, capacity[name], 'field is immutable'));
}

function* deprecations({ nodeTopology }: CSIStorageCapacity): Generator<string> {
  for (const key of Object.keys(nodeTopology?.matchLabels ?? {})) {
    const deprecation = nodeLabelDeprecation(key);
    if (deprecation) yield `nodeTopology.matchLabels.${key}: ${deprecation}`;
  }
  for (const [i, { key = '' }] of (nodeTopology?.matchExpressions ?? []).entries()) {
    const deprecation = nodeLabelDeprecation(key);
    const path = child(index('nodeTopology.matchExpressions', i), 'key');
    if (deprecation) yield `${path}: ${key} is ${deprecation}`;
  }
}

export const csiStorageCapacity = defineKind<CSIStorageCapacity>({
  kind: 'CSIStorageCapacity',
  resource: 'csistoragecapacities',
  singular: 'csistoragecapacity',
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: true,
  versionRequired: true,

  validate: (capacity) => collect(capacityErrors(capacity)),
  validateUpdate: changeErrors,
  warnings: (capacity) => [...deprecations(capacity)],
});
