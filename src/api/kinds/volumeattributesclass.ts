/** VolumeAttributesClass: attributes that a storage driver gives to volumes, and can change while they are used. */
import type { VolumeAttributesClass } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';

export const volumeAttributesClass = defineKind<VolumeAttributesClass>({
  kind: 'VolumeAttributesClass',
  resource: 'volumeattributesclasses',
  singular: 'volumeattributesclass',
  shortNames: ['vac'],
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: false,
  deleteReturnsObject: true,

  columns: [nameColumn, { name: 'DriverName', description: 'The driver of the volumes.' }, ageColumn],
  cells: (attributes) => [attributes.metadata.name, attributes.driverName ?? '', ageCell(attributes)],
});
