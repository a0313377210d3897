/** The coordination group: locks that expire. */
import type { Group } from '../../kind/group.ts';
import { lease } from './lease.ts';

export const group: Group = {
  name: 'coordination.k8s.io',
  priority: 16_500,
  versions: { v1: {} },
  kinds: [lease],
};
