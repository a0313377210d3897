/** RuntimeClass: a way to run the containers of pods, and what pods of it need. */
import type { RuntimeClass } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';
import { roundResources } from '../rules/resourcename.ts';

export const runtimeClass = defineKind<RuntimeClass>({
  kind: 'RuntimeClass',
  resource: 'runtimeclasses',
  singular: 'runtimeclass',
  group: 'node.k8s.io',
  version: 'v1',
  table: 'node-v1',
  namespaced: false,
  createOnUpdate: true,
  versionRequired: true,

  defaults({ overhead }) {
    roundResources(overhead?.podFixed);
  },

  columns: [nameColumn, { name: 'Handler', description: 'What the runtime of a node calls it.' }, ageColumn],
  cells: (runtime) => [runtime.metadata.name, runtime.handler ?? '', ageCell(runtime)],
});
