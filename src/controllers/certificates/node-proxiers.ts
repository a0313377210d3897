/**
 * Node proxiers: nodes that joined the cluster may read services and endpoints, because the agent of a node is
 * its service proxy, too. Users who merely are in the group of nodes may not, as in Kubernetes, where the proxy is
 * another user.
 */
import type { ClusterRoleBinding } from '../../api/generated/types.ts';
import { rbacGroup } from '../../api/rules/access/rbac.ts';
import { collectionOf, named } from '../../registry/target.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { SharedContext } from '../shared/controller.ts';

/** Name of the role and of its binding. */
export const nodeProxier = 'wherry:node-proxier';

/** Adds a node to the binding of service proxies, which is made with the first one. */
export async function addNodeProxier(
  { registry, writing, request }: SharedContext,
  user: string,
): Promise<void> {
  const kind = registry.kinds.resource(`${rbacGroup}/v1`, 'clusterrolebindings')!;
  const subject = { apiGroup: rbacGroup, kind: 'User', name: user };
  const collection = collectionOf(kind, '');
  const binding: ClusterRoleBinding = {
    metadata: { name: nodeProxier },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: nodeProxier },
    subjects: [subject],
  };
  if (
    !registry.view.collection(kind).get('', nodeProxier) &&
    (await registry.seed(request('create'), collection, binding))
  )
    return;
  await modify(writing, request('update'), named(collection, nodeProxier), (current) => {
    const object = current.object() as ClusterRoleBinding;
    const subjects = object.subjects ?? [];
    if (!subjects.some((one) => one.kind === 'User' && one.name === user))
      object.subjects = [...subjects, subject];
    return object;
  });
}
