/** The apps group: workloads that keep pods running. */
import type { Group } from '../../kind/group.ts';
import { controllerRevision } from './controller-revision.ts';
import { daemonSet } from './daemon-set.ts';
import { deployment } from './deployment.ts';
import { replicaSet } from './replica-set.ts';
import { statefulSet } from './stateful-set.ts';

export const group: Group = {
  name: 'apps',
  priority: 17_800,
  versions: { v1: {} },
  kinds: [controllerRevision, daemonSet, deployment, replicaSet, statefulSet],
};
