/** The rbac group: roles and who has them. */
import type { Group } from '../../kind/group.ts';
import { clusterRole } from './cluster-role.ts';
import { clusterRoleBinding } from './cluster-role-binding.ts';
import { role } from './role.ts';
import { roleBinding } from './role-binding.ts';

export const group: Group = {
  name: 'rbac.authorization.k8s.io',
  priority: 17_000,
  versions: { v1: {} },
  kinds: [clusterRole, clusterRoleBinding, role, roleBinding],
};
