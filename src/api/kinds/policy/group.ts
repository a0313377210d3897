/** The policy group: how many pods may be disrupted at a time. */
import type { Group } from '../../kind/group.ts';
import { podDisruptionBudget } from './pod-disruption-budget.ts';
import { policyV1beta1 } from './policy-v1beta1.ts';

export const group: Group = {
  name: 'policy',
  priority: 17_100,
  versions: { v1: { bodies: ['core-v1:Eviction'] }, v1beta1: { priority: 9, bodies: ['core-v1:Eviction'] } },
  kinds: [podDisruptionBudget, policyV1beta1],
};
