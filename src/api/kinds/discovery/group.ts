/** The discovery group: the addresses behind services. */
import type { Group } from '../../kind/group.ts';
import { endpointSlice } from './endpoint-slice.ts';

export const group: Group = {
  name: 'discovery.k8s.io',
  priority: 16_200,
  versions: { v1: {} },
  kinds: [endpointSlice],
};
