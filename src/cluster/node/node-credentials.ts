/** The cluster's node authority: read from its secret, or created at first use. */
import type { Secret } from '../../api/generated/types.ts';
import {
  authorityData,
  authorityOf,
  makeNodeAuthority,
  type NodeAuthority,
  nodeAuthoritySecret,
} from '../../pki/node-certificates.ts';
import type { Registry } from '../../registry/registry.ts';
import { collectionOf } from '../../registry/target.ts';
import { actingAs } from '../../registry/writers.ts';

export class NodeCredentials {
  #loading: Promise<NodeAuthority> | undefined;
  /** Revision of the loaded secret: a changed secret is loaded again. */
  #revision: number | undefined;

  constructor(private readonly registry: Registry) {}

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
    if (stored) return stored;
    const made = await makeNodeAuthority(this.registry.sources.nowMs());
    const kind = this.registry.kinds.resource('v1', 'secrets')!;
    const { namespace, name } = nodeAuthoritySecret;
    const secret: Secret = { metadata: { name }, type: 'Opaque', data: authorityData(made) };
    // If another server creates it at the same time, that one is used.
    const request = actingAs('kube-apiserver', 'create');
    const planted = await this.registry.seed(request, collectionOf(kind, namespace), secret);
    this.#revision = this.#entry()?.revision;
    const current = planted ? made : this.#stored();
    if (!current) throw new Error(`the secret ${namespace}/${name} does not hold certificates`);
    return current;
  }

  #entry() {
    const { namespace, name } = nodeAuthoritySecret;
    return this.registry.view.collection('core/secrets').get(namespace, name);
  }

  #stored(): NodeAuthority | undefined {
    return authorityOf((this.#entry()?.object() as Secret | undefined)?.data);
  }
}
