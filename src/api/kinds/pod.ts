/** Pod: one or more containers that run together on a node. */
import type { Pod } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';

export const pod = defineKind<Pod>({
  kind: 'Pod',
  resource: 'pods',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  subresources: [{ name: 'binding', kind: 'Binding', verbs: ['create'] }, statusSubresource],
  deleteReturnsObject: true,
  generationOf: 'spec',

  prepareForCreate(pod) {
    pod.status = { phase: 'Pending' };
  },

  // Unscheduled and finished pods have nobody to wait for.
  gracePeriodSeconds(pod, requested) {
    const phase = pod.status?.phase;
    if (!pod.spec?.nodeName || phase === 'Succeeded' || phase === 'Failed') return 0;
    return requested ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  },

  selectableFields: {
    'spec.nodeName': (pod) => pod.spec?.nodeName ?? '',
    'spec.restartPolicy': (pod) => pod.spec?.restartPolicy ?? '',
    'spec.schedulerName': (pod) => pod.spec?.schedulerName ?? '',
    'spec.serviceAccountName': (pod) => pod.spec?.serviceAccountName ?? '',
    'spec.hostNetwork': (pod) => String(pod.spec?.hostNetwork ?? false),
    'status.phase': (pod) => pod.status?.phase ?? '',
    'status.podIP': (pod) => pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? '',
    'status.podIPs': (pod) => pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? '',
    'status.nominatedNodeName': (pod) => pod.status?.nominatedNodeName ?? '',
  },
  fieldAliases: { 'spec.host': 'spec.nodeName' },
});
