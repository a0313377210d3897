/** The flowcontrol group: how requests share the server. */
import type { Group } from '../../kind/group.ts';
import { flowSchema } from './flow-schema.ts';
import { priorityLevelConfiguration } from './priority-level-configuration.ts';

export const group: Group = {
  name: 'flowcontrol.apiserver.k8s.io',
  priority: 16_100,
  versions: { v1: { priority: 21 } },
  kinds: [flowSchema, priorityLevelConfiguration],
};
