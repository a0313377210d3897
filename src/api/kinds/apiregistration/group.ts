/** The apiregistration group: versions, and which server serves each. */
import type { Group } from '../../kind/group.ts';
import { apiService } from './api-service.ts';

export const group: Group = {
  name: 'apiregistration.k8s.io',
  priority: 16_700,
  versions: { v1: {} },
  kinds: [apiService],
};
