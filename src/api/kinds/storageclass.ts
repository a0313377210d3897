/** StorageClass: how volumes for claims are made. */
import type { StorageClass } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';
import { isDefaultStorageClass } from '../rules/defaultclass.ts';

export const storageClass = defineKind<StorageClass>({
  kind: 'StorageClass',
  resource: 'storageclasses',
  singular: 'storageclass',
  shortNames: ['sc'],
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: false,
  deleteReturnsObject: true,

  defaults(storage) {
    storage.reclaimPolicy ??= 'Delete';
    storage.volumeBindingMode ??= 'Immediate';
  },

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
