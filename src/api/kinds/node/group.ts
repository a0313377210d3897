/** The node group: runtimes that containers can ask for. */
import type { Group } from '../../kind/group.ts';
import { runtimeClass } from './runtime-class.ts';

export const group: Group = {
  name: 'node.k8s.io',
  priority: 16_300,
  versions: { v1: {} },
  kinds: [runtimeClass],
};
