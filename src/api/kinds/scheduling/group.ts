/** The scheduling group: priorities of pods. */
import type { Group } from '../../kind/group.ts';
import { priorityClass } from './priority-class.ts';

export const group: Group = {
  name: 'scheduling.k8s.io',
  priority: 16_600,
  versions: { v1: {} },
  kinds: [priorityClass],
};
