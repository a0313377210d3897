/** Matches requests against flow schemas: users, groups, accounts, and actions. Compiled once per schema. */

import type {
  FlowSchema,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  SubjectV1 as Subject,
} from '../../api/generated/types.ts';
import type { Action, ResourceAction } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';

type Test<T> = (value: T) => boolean;

/** A test whether a list contains a word; a star matches all. */
function oneOf(list: readonly string[] = []): Test<string> {
  if (list.includes('*')) return () => true;
  const set = new Set(list);
  return (word) => set.has(word);
}

/** Which actions of a user match a schema; undefined when it is about other users. */
export function schemaTest({ spec }: FlowSchema): (user: User) => Test<Action> | undefined {
  const rules = (spec?.rules ?? []).map(ruleTest);
  return (user) => {
    const tests = rules.filter(({ isAbout }) => isAbout(user)).map(({ matches }) => matches);
    return tests.length === 0 ? undefined : (action) => tests.some((test) => test(action));
  };
}

function ruleTest({ subjects = [], resourceRules = [], nonResourceRules = [] }: PolicyRulesWithSubjects) {
  const isSubject = subjects.map(subjectTest);
  const isResource = resourceRules.map(resourceTest);
  const isPath = nonResourceRules.map(pathTest);
  return {
    isAbout: (user: User): boolean => isSubject.some((test) => test(user)),
    matches: (action: Action): boolean => {
      const { resource } = action;
      return resource
        ? isResource.some((test) => test(action.verb, resource))
        : isPath.some((test) => test(action));
    },
  };
}

function subjectTest(subject: Subject): Test<User> {
  switch (subject.kind) {
    case 'User': {
      const { name } = subject.user ?? {};
      return name === '*' ? () => true : (user) => user.name === name;
    }
    case 'Group': {
      const { name = '' } = subject.group ?? {};
      return name === '*' ? () => true : (user) => user.groups.includes(name);
    }
    case 'ServiceAccount': {
      const { namespace, name } = subject.serviceAccount ?? {};
      const prefix = `system:serviceaccount:${namespace}:`;
      return name === '*' ? (user) => user.name.startsWith(prefix) : (user) => user.name === prefix + name;
    }
    default:
      return () => false;
  }
}

function resourceTest(rule: ResourcePolicyRule): (verb: string, resource: ResourceAction) => boolean {
  const [isVerb, isGroup] = [oneOf(rule.verbs), oneOf(rule.apiGroups)];
  const [isResource, isNamespace] = [oneOf(rule.resources), oneOf(rule.namespaces)];
  const hasNamespaces = (rule.namespaces ?? []).length > 0;
  return (verb, { group, resource, subresource, namespace }) =>
    isVerb(verb) &&
    isGroup(group) &&
    isResource(subresource === undefined ? resource : `${resource}/${subresource}`) &&
    (namespace === undefined ? rule.clusterScope === true : hasNamespaces && isNamespace(namespace));
}

function pathTest({ verbs, nonResourceURLs = [] }: NonResourcePolicyRule): Test<Action> {
  const isVerb = oneOf(verbs);
  const exact = new Set(nonResourceURLs);
  const starts = nonResourceURLs.filter((url) => url.endsWith('*')).map((url) => url.slice(0, -1));
  return ({ verb, path }) =>
    isVerb(verb) && (exact.has(path) || starts.some((start) => path.startsWith(start)));
}
