/** The extensions group, the oldest of its kinds. */
import type { Group, UnstoredResource } from '../../kind/group.ts';
import { horizontalPodAutoscaler } from './horizontal-pod-autoscaler.ts';
import { ingress } from './ingress.ts';
import { job } from './job.ts';

/**
 * The scale of a controller was served by this group first, and still is. The controller itself is only named here, as
 * it was in Kubernetes 1.1, so that the scale is a part of something: it has no verbs.
 */
const controllerScale: readonly UnstoredResource[] = [
  {
    name: 'replicationcontrollers',
    singularName: 'replicationcontroller',
    namespaced: true,
    kind: 'ReplicationControllerDummy',
    verbs: [],
  },
  {
    name: 'replicationcontrollers/scale',
    singularName: '',
    namespaced: true,
    kind: 'Scale',
    verbs: ['get', 'patch', 'update'],
  },
];

export const group: Group = {
  name: 'extensions',
  // Last, because clients take a kind from the first group that has it, and its kinds are also elsewhere.
  priority: 1,
  versions: { v1beta1: { priority: 1, bodies: ['Scale'], resources: controllerScale } },
  kinds: [horizontalPodAutoscaler, ingress, job],
};
