/** DeviceClass: which devices requests of the class may get, and how the devices are set up. */
import type { DeviceClass } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';

export const deviceClass = defineKind<DeviceClass>({
  kind: 'DeviceClass',
  resource: 'deviceclasses',
  singular: 'deviceclass',
  group: 'resource.k8s.io',
  version: 'v1',
  table: 'resource-v1',
  namespaced: false,
  deleteReturnsObject: true,
  generationOf: 'spec',

  columns: [nameColumn, ageColumn],
  cells: (device) => [device.metadata.name, ageCell(device)],
});
