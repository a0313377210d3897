/** The generated calls of one kind. */
import { setHeaderOptions } from '@kubernetes/client-node';
import type { Json } from '../support/http.ts';
import type { Library } from './library.ts';
import { homeOf, type LibraryKind } from './library-kinds.ts';

/** The common part of the names of a kind's calls: `NamespacedPod`, `Node`. */
const stemOf = ({ kind, namespaced }: LibraryKind): string => `${namespaced ? 'Namespaced' : ''}${kind}`;

/** All calls that were generated for a kind. */
export function callsOf(kind: LibraryKind): string[] {
  const stem = stemOf(kind);
  const some = ['create', 'delete', 'list', 'patch', 'read', 'replace'].map((verb) => `${verb}${stem}`);
  if (kind.kind !== 'Namespace') some.push(`deleteCollection${stem}`);
  if (kind.namespaced) some.push(`list${kind.kind}ForAllNamespaces`);
  if (kind.sample.status) some.push(...['read', 'replace', 'patch'].map((verb) => `${verb}${stem}Status`));
  return some;
}

export class Calls {
  readonly namespace: string;
  readonly #stem: string;

  constructor(
    private readonly library: Library,
    readonly kind: LibraryKind,
  ) {
    this.namespace = homeOf(kind);
    this.#stem = stemOf(kind);
  }

  /** The sample of the kind. */
  manifest(name: string): Json {
    const { apiVersion, kind, sample } = this.kind;
    return { apiVersion, kind, ...sample.manifest(this.namespace, name) };
  }

  create(body: Json, more?: object): Promise<Json> {
    return this.#call('create', '', { body, ...more });
  }

  read(name: string, part = ''): Promise<Json> {
    return this.#call('read', part, { name });
  }

  list(more: object): Promise<Json> {
    return this.#call('list', '', more);
  }

  listAll(more: object): Promise<Json> {
    return this.library.call(this.kind.api, `list${this.kind.kind}ForAllNamespaces`, more);
  }

  replace(name: string, body: Json, part = ''): Promise<Json> {
    return this.#call('replace', part, { name, body });
  }

  /** Without a strategy the library sends every patch as a JSON patch. */
  patch(name: string, body: Json, strategy?: string, part = ''): Promise<Json> {
    const options = strategy && setHeaderOptions('Content-Type', strategy);
    return this.#call('patch', part, { name, body }, options || undefined);
  }

  delete(name: string, more?: object): Promise<Json> {
    return this.#call('delete', '', { name, ...more });
  }

  deleteCollection(more: object): Promise<Json> {
    return this.#call('deleteCollection', '', more);
  }

  #call(verb: string, part: string, request: object, options?: object): Promise<Json> {
    const scope = this.kind.namespaced ? { namespace: this.namespace } : {};
    return this.library.call(this.kind.api, `${verb}${this.#stem}${part}`, { ...scope, ...request }, options);
  }
}
