/** CSINode: the storage drivers on a node. */
import type { CSINode } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';

export const csiNode = defineKind<CSINode>({
  kind: 'CSINode',
  resource: 'csinodes',
  singular: 'csinode',
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: false,
  versionRequired: true,
  deleteReturnsObject: true,

  columns: [
    nameColumn,
    { name: 'Drivers', type: 'integer', description: 'How many drivers the node has.' },
    ageColumn,
  ],
  cells: (node) => [node.metadata.name, node.spec?.drivers?.length ?? 0, ageCell(node)],
});
