/** ClusterRoleBinding: grants a cluster role in all namespaces, and for what is in none. */
import type { ClusterRoleBinding } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { collect } from './findings.ts';
import { rbacForm } from './rbac.ts';
import {
  bindingCells,
  bindingColumns,
  bindingErrors,
  defaultBinding,
  roleChangeErrors,
} from './rbacbinding.ts';

const roleKinds = ['ClusterRole'];

export const clusterRoleBinding = defineKind<ClusterRoleBinding>({
  ...rbacForm,
  kind: 'ClusterRoleBinding',
  resource: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  namespaced: false,

  defaults: defaultBinding,
  validate: (binding) => collect(bindingErrors(binding, roleKinds, false)),
  validateUpdate: roleChangeErrors,

  columns: bindingColumns,
  cells: bindingCells,
});
