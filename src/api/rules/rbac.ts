/** What roles and bindings have in common: their group, and names that are no DNS names. */
import { isPathSegment } from '../names.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

export const rbacForm = {
  group: rbacGroup,
  version: 'v1',
  table: 'rbac-v1',
  // Names such as `system:node` are usual here; a prefix of a name has to be such a name already.
  nameRule: isPathSegment,
  createOnUpdate: true,
} as const;
