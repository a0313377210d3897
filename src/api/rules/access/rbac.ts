/** What roles and bindings have in common: their group, and names that are no DNS names. */
import { isPathSegment } from '../../values/names.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

export const rbacForm = {
  group: rbacGroup,
  version: 'v1',
  table: 'rbac-v1',
  // Names such as `system:node` are valid here. A generateName must be valid as it is, without a suffix.
  nameRule: isPathSegment,
  createOnUpdate: true,
} as const;
