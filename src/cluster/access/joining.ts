/**
 * What a cluster prepares for machines that join it: tokens of a group may request client certificates of nodes and get
 * them, nodes may renew theirs, and everyone may read the cluster's address. Names are those that kubeadm uses. Objects
 * are created when they are missing and not restored when they are changed, so that an operator may replace a rule.
 */
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '../../api/generated/types.ts';
import { rbacGroup } from '../../api/rules/access/rbac.ts';
import { semanticEqual } from '../../api/text/object.ts';
import { nodesGroup } from '../../api/values/node-identity.ts';
import { nodeProxier } from '../../controllers/certificates/node-proxiers.ts';
import { clusterInfo } from '../../registry/system/cluster-info.ts';
import { targetOf } from '../../registry/target.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { actingAs } from '../../registry/writers.ts';
import type { Writing } from '../../registry/writing.ts';
import { createMissing } from './missing-roles.ts';

/** The group of tokens that nodes join with. */
export const joiningGroup = 'system:bootstrappers:kubeadm:default-node-token';

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

/** The former rules of the role below, from before service proxies read endpoint slices. */
const formerRules = [{ apiGroups: [''], resources: ['endpoints', 'services'], verbs: ['list', 'watch'] }];

/** The role of nodes as service proxies. Kubernetes' role for that also shows all nodes, which a node must not see. */
const proxier: ClusterRole = {
  metadata: { name: nodeProxier },
  rules: [
    ...formerRules,
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    { apiGroups: ['networking.k8s.io'], resources: ['servicecidrs'], verbs: ['list', 'watch'] },
  ],
};

const reader: Role = {
  metadata: { name: signerName, namespace: clusterInfo.namespace },
  rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [clusterInfo.name], verbs: ['get'] }],
};

const readers: RoleBinding = {
  metadata: { name: signerName, namespace: clusterInfo.namespace },
  roleRef: { apiGroup: rbacGroup, kind: 'Role', name: signerName },
  subjects: [{ apiGroup: rbacGroup, kind: 'User', name: 'system:anonymous' }],
};

export async function ensureJoining(writing: Writing): Promise<void> {
  const plant = createMissing.bind(undefined, writing.registry);
  await Promise.all([
    ...bindings.map((binding) => plant('clusterrolebindings', structuredClone(binding))),
    plant('clusterroles', structuredClone(proxier)),
    plant('roles', structuredClone(reader)),
    plant('rolebindings', structuredClone(readers)),
  ]);
  await renewProxier(writing);
}

/** Updates an unchanged role of an earlier version to the current rules, which joined nodes need. */
async function renewProxier(writing: Writing): Promise<void> {
  const kind = writing.registry.kinds.resource(`${rbacGroup}/v1`, 'clusterroles')!;
  const entry = writing.registry.view.collection(kind).get('', nodeProxier);
  if (!entry || !semanticEqual((entry.peek() as ClusterRole).rules, formerRules)) return;
  await modify(writing, actingAs('kube-apiserver', 'update'), targetOf(entry), (current) => {
    const role = current.object() as ClusterRole;
    if (semanticEqual(role.rules, formerRules)) role.rules = structuredClone(proxier.rules!);
    return role;
  });
}
