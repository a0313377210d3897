/**
 * Quota scopes: which objects a quota counts. A scope is valid only with resources that those objects use.
 *
 * A scope list may be as long as a body, so each error about the list is reported once. Kubernetes reports it for
 * every entry, but drops repeats from its message.
 */
import { child, type FieldError, invalid, required } from '../../errors/field-error.ts';
import type { ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '../../generated/types.ts';
import type { Findings } from '../shared/findings.ts';
import { isStandardQuota } from '../shared/resource-name.ts';

const podCounts = ['pods'];
const podResources = [
  ...podCounts,
  'cpu',
  'memory',
  'requests.cpu',
  'requests.memory',
  'limits.cpu',
  'limits.memory',
];

/** Standard resources that are valid with a scope. */
const resourcesOf: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['Terminating', new Set(podResources)],
  ['NotTerminating', new Set(podResources)],
  ['BestEffort', new Set(podCounts)],
  ['NotBestEffort', new Set(podResources)],
  ['PriorityClass', new Set(podResources)],
  ['CrossNamespacePodAffinity', new Set(podResources)],
  ['VolumeAttributesClass', new Set(['persistentvolumeclaims', 'requests.storage'])],
]);

const opposites = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

/** Scopes without values to compare. */
const plainScopes = new Set([
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'CrossNamespacePodAffinity',
]);

/** Whether a scope cannot apply to a resource. Extended resource names are not checked. */
function misfits(scopes: ReadonlySet<string>, hard: readonly string[]): boolean {
  const standard = hard.filter(isStandardQuota);
  for (const [scope, resources] of resourcesOf)
    if (scopes.has(scope) && standard.some((name) => !resources.has(name))) return true;
  return false;
}

const conflict = (scopes: ReadonlySet<string>): boolean =>
  opposites.some(([one, other]) => scopes.has(one) && scopes.has(other));

export function scopeErrors(spec: ResourceQuotaSpec, path: string): FieldError[] {
  const list = spec.scopes ?? [];
  const scopes = new Set(list);
  const problems: string[] = [];
  if (list.some((scope) => !resourcesOf.has(scope))) problems.push('unsupported scope');
  if (misfits(scopes, Object.keys(spec.hard ?? {}))) problems.push('unsupported scope applied to resource');
  if (conflict(scopes)) problems.push('conflicting scopes');
  return problems.map((problem) => invalid(path, list, problem));
}

export function* scopeSelectorErrors(spec: ResourceQuotaSpec, path: string): Findings {
  const requirements = spec.scopeSelector?.matchExpressions ?? [];
  const expressions = child(path, 'matchExpressions');
  for (const requirement of requirements) yield* requirementErrors(requirement, expressions);
  const scopes = new Set(requirements.map(({ scopeName = '' }) => scopeName));
  if (misfits(scopes, Object.keys(spec.hard ?? {})))
    yield invalid(expressions, spec.scopeSelector, 'unsupported scope applied to resource');
  if (conflict(scopes)) yield invalid(expressions, [...scopes], 'conflicting scopes');
}

/** The path has no index, as in Kubernetes. */
function requirementErrors(requirement: ScopedResourceSelectorRequirement, path: string): FieldError[] {
  const { scopeName = '', operator = '', values = [] } = requirement;
  const errors: FieldError[] = [];
  if (!resourcesOf.has(scopeName))
    errors.push(invalid(child(path, 'scopeName'), scopeName, 'unsupported scope'));
  if (plainScopes.has(scopeName) && operator !== 'Exists')
    errors.push(
      invalid(
        child(path, 'operator'),
        operator,
        "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      ),
    );
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (!values.length)
        errors.push(
          required(
            child(path, 'values'),
            "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
          ),
        );
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length)
        errors.push(
          invalid(
            child(path, 'values'),
            values,
            "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector",
          ),
        );
      break;
    default:
      errors.push(invalid(child(path, 'operator'), operator, 'not a valid selector operator'));
  }
  return errors;
}
