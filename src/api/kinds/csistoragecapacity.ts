/** CSIStorageCapacity: how much storage of a class is left for some nodes. */
import type { CSIStorageCapacity } from '../generated/types.ts';
import { defineKind } from '../kind.ts';

export const csiStorageCapacity = defineKind<CSIStorageCapacity>({
  kind: 'CSIStorageCapacity',
  resource: 'csistoragecapacities',
  singular: 'csistoragecapacity',
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: true,
  versionRequired: true,
});
