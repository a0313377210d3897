/** The metrics group: what nodes and pods use now (`server/computed/metrics-api.ts`). */
import type { Group } from '../../kind/group.ts';

export const group: Group = {
  name: 'metrics.k8s.io',
  priority: 100,
  versions: { v1beta1: { priority: 100 } },
  package: 'io.k8s.metrics.pkg.apis.metrics',
};
