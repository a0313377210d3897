/** ResourceSlice: devices of a driver, and from which nodes they can be used. */
import type { ResourceSlice } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';

export const resourceSlice = defineKind<ResourceSlice>({
  kind: 'ResourceSlice',
  resource: 'resourceslices',
  singular: 'resourceslice',
  group: 'resource.k8s.io',
  version: 'v1',
  table: 'resource-v1',
  namespaced: false,
  deleteReturnsObject: true,
  generationOf: 'spec',

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
