/** What a user may read: problems and objects are looked for among objects that the user may list, and nowhere else. */
import type { Authorizer } from '../../api/kind/access.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { User } from '../../api/values/user.ts';
import type { Registry } from '../../registry/registry.ts';
import { everything } from '../../registry/view/filter.ts';
import type { RequestContext } from '../http/context.ts';

/** Namespaces that are tried one by one for users who may not list pods in all of them. */
const namespacesMax = 500;

export class ReadableScope {
  #within: Promise<readonly string[]> | undefined;
  /** Some namespaces were left out, because there are too many. */
  isCut = false;

  constructor(
    private readonly authorizer: Authorizer,
    private readonly user: User,
    private readonly pods: Kind,
    /** All namespaces, or the one that is asked about. */
    private readonly namespaces: readonly string[],
    private readonly isWhole: boolean,
  ) {}

  /** The namespaces whose objects of a kind the user may list; undefined: all objects; empty: no objects. */
  async of(kind: Kind): Promise<readonly string[] | undefined> {
    if (this.isWhole && (await this.#mayList(kind, undefined))) return undefined;
    if (!kind.namespaced) return [];
    this.#within ??= this.#withPods();
    const readable: string[] = [];
    for (const namespace of await this.#within)
      if (kind === this.pods || (await this.#mayList(kind, namespace))) readable.push(namespace);
    return readable;
  }

  /** The same for one object, which the user may also be allowed to get alone. */
  async ofObject(kind: Kind, name: string): Promise<readonly string[] | undefined> {
    if (!kind.namespaced || this.isWhole)
      return (await this.#may('get', kind, undefined, name)) ? undefined : this.of(kind);
    const [namespace] = this.namespaces;
    return (await this.#may('get', kind, namespace, name)) ? [namespace!] : this.of(kind);
  }

  /** An authorizer may be another server: only namespaces in which pods may be listed are asked about any further. */
  async #withPods(): Promise<readonly string[]> {
    this.isCut = this.namespaces.length > namespacesMax;
    const found: string[] = [];
    for (const namespace of this.namespaces.slice(0, namespacesMax))
      if (await this.#mayList(this.pods, namespace)) found.push(namespace);
    return found;
  }

  #mayList(kind: Kind, namespace: string | undefined): Promise<boolean> {
    return this.#may('list', kind, namespace, undefined);
  }

  async #may(
    verb: string,
    { group, version, resource }: Kind,
    namespace: string | undefined,
    name: string | undefined,
  ): Promise<boolean> {
    const info = {
      verb,
      path: '',
      resource: { group, version, resource, namespace, subresource: undefined, name },
    };
    return (await this.authorizer.decide({ user: this.user, info })).allowed;
  }
}

/** What the user of a request may read, in one namespace or all. `rights` decides about users who are impersonated. */
export function readableScope(
  { user, door, impersonator }: RequestContext,
  { kinds, view }: Registry,
  rights: Authorizer,
  namespace: string | undefined,
): { readonly scope: ReadableScope; readonly authorizer: Authorizer } {
  const namespaces = namespace === undefined ? namesOf(view) : [namespace];
  const authorizer = impersonator ? rights : door.authorizer;
  const pods = kinds.resource('v1', 'pods')!;
  return {
    authorizer,
    scope: new ReadableScope(authorizer, user, pods, namespaces, namespace === undefined),
  };
}

const namesOf = (view: Registry['view']): string[] =>
  Array.from(view.collection('core/namespaces').select(everything).entries, ({ name }) => name);
