/**
 * The index of roles and bindings: bindings by namespace and subject, rules by role. It applies changes of the view
 * when it is queried, so a decision sees every write that was answered before it.
 */
import type { PolicyRule, RoleBinding, Subject } from '../../api/generated/types.ts';
import type { ResourceId } from '../../api/kind/kind.ts';
import type { User } from '../../api/values/user.ts';
import type { Collection } from '../../registry/view/collection.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Follower, type Following } from '../../registry/view/follower.ts';
import { memberKey } from '../../registry/view/key.ts';
import type { View } from '../../registry/view/view.ts';
import { givenInSlices, inSlices, isLong } from '../../time-slices.ts';
import { RuleSet } from './rule-set.ts';

/** The namespace of cluster roles and their bindings. */
const cluster = '';

export interface Grant {
  readonly name: string;
  /** The namespace; '' for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly roleKind: string;
  readonly roleName: string;
  readonly subjects: readonly Subject[];
}

/** A role. Its rules are parsed when a decision first needs them: most default roles are never used. */
class NamedRules {
  readonly key: string;
  #rules: RuleSet | undefined;
  #reading: Promise<void> | undefined;

  constructor(private readonly entry: Entry) {
    this.key = memberKey(entry.namespace, entry.name);
  }

  get rules(): RuleSet {
    this.#rules ??= RuleSet.of(this.#list());
    return this.#rules;
  }

  #list(): readonly PolicyRule[] {
    return (this.entry.peek() as { rules?: PolicyRule[] | null }).rules ?? [];
  }

  /** Reads the rules of a long role in turns with other work; undefined when it is short, or was read. */
  read(): Promise<void> | undefined {
    if (this.#rules || !isLong(this.entry.length)) return undefined;
    this.#reading ??= this.#read();
    return this.#reading;
  }

  async #read(): Promise<void> {
    await inSlices(this.entry.reading());
    const rules = await givenInSlices(RuleSet.reading(this.#list()));
    this.#rules ??= rules;
  }
}

const userKey = (name: string): string => `u${name}`;
const groupKey = (name: string): string => `g${name}`;

/** The user name of a service account subject; undefined when its namespace is unknown. */
export function accountUser({ name, namespace }: Subject, { namespace: own }: Grant): string | undefined {
  const place = namespace || own;
  return place ? `system:serviceaccount:${place}:${name}` : undefined;
}

function subjectKey(subject: Subject, grant: Grant): string | undefined {
  const { kind, name = '' } = subject;
  if (kind === 'User') return userKey(name);
  if (kind === 'Group') return groupKey(name);
  const account = kind === 'ServiceAccount' ? accountUser(subject, grant) : undefined;
  return account && userKey(account);
}

export class RbacIndex {
  readonly #roles = new Map<string, NamedRules>();
  /** Grants of a namespace by subject, sorted by name. */
  readonly #grants = new Map<string, Map<string, Grant[]>>();
  readonly #collections: readonly Collection[];
  readonly #followers: readonly { catchUp(): void }[];
  /** Sum of the change numbers processed so far. */
  #seen = -1;
  #generation = 0;

  constructor(view: View) {
    const of = (resource: string): Collection =>
      view.collection(`rbac.authorization.k8s.io/${resource}` as ResourceId);
    const roles: Following<NamedRules> = {
      read: (entry) => new NamedRules(entry),
      gained: (role) => this.#roles.set(role.key, role),
      lost: ({ key }) => this.#roles.delete(key),
    };
    const grants: Following<Grant> = {
      read: (entry) => {
        const { roleRef = {}, subjects } = entry.peek() as RoleBinding;
        return {
          name: entry.name,
          namespace: entry.namespace,
          roleKind: roleRef.kind ?? '',
          roleName: roleRef.name ?? '',
          subjects: subjects ?? [],
        };
      },
      gained: (grant) => this.#place(grant),
      lost: (grant) => this.#remove(grant),
    };
    this.#collections = ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'].map(of);
    this.#followers = this.#collections.map((collection, at) =>
      at < 2 ? new Follower(collection, roles) : new Follower(collection, grants),
    );
  }

  /** Applies changes. Returns a number that is different after every change. */
  catchUp(): number {
    let number = 0;
    for (const collection of this.#collections) number += collection.endNumber;
    if (number !== this.#seen) {
      for (const follower of this.#followers) follower.catchUp();
      this.#seen = number;
      this.#generation++;
    }
    return this.#generation;
  }

  /** The grants of a user: in the whole cluster, then in the namespace, each by name. */
  grantsOf(user: User, namespace: string | undefined): readonly Grant[] {
    const everywhere = this.#grantsIn(cluster, user);
    return namespace ? [...everywhere, ...this.#grantsIn(namespace, user)] : everywhere;
  }

  /** The rules of the role that is granted; undefined when there is no such role. */
  rulesOf({ roleKind, roleName, namespace }: Grant): RuleSet | undefined {
    return this.role(roleKind, namespace, roleName);
  }

  role(kind: string, namespace: string, name: string): RuleSet | undefined {
    return this.#named(kind, namespace, name)?.rules;
  }

  #named(kind: string, namespace: string, name: string): NamedRules | undefined {
    if (kind === 'ClusterRole') return this.#roles.get(memberKey(cluster, name));
    return kind === 'Role' && namespace ? this.#roles.get(memberKey(namespace, name)) : undefined;
  }

  /** Reads the rules of the first long role that was not read yet, in turns; undefined when all were. */
  read(grants: readonly Pick<Grant, 'roleKind' | 'roleName' | 'namespace'>[]): Promise<void> | undefined {
    for (const { roleKind, roleName, namespace } of grants) {
      const reading = this.#named(roleKind, namespace, roleName)?.read();
      if (reading) return reading;
    }
    return undefined;
  }

  #grantsIn(namespace: string, { name, groups }: User): readonly Grant[] {
    const bySubject = this.#grants.get(namespace);
    if (!bySubject) return [];
    const lists = [userKey(name), ...groups.map(groupKey)].flatMap((key) => {
      const list = bySubject.get(key);
      return list ? [list] : [];
    });
    if (lists.length <= 1) return lists[0] ?? [];
    return [...new Set(lists.flat())].sort(byName);
  }

  #place(grant: Grant): void {
    let bySubject = this.#grants.get(grant.namespace);
    if (!bySubject) {
      bySubject = new Map();
      this.#grants.set(grant.namespace, bySubject);
    }
    for (const key of keysOf(grant)) {
      const list = bySubject.get(key);
      if (list) list.splice(placeOf(list, grant), 0, grant);
      else bySubject.set(key, [grant]);
    }
  }

  #remove(grant: Grant): void {
    const bySubject = this.#grants.get(grant.namespace)!;
    for (const key of keysOf(grant)) {
      const list = bySubject.get(key)!;
      if (list.length === 1) bySubject.delete(key);
      else list.splice(placeOf(list, grant), 1);
    }
    if (bySubject.size === 0) this.#grants.delete(grant.namespace);
  }
}

const keysOf = (grant: Grant): Set<string> =>
  new Set(grant.subjects.flatMap((subject) => subjectKey(subject, grant) ?? []));

const byName = (a: Grant, b: Grant): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/** The position of a name in a sorted list, or where it belongs. */
function placeOf(list: readonly Grant[], { name }: Grant): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]!.name < name) low = middle + 1;
    else high = middle;
  }
  return low;
}
