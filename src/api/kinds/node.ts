/** Node: a machine that runs pods. */
import type { Node } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';

export const node = defineKind<Node>({
  kind: 'Node',
  resource: 'nodes',
  singular: 'node',
  shortNames: ['no'],
  namespaced: false,
  subresources: [statusSubresource],
  keepStatusOnCreate: true,

  selectableFields: { 'spec.unschedulable': (node) => String(node.spec?.unschedulable ?? false) },
});
