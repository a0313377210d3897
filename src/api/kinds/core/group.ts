/** The core group, which has no name and is served under `/api`. */
import type { Group } from '../../kind/group.ts';
import { componentStatus } from './component-status.ts';
import { configMap } from './config-map.ts';
import { endpoints } from './endpoints.ts';
import { event } from './event.ts';
import { limitRange } from './limit-range.ts';
import { namespace } from './namespace.ts';
import { node } from './node.ts';
import { persistentVolume } from './persistent-volume.ts';
import { persistentVolumeClaim } from './persistent-volume-claim.ts';
import { pod } from './pod.ts';
import { podTemplate } from './pod-template.ts';
import { replicationController } from './replication-controller.ts';
import { resourceQuota } from './resource-quota.ts';
import { secret } from './secret.ts';
import { service } from './service.ts';
import { serviceAccount } from './service-account.ts';
import { unstoredResources } from './unstored-resources.ts';

export const group: Group = {
  name: '',
  priority: 18_000,
  versions: { v1: { priority: 1, bodies: ['Binding'], resources: unstoredResources } },
  kinds: [
    configMap,
    endpoints,
    event,
    limitRange,
    namespace,
    node,
    persistentVolume,
    persistentVolumeClaim,
    pod,
    podTemplate,
    replicationController,
    resourceQuota,
    secret,
    service,
    serviceAccount,
  ],
  computedKinds: [componentStatus],
};
