/** RoleBinding: grants a role of its namespace, or a cluster role, within its namespace. */
import type { RoleBinding } from '../generated/types.ts';
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

const roleKinds = ['Role', 'ClusterRole'];

export const roleBinding = defineKind<RoleBinding>({
  ...rbacForm,
  kind: 'RoleBinding',
  resource: 'rolebindings',
  singular: 'rolebinding',
  namespaced: true,

  defaults: defaultBinding,
  validate: (binding) => collect(bindingErrors(binding, roleKinds, true)),
  validateUpdate: roleChangeErrors,

  columns: bindingColumns,
  cells: bindingCells,
});
