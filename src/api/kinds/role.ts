/** Role: a set of rules for its namespace. */
import type { Role } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { collect } from '../rules/findings.ts';
import { rbacForm } from '../rules/rbac.ts';
import { ruleErrors } from '../rules/rbac-rules.ts';

export const role = defineKind<Role>({
  ...rbacForm,
  kind: 'Role',
  resource: 'roles',
  singular: 'role',
  namespaced: true,

  validate: ({ rules }) => collect(ruleErrors(rules, true)),
});
