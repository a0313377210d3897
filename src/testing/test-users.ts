/** Users of a test cluster: known at the secure door by a token and a certificate, with the rights that are named. */
import type { StaticUser } from '../access/authentication/static-tokens.ts';
import type { Registry } from '../registry/registry.ts';

/** A user of a test cluster. */
export interface TestUser {
  readonly name: string;
  readonly groups?: readonly string[];
  /** Default: one is made up. */
  readonly token?: string;
  /**
   * What the user may do: names of ClusterRoles such as `view`, `edit` and `cluster-admin`, for all namespaces, or for
   * one: `{ role: 'edit', namespace: 'team' }`.
   */
  readonly roles?: readonly (string | { readonly role: string; readonly namespace?: string })[];
  /** Rules of a role of the user's own, as in a ClusterRole. */
  readonly rules?: readonly object[];
}

const group = 'rbac.authorization.k8s.io';
const apiVersion = `${group}/v1`;

/** The users as the cluster is started with them. */
export const startUsers = (users: readonly TestUser[], uid: () => string): StaticUser[] =>
  users.map(({ name, groups = [], token }) => ({ name, groups: [...groups], token: token ?? uid() }));

/** The objects that give users their rights. */
export function rightsOf(users: readonly TestUser[]): object[] {
  return users.flatMap(({ name, roles = [], rules }) => {
    const own = rules ? [{ apiVersion, kind: 'ClusterRole', metadata: { name: `test:${name}` }, rules }] : [];
    const bound = [...roles, ...(rules ? [`test:${name}`] : [])].map((role) =>
      typeof role === 'string' ? { role, namespace: undefined } : role,
    );
    return [...own, ...bound.flatMap(({ role, namespace }) => binding(name, role, namespace))];
  });
}

/** Throws for a role that there is not: a user with a misspelt one would only be refused everything. */
export function checkRoles(users: readonly TestUser[], { view }: Registry): void {
  const known = view.collection('rbac.authorization.k8s.io/clusterroles');
  for (const { name, roles = [] } of users)
    for (const one of roles) {
      const role = typeof one === 'string' ? one : one.role;
      if (!known.get('', role))
        throw new Error(
          `there is no ClusterRole ${JSON.stringify(role)} for the user ${JSON.stringify(name)}`,
        );
    }
}

function binding(user: string, role: string, namespace: string | undefined): object[] {
  const name = `test:${user}:${role}`;
  const grant = {
    apiVersion,
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: group, kind: 'User', name: user }],
  };
  if (namespace === undefined) return [{ ...grant, kind: 'ClusterRoleBinding', metadata: { name } }];
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { ...grant, kind: 'RoleBinding', metadata: { name, namespace } },
  ];
}
