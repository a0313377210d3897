/** ClusterRole: a set of rules for all namespaces and for cluster-scoped resources. */
import type { ClusterRole } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { rbacForm } from '../../rules/access/rbac.ts';
import { aggregationErrors, ruleErrors } from '../../rules/access/rbac-rules.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';

function* roleErrors({ rules, aggregationRule }: ClusterRole): Findings {
  yield* ruleErrors(rules, false);
  yield* aggregationErrors(aggregationRule);
}

export const clusterRole = defineKind<ClusterRole>({
  ...rbacForm,
  kind: 'ClusterRole',
  resource: 'clusterroles',
  singular: 'clusterrole',
  namespaced: false,

  validate: (role) => collect(roleErrors(role)),
});
