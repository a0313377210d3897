/**
 * The authority of the cluster's nodes: read from its secret, or created at first use. The secret is in the store, so all
 * servers of a cluster have the same, and each may renew it.
 */
import type { Secret } from '../../api/generated/types.ts';
import { Authority } from '../../pki/authority.ts';
import {
  authorityData,
  authorityOf,
  currentAuthority,
  makeNodeAuthority,
  type NodeAuthority,
  nodeAuthoritySecret,
} from '../../pki/node-certificates.ts';

import { collectionOf, named } from '../../registry/target.ts';
import { makeOrChange } from '../../registry/verbs/shared-object.ts';
import { actingAs } from '../../registry/writers.ts';
import type { Writing } from '../../registry/writing.ts';

export class NodeCredentials {
  #loading: Promise<NodeAuthority> | undefined;
  /** Revision of the loaded secret: a changed secret is loaded again. */
  #revision: number | undefined;

  constructor(private readonly writing: Writing) {}

  load(): Promise<NodeAuthority> {
    const revision = this.#entry()?.revision;
    if (this.#loading && (revision === undefined || revision === this.#revision)) return this.#loading;
    this.#revision = revision;
    const loading = this.#load().catch((error) => {
      if (this.#loading === loading) this.#loading = undefined;
      throw error;
    });
    this.#loading = loading;
    return loading;
  }

  async #load(): Promise<NodeAuthority> {
    const stored = this.#stored();
    if (stored) return this.#kept(stored);
    const made = await makeNodeAuthority(this.writing.registry.sources.nowMs());
    const kind = this.writing.registry.kinds.resource('v1', 'secrets')!;
    const { namespace, name } = nodeAuthoritySecret;
    const secret: Secret = { metadata: { name }, type: 'Opaque', data: authorityData(made) };
    // If another server creates it at the same time, that one is used.
    const request = actingAs('kube-apiserver', 'create');
    const planted = await this.writing.registry.seed(request, collectionOf(kind, namespace), secret);
    this.#revision = this.#entry()?.revision;
    const current = planted ? made : this.#stored();
    if (!current) throw new Error(`the secret ${namespace}/${name} does not hold certificates`);
    return current;
  }

  /** Signs serving certificates of agents. */
  async authority(): Promise<Authority> {
    return new Authority((await this.load()).ca);
  }

  /** Stores the authority again when it had to be renewed. */
  async #kept(stored: NodeAuthority): Promise<NodeAuthority> {
    const current = currentAuthority(stored, this.writing.registry.sources.nowMs());
    if (current === stored) return stored;
    const kind = this.writing.registry.kinds.resource('v1', 'secrets')!;
    const { namespace, name } = nodeAuthoritySecret;
    await makeOrChange(this.writing, {
      target: named(collectionOf(kind, namespace), name),
      make: undefined,
      change: (entry) => ({ ...entry.object(), data: authorityData(current) }) as Secret,
    });
    this.#revision = this.#entry()?.revision;
    return current;
  }

  #entry() {
    const { namespace, name } = nodeAuthoritySecret;
    return this.writing.registry.view.collection('core/secrets').get(namespace, name);
  }

  #stored(): NodeAuthority | undefined {
    return authorityOf((this.#entry()?.object() as Secret | undefined)?.data);
  }
}
