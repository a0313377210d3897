/** Role: a set of rules for its namespace. */
import type { Role } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { rbacForm } from '../../rules/access/rbac.ts';
import { ruleErrors } from '../../rules/access/rbac-rules.ts';
import { collect } from '../../rules/shared/findings.ts';

export const role = defineKind<Role>({
  ...rbacForm,
  kind: 'Role',
  resource: 'roles',
  singular: 'role',
  namespaced: true,

  validate: ({ rules }) => collect(ruleErrors(rules, true)),
});
