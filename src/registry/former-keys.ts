/**
 * Store keys of data format 1, which began with the plural alone, mapped to the keys of today. The table lists the
 * kinds of the versions that wrote format 1, and never changes.
 */
import type { ResourceId } from '../api/kind/kind.ts';
import type { Upgrade } from '../store/format.ts';
import { SEPARATOR } from '../store/store.ts';

const core =
  'configmaps endpoints events limitranges namespaces nodes persistentvolumes persistentvolumeclaims pods podtemplates replicationcontrollers resourcequotas secrets services serviceaccounts';

/** The groups of format 1, and the plurals of each. */
const groups: Readonly<Record<string, string>> = {
  core,
  apps: 'controllerrevisions daemonsets deployments replicasets statefulsets',
  autoscaling: 'horizontalpodautoscalers',
  batch: 'cronjobs jobs',
  'coordination.k8s.io': 'leases',
  extensions: 'ingresses',
  policy: 'poddisruptionbudgets',
  'rbac.authorization.k8s.io': 'clusterroles clusterrolebindings roles rolebindings',
  'scheduling.k8s.io': 'priorityclasses',
};

/** `deployments` → `apps/deployments`. */
export const idOfPlural: ReadonlyMap<string, ResourceId> = new Map(
  Object.entries(groups).flatMap(([group, plurals]) =>
    plurals.split(' ').map((plural): [string, ResourceId] => [plural, `${group}/${plural}`]),
  ),
);

export const formerKeys: Upgrade = {
  from: 1,
  key(former) {
    const end = former.indexOf(SEPARATOR);
    const id = idOfPlural.get(former.slice(0, Math.max(end, 0)));
    return id && id + former.slice(end);
  },
};
