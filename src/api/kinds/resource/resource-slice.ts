/** ResourceSlice: devices of a driver, and from which nodes they can be used. */
import { type FieldError, invalid } from '../../errors/field-error.ts';
import type { ResourceSlice } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { sliceErrors } from '../../rules/device/resource-slices.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect } from '../../rules/shared/findings.ts';

function changeErrors({ spec = {} }: ResourceSlice, { spec: old = {} }: ResourceSlice): FieldError[] {
  const fields = {
    'spec.pool.name': [spec.pool?.name, old.pool?.name],
    'spec.driver': [spec.driver, old.driver],
    'spec.nodeName': [spec.nodeName, old.nodeName],
  };
  return Object.entries(fields).flatMap(([path, [now, before]]) =>
    now === before ? [] : [invalid(path, now, 'field is immutable')],
  );
}

/** A taint says since when it is there. */
function setTaintTimes({ spec }: ResourceSlice, now: string): void {
  for (const { taints } of spec?.devices ?? []) for (const taint of taints ?? []) taint.timeAdded ??= now;
}

const warnings = ({ spec: { driver = '' } = {} }: ResourceSlice): string[] =>
  driver === driver.toLowerCase()
    ? []
    : [
        `spec.driver: driver names should be lowercase; ${JSON.stringify(driver)} contains uppercase characters`,
      ];

export const resourceSlice = defineKind<ResourceSlice>({
  kind: 'ResourceSlice',
  resource: 'resourceslices',
  singular: 'resourceslice',
  group: 'resource.k8s.io',
  version: 'v1',
  table: 'resource-v1',
  namespaced: false,
  deletion: { returnsObject: true },
  generationOf: 'spec',

  prepareForCreate: (slice, { now }) => setTaintTimes(slice, now),
  prepareForUpdate: (slice, _old, { now }) => setTaintTimes(slice, now),

  validate: ({ spec = {} }) => collect(sliceErrors(spec)),
  validateUpdate: changeErrors,
  warnings,

  selectableFields: {
    'spec.nodeName': ({ spec }) => spec?.nodeName ?? '',
    'spec.driver': ({ spec }) => spec?.driver ?? '',
  },
  unknownField: (path) => `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${path}`,

  columns: [
    nameColumn,
    { name: 'Node', description: 'The node of the devices.' },
    { name: 'Driver', description: 'The driver of the devices.' },
    { name: 'Pool', description: 'The pool that the devices belong to.' },
    ageColumn,
  ],
  cells: (slice) => [
    slice.metadata.name,
    slice.spec?.nodeName ?? '',
    slice.spec?.driver ?? '',
    slice.spec?.pool?.name ?? '',
    ageCell(slice),
  ],
});
