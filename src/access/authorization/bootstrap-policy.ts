/** The default roles and bindings as objects. */
import type { ClusterRole, PolicyRule, RoleBinding, Subject } from '../../api/generated/types.ts';
import { rbacGroup } from '../../api/rules/access/rbac.ts';
import { bindingLines, roleLines } from './bootstrap-lines.ts';

const gatherLabel = (name: string): string => `${rbacGroup}/aggregate-to-${name}`;

const metadataOf = (place: string, gathered: readonly string[]) => {
  const slash = place.indexOf('/');
  return {
    name: place.slice(slash + 1),
    ...(slash < 0 ? {} : { namespace: place.slice(0, slash) }),
    labels: {
      'kubernetes.io/bootstrapping': 'rbac-defaults',
      ...Object.fromEntries(gathered.map((name) => [gatherLabel(name), 'true'])),
    },
    annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
  };
};

const linesOf = (text: string): string[] => text.split('\n').filter(Boolean);

/** All default roles and cluster roles; those with a namespace are roles. */
export function defaultRoles(): ClusterRole[] {
  const roles: ClusterRole[] = [];
  for (const line of linesOf(roleLines)) {
    if (line.startsWith(' ')) (roles.at(-1)!.rules ??= []).push(ruleOf(line));
    else roles.push(roleOf(line));
  }
  return roles;
}

/** The rules of one default role, without parsing the others. */
export function defaultRules(role: string): PolicyRule[] {
  const lines = linesOf(roleLines);
  const first = lines.indexOf(role) + 1;
  const after = lines.findIndex((line, at) => at >= first && !line.startsWith(' '));
  return lines.slice(first, after < 0 ? undefined : after).map(ruleOf);
}

function roleOf(line: string): ClusterRole {
  const [place = '', ...marks] = line.split(' ');
  const marked = (sign: string): string[] =>
    marks.filter((mark) => mark.startsWith(sign)).map((mark) => mark.slice(1));
  const gathers = marked('<');
  return {
    metadata: metadataOf(place, marked('>')),
    ...(gathers.length
      ? {
          aggregationRule: {
            clusterRoleSelectors: gathers.map((name) => ({ matchLabels: { [gatherLabel(name)]: 'true' } })),
          },
        }
      : {}),
  };
}

function ruleOf(line: string): PolicyRule {
  const [verbs = '', first = '', resources, names] = line.trim().split(' ');
  if (resources === undefined) return { verbs: verbs.split(','), nonResourceURLs: first.split(',') };
  return {
    verbs: verbs.split(','),
    apiGroups: first.split(',').map((group) => (group === 'core' ? '' : group)),
    resources: resources.split(','),
    ...(names ? { resourceNames: names.split(',') } : {}),
  };
}

/** All default bindings; those with a namespace are RoleBindings. */
export const defaultBindings = (): RoleBinding[] =>
  linesOf(bindingLines).map((line) => {
    const [place = '', role = '', ...subjects] = line.split(' ');
    const metadata = metadataOf(place, []);
    return {
      metadata,
      ...(subjects.length ? { subjects: subjects.map(subjectOf) } : {}),
      roleRef: {
        apiGroup: rbacGroup,
        kind: metadata.namespace ? 'Role' : 'ClusterRole',
        name: role === '=' ? metadata.name : role,
      },
    };
  });

function subjectOf(text: string): Subject {
  const colon = text.indexOf(':');
  const [kind, name] = [text.slice(0, colon), text.slice(colon + 1)];
  if (kind === 'account') {
    const [namespace = '', account = ''] = name.split('/');
    return { kind: 'ServiceAccount', name: account, namespace };
  }
  return { kind: kind === 'user' ? 'User' : 'Group', apiGroup: rbacGroup, name };
}
