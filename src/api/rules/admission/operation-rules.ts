/** Rules of admission: which operations on which resources webhooks and policies are for. */
import { child, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { RuleWithOperations } from '../../generated/types.ts';
import type { Findings } from '../shared/findings.ts';

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const scopes = ['*', 'Cluster', 'Namespaced'];

export function* operationRuleErrors(
  rule: RuleWithOperations,
  path: string,
  supported: readonly string[] = operations,
): Findings {
  const { apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  yield* listErrors(rule.operations, child(path, 'operations'), 'operations');
  for (const [i, operation] of (rule.operations ?? []).entries())
    if (!supported.includes(operation))
      yield notSupported(index(child(path, 'operations'), i), operation, supported);
  yield* listErrors(apiGroups, child(path, 'apiGroups'), 'API groups');
  const versionsPath = child(path, 'apiVersions');
  yield* listErrors(apiVersions, versionsPath, 'API versions');
  for (const [i, version] of apiVersions.entries()) if (!version) yield required(index(versionsPath, i));
  yield* resourceErrors(resources, child(path, 'resources'));
  if (scope !== undefined && !scopes.includes(scope)) yield notSupported(child(path, 'scope'), scope, scopes);
}

function* listErrors(list: readonly string[] = [], path: string, what: string): Findings {
  if (list.length === 0) yield required(path);
  else if (list.length > 1 && list.includes('*'))
    yield invalid(path, list, `if '*' is present, must not specify other ${what}`);
}

function* resourceErrors(resources: readonly string[], path: string): Findings {
  if (resources.length === 0) return yield required(path);
  /** Resources with all their subresources, and subresources of all resources. */
  const whole = new Set<string>();
  const everywhere = new Set<string>();
  let plain = false;
  for (const [i, name] of resources.entries()) {
    const itemPath = index(path, i);
    if (name === '') yield required(itemPath);
    const slash = name.indexOf('/');
    if (slash < 0) {
      plain ||= name !== '' && name !== '*';
      continue;
    }
    const resource = name.slice(0, slash);
    const subresource = name.slice(slash + 1);
    if (whole.has(resource))
      yield invalid(itemPath, name, `if '${resource}/*' is present, must not specify ${name}`);
    if (everywhere.has(subresource))
      yield invalid(itemPath, name, `if '*/${subresource}' is present, must not specify ${name}`);
    if (subresource === '*') whole.add(resource);
    if (resource === '*') everywhere.add(subresource);
  }
  if (resources.length > 1 && resources.includes('*/*'))
    yield invalid(path, resources, "if '*/*' is present, must not specify other resources");
  if (plain && resources.includes('*'))
    yield invalid(
      path,
      resources,
      "if '*' is present, must not specify other resources without subresources",
    );
}
