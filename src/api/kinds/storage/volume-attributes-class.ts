/** VolumeAttributesClass: attributes that a storage driver gives to volumes, and can change while they are used. */
import { type FieldError, forbidden, required } from '../../errors/field-error.ts';
import type { VolumeAttributesClass } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { modelOf } from '../../model/model.ts';
import { attributesProtection } from '../../rules/pod/in-use-protection.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { parameterErrors, provisionerErrors } from '../../rules/storage/storage-parameters.ts';

function* classErrors({ driverName, parameters }: VolumeAttributesClass): Findings {
  yield* provisionerErrors(driverName, 'driverName');
  yield* parameterErrors(parameters);
  if (!parameters || Object.keys(parameters).length === 0)
    yield required('parameters', 'must contain at least one key/value pair');
}

const changeErrors = (attributes: VolumeAttributesClass, old: VolumeAttributesClass): FieldError[] =>
  changedFields(modelOf('VolumeAttributesClass', 'storage-v1'), attributes, old)
    .filter((name) => name === 'driverName' || name === 'parameters')
    .map((name) => forbidden(name, `updates to ${name} are forbidden.`));

export const volumeAttributesClass = defineKind<VolumeAttributesClass>({
  kind: 'VolumeAttributesClass',
  resource: 'volumeattributesclasses',
  singular: 'volumeattributesclass',
  shortNames: ['vac'],
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: false,
  deletion: { returnsObject: true, protection: attributesProtection },

  validate: (attributes) => collect(classErrors(attributes)),
  validateUpdate: changeErrors,

  columns: [nameColumn, { name: 'DriverName', description: 'The driver of the volumes.' }, ageColumn],
  cells: (attributes) => [attributes.metadata.name, attributes.driverName ?? '', ageCell(attributes)],
});
