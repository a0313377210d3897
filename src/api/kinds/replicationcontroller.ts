/** ReplicationController: keeps a number of pods running. */
import type { ReplicationController } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';

export const replicationController = defineKind<ReplicationController>({
  kind: 'ReplicationController',
  resource: 'replicationcontrollers',
  singular: 'replicationcontroller',
  shortNames: ['rc'],
  categories: ['all'],
  namespaced: true,
  subresources: [
    { name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: ['get', 'patch', 'update'] },
    statusSubresource,
  ],
  generationOf: 'spec',
  // Before there was a garbage collector, deleting a controller left its pods; old clients count on it.
  defaultPropagation: 'Orphan',

  defaults(controller) {
    const spec = (controller.spec ??= {});
    const labels = spec.template?.metadata?.labels;
    if (labels && !spec.selector) spec.selector = { ...labels };
    if (labels && !controller.metadata.labels) controller.metadata.labels = { ...labels };
    spec.replicas ??= 1;
  },

  selectableFields: {
    'status.replicas': (controller) => String(controller.status?.replicas ?? 0),
  },
});
