/**
 * The binding that lets administrators do everything. It is created when it is missing, and not restored when it is
 * changed: an operator who removes its subjects takes the rights of the administrator's certificate away.
 */
import type { ClusterRoleBinding } from '../../api/generated/types.ts';
import { rbacGroup as apiGroup } from '../../api/rules/access/rbac.ts';
import { administrator } from '../../pki/cluster-certificates.ts';
import type { Registry } from '../../registry/registry.ts';
import { createMissing } from './missing-roles.ts';

export async function ensureAdministrators(registry: Registry): Promise<void> {
  const [name] = administrator.groups;
  const binding: ClusterRoleBinding = {
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup, kind: 'Group', name }],
  };
  await createMissing(registry, 'clusterrolebindings', binding);
}
