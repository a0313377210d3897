/** RoleBinding: grants a role of its namespace, or a cluster role, within its namespace. */
import type { RoleBinding } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { collect } from '../rules/findings.ts';
import { bindingErrors, bindingForm } from '../rules/rbac-binding.ts';

const roleKinds = ['Role', 'ClusterRole'];

export const roleBinding = defineKind<RoleBinding>({
  ...bindingForm,
  kind: 'RoleBinding',
  resource: 'rolebindings',
  singular: 'rolebinding',
  namespaced: true,

  validate: (binding) => collect(bindingErrors(binding, roleKinds, true)),
});
