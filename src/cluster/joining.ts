/**
 * What a cluster prepares for machines that join it: a token of the group below may ask for a client certificate of a
 * node and gets it; nodes may renew theirs; and all may read where the cluster is. Names are those that kubeadm uses.
 * Objects are made when they are missing and not put right afterwards: who deletes a rule and makes another keeps it.
 */
import type { ClusterRoleBinding, Role, RoleBinding } from '../api/generated/types.ts';
import type { ApiObject } from '../api/object.ts';
import { rbacGroup } from '../api/rules/rbac.ts';
import { clusterInfo } from '../registry/clusterinfo.ts';
import type { Registry } from '../registry/registry.ts';
import { collectionOf } from '../registry/target.ts';
import { actingAs } from '../registry/writers.ts';

/** The group of tokens that nodes join with. */
export const joiningGroup = 'system:bootstrappers:kubeadm:default-node-token';

const nodesGroup = 'system:nodes';
const requests = 'system:certificates.k8s.io:certificatesigningrequests';
const signerName = 'kubeadm:bootstrap-signer-clusterinfo';

const group = (name: string) => ({ apiGroup: rbacGroup, kind: 'Group', name });

const bound = (name: string, role: string, to: string): ClusterRoleBinding => ({
  metadata: { name },
  roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
  subjects: [group(to)],
});

const bindings: readonly ClusterRoleBinding[] = [
  bound('kubeadm:kubelet-bootstrap', 'system:node-bootstrapper', joiningGroup),
  bound('kubeadm:node-autoapprove-bootstrap', `${requests}:nodeclient`, joiningGroup),
  bound('kubeadm:node-autoapprove-certificate-rotation', `${requests}:selfnodeclient`, nodesGroup),
];

const reader: Role = {
  metadata: { name: signerName, namespace: clusterInfo.namespace },
  rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [clusterInfo.name], verbs: ['get'] }],
};

const readers: RoleBinding = {
  metadata: { name: signerName, namespace: clusterInfo.namespace },
  roleRef: { apiGroup: rbacGroup, kind: 'Role', name: signerName },
  subjects: [{ apiGroup: rbacGroup, kind: 'User', name: 'system:anonymous' }],
};

export async function ensureJoining(registry: Registry): Promise<void> {
  const plant = async (resource: string, object: ApiObject): Promise<void> => {
    const kind = registry.kinds.resource(`${rbacGroup}/v1`, resource)!;
    const { name = '', namespace = '' } = object.metadata;
    if (registry.view.collection(kind).get(namespace, name)) return;
    await registry.plant(actingAs('kube-apiserver', 'create'), collectionOf(kind, namespace), object);
  };
  await Promise.all([
    ...bindings.map((binding) => plant('clusterrolebindings', structuredClone(binding))),
    plant('roles', structuredClone(reader)),
    plant('rolebindings', structuredClone(readers)),
  ]);
}
