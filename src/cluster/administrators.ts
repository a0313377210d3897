/**
 * The binding that lets administrators do everything. It is made when it is missing and not put right afterwards: who
 * takes its subjects away, takes the administrator's certificate its rights.
 */
import type { ClusterRoleBinding } from '../api/generated/types.ts';
import { administrator } from '../pki/clustercertificates.ts';
import type { Registry } from '../registry/registry.ts';
import { collectionOf } from '../registry/target.ts';
import { actingAs } from '../registry/writers.ts';

export async function ensureAdministrators(registry: Registry): Promise<void> {
  const kind = registry.kinds.resource('rbac.authorization.k8s.io/v1', 'clusterrolebindings')!;
  const [name] = administrator.groups;
  if (registry.view.collection(kind).get('', name)) return;
  const apiGroup = 'rbac.authorization.k8s.io';
  const binding: ClusterRoleBinding = {
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup, kind: 'Group', name }],
  };
  await registry.plant(actingAs('kube-apiserver', 'create'), collectionOf(kind, ''), binding);
}
