/** RoleBinding: grants a role of its namespace, or a cluster role, within its namespace. */
import type { RoleBinding } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { bindingErrors, bindingForm } from '../../rules/access/rbac-binding.ts';
import { collect } from '../../rules/shared/findings.ts';

const roleKinds = ['Role', 'ClusterRole'];

export const roleBinding = defineKind<RoleBinding>({
  ...bindingForm,
  kind: 'RoleBinding',
  resource: 'rolebindings',
  singular: 'rolebinding',
  namespaced: true,

  validate: (binding) => collect(bindingErrors(binding, roleKinds, true)),
});
