/** The rules of roles: verbs, and either the resources or the URLs that they apply to. */
import { child, index, invalid, required } from '../../errors/field-error.ts';
import type { AggregationRule, PolicyRule } from '../../generated/types.ts';
import { type LabelSelectorObject, validateLabelSelectorObject } from '../../kind/label-selector.ts';
import type { Findings } from '../shared/findings.ts';

/** Non-resource URLs are not allowed in a Role: they belong to no namespace. */
export function* ruleErrors(rules: readonly PolicyRule[] | undefined, namespaced: boolean): Findings {
  for (const [position, rule] of (rules ?? []).entries()) {
    const path = index('rules', position);
    if (!rule.verbs?.length) yield required(child(path, 'verbs'), 'verbs must contain at least one value');
    if (rule.nonResourceURLs?.length) yield* urlErrors(rule, namespaced, child(path, 'nonResourceURLs'));
    else yield* resourceErrors(rule, path);
  }
}

function* urlErrors(rule: PolicyRule, namespaced: boolean, path: string): Findings {
  const { nonResourceURLs, apiGroups, resources, resourceNames } = rule;
  if (namespaced) yield invalid(path, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs');
  if (apiGroups?.length || resources?.length || resourceNames?.length)
    yield invalid(
      path,
      nonResourceURLs,
      'rules cannot apply to both regular resources and non-resource URLs',
    );
}

function* resourceErrors({ apiGroups, resources }: PolicyRule, path: string): Findings {
  if (!apiGroups?.length)
    yield required(child(path, 'apiGroups'), 'resource rules must supply at least one api group');
  if (!resources?.length)
    yield required(child(path, 'resources'), 'resource rules must supply at least one resource');
}

/** The rule by which the controller of cluster roles collects the rules of other roles. */
export function* aggregationErrors(aggregation: AggregationRule | undefined): Findings {
  if (!aggregation) return;
  const path = 'aggregationRule.clusterRoleSelectors';
  const selectors = aggregation.clusterRoleSelectors ?? [];
  if (selectors.length === 0)
    yield required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil');
  for (const [position, selector] of selectors.entries()) {
    const errors = validateLabelSelectorObject(selector as LabelSelectorObject, index(path, position));
    yield* errors;
    // Two errors, as in Kubernetes: the invalid requirement, and the invalid selector.
    if (errors.length > 0) yield invalid(index(path, position), null, 'invalid label selector.');
  }
}
