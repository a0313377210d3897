/** Rules of flow schemas: whom and what they are for. */
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type {
  FlowSchemaCondition,
  NonResourcePolicyRule,
  ResourcePolicyRule,
  SubjectV1 as Subject,
} from '../../generated/types.ts';
import { isLabel1123, isSubdomain1123 } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
const subjectKinds = { Group: 'group', ServiceAccount: 'serviceAccount', User: 'user' } as const;

export function* flowSubjectErrors(subject: Subject, path: string): Findings {
  const { kind = '' } = subject;
  if (!Object.hasOwn(subjectKinds, kind))
    return yield notSupported(child(path, 'kind'), kind, Object.keys(subjectKinds));
  const own = subjectKinds[kind as keyof typeof subjectKinds];
  const value = subject[own];
  if (!value) yield required(child(path, own), `${own} is required when subject kind is '${kind}'`);
  else if (own === 'serviceAccount') yield* accountErrors(subject.serviceAccount!, child(path, own));
  else if (!value.name) yield required(child(child(path, own), 'name'));
  for (const other of ['serviceAccount', 'user', 'group'] as const)
    if (other !== own && subject[other]) yield forbidden(child(path, other), forbiddenText(other));
}

function forbiddenText(field: 'serviceAccount' | 'user' | 'group'): string {
  const [kind] = Object.entries(subjectKinds).find(([, name]) => name === field)!;
  return `${field} is forbidden when subject kind is not '${kind}'`;
}

function* accountErrors({ name, namespace }: NonNullable<Subject['serviceAccount']>, path: string): Findings {
  if (!name) yield required(child(path, 'name'));
  else if (name !== '*') yield* problemsOf(child(path, 'name'), name, isSubdomain1123(name));
  if (!namespace) yield required(child(path, 'namespace'), 'must specify namespace for service account');
  else yield* problemsOf(child(path, 'namespace'), namespace, isLabel1123(namespace));
}

const hasStar = (list: readonly string[]): boolean => list.includes('*');

function* verbErrors(given: readonly string[] = [], path: string): Findings {
  if (given.length === 0) yield required(path, 'verbs must contain at least one value');
  else if (hasStar(given)) yield* starErrors(given, path, 'verbs');
  else if (given.some((verb) => !verbs.includes(verb))) yield notSupported(path, given, verbs);
}

const starErrors = (given: readonly string[], path: string, what: string): readonly FieldError[] =>
  hasStar(given) && given.length > 1
    ? [invalid(path, given, `if '*' is present, must not specify other ${what}`)]
    : [];

export function* resourceRuleErrors(rule: ResourcePolicyRule, path: string): Findings {
  const { apiGroups = [], resources = [], namespaces = [], clusterScope } = rule;
  yield* verbErrors(rule.verbs, child(path, 'verbs'));
  if (apiGroups.length === 0)
    yield required(child(path, 'apiGroups'), 'resource rules must supply at least one api group');
  else yield* starErrors(apiGroups, child(path, 'apiGroups'), 'api groups');
  if (resources.length === 0)
    yield required(child(path, 'resources'), 'resource rules must supply at least one resource');
  else yield* starErrors(resources, child(path, 'resources'), 'resources');
  const namespacesPath = child(path, 'namespaces');
  if (namespaces.length === 0 && !clusterScope)
    yield required(
      namespacesPath,
      'resource rules that are not cluster scoped must supply at least one namespace',
    );
  else if (hasStar(namespaces)) yield* starErrors(namespaces, namespacesPath, 'namespaces');
  else
    for (const [i, name] of namespaces.entries())
      for (const problem of isLabel1123(name))
        yield invalid(
          index(namespacesPath, i),
          name,
          `each member of this list must be '*' or a DNS-1123 label; ${problem}`,
        );
}

export function* nonResourceRuleErrors(rule: NonResourcePolicyRule, path: string): Findings {
  const { nonResourceURLs = [] } = rule;
  yield* verbErrors(rule.verbs, child(path, 'verbs'));
  const urlsPath = child(path, 'nonResourceURLs');
  if (nonResourceURLs.length === 0)
    yield required(urlsPath, 'nonResourceURLs must contain at least one value');
  else if (hasStar(nonResourceURLs)) yield* starErrors(nonResourceURLs, urlsPath, 'non-resource URLs');
  else
    for (const [i, url] of nonResourceURLs.entries()) {
      const problem = urlProblem(url);
      if (problem) yield invalid(index(urlsPath, i), url, problem);
    }
}

function urlProblem(url: string): string | undefined {
  if (url === '') return 'must not be empty';
  if (!url.startsWith('/')) return 'must start with slash';
  if (url.includes(' ')) return 'must not contain white-space';
  if (url.includes('//')) return 'must not contain double slash';
  const star = url.indexOf('*');
  return star >= 0 && !(star === url.length - 1 && url.endsWith('/*'))
    ? 'wildcard can only do suffix matching'
    : undefined;
}

/** Conditions of schemas and of levels. */
export function* flowConditionErrors(conditions: readonly FlowSchemaCondition[] = []): Findings {
  const seen = new Set<string>();
  for (const [i, { type = '' }] of conditions.entries()) {
    const path = child(index('status.conditions', i), 'type');
    if (seen.has(type)) yield duplicate(path, type);
    seen.add(type);
    if (type === '') yield required(path, 'must not be empty');
  }
}
