/** ClusterRoleBinding: grants a cluster role in all namespaces and for cluster-scoped resources. */
import type { ClusterRoleBinding } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { bindingErrors, bindingForm } from '../../rules/access/rbac-binding.ts';
import { collect } from '../../rules/shared/findings.ts';

const roleKinds = ['ClusterRole'];

export const clusterRoleBinding = defineKind<ClusterRoleBinding>({
  ...bindingForm,
  kind: 'ClusterRoleBinding',
  resource: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  namespaced: false,

  validate: (binding) => collect(bindingErrors(binding, roleKinds, false)),
});
