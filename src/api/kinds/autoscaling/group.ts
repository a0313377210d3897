/** The autoscaling group: numbers of replicas that follow the load. */
import type { Group } from '../../kind/group.ts';
import { autoscalingV1 } from './autoscaling-v1.ts';
import { autoscalingV2 } from './autoscaling-v2.ts';

export const group: Group = {
  name: 'autoscaling',
  priority: 17_500,
  versions: { v2: { priority: 30 }, v1: { bodies: ['Scale'] } },
  kinds: [autoscalingV2, autoscalingV1],
};
