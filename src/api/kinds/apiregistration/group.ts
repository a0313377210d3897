/** The apiregistration group: versions, and which server serves each. */
import type { Group } from '../../kind/group.ts';
import { apiService } from './api-service.ts';

export const group: Group = {
  name: 'apiregistration.k8s.io',
  // First of all, as in Kubernetes: versions of other servers may ask for 20,000 at most.
  priority: 20_001,
  versions: { v1: {} },
  package: 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
  kinds: [apiService],
};
