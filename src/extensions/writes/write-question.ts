/** What the rules of webhooks and policies are matched against, and the match itself. */
import type { RuleWithOperations } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';

/** Operations as admission names them. */
export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface WriteQuestion {
  readonly kind: Kind;
  /** The subresource; '' for the object itself. */
  readonly subresource: string;
  readonly operation: Operation;
}

/** Whether a rule matches an operation on a resource or a subresource ('' for the object itself). */
export const isRuled = (
  rules: readonly RuleWithOperations[],
  kind: Pick<Kind, 'group' | 'version' | 'resource' | 'namespaced'>,
  subresource: string,
  operation: Operation,
): boolean =>
  rules.some(
    (rule) =>
      fits(rule.operations, operation) &&
      fits(rule.apiGroups, kind.group) &&
      fits(rule.apiVersions, kind.version) &&
      fitsScope(rule.scope, kind.namespaced) &&
      (rule.resources ?? []).some((pattern) => fitsResource(pattern, kind.resource, subresource)),
  );

const fits = (patterns: readonly string[] = [], value: string): boolean =>
  patterns.includes('*') || patterns.includes(value);

const fitsScope = (scope = '*', namespaced: boolean): boolean =>
  scope === '*' || scope === (namespaced ? 'Namespaced' : 'Cluster');

/** Whether a pattern matches. `pods` and `*` match objects only, `pods/*` and `*\/*` also all their subresources. */
function fitsResource(pattern: string, resource: string, subresource: string): boolean {
  const slash = pattern.indexOf('/');
  const wanted = slash < 0 ? pattern : pattern.slice(0, slash);
  const part = slash < 0 ? '' : pattern.slice(slash + 1);
  return (wanted === '*' || wanted === resource) && (part === '*' || part === subresource);
}
