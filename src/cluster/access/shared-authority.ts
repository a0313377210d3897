/**
 * The cluster's authorities when several servers share a store: each is in a secret, so that all servers accept
 * certificates that one of them has signed.
 */
import type { Secret } from '../../api/generated/types.ts';
import { type Certified, makeAuthority } from '../../pki/authority.ts';
import { type AuthorityUse, authorityNames } from '../../pki/cluster-certificates.ts';
import type { Registry } from '../../registry/registry.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { actingAs } from '../../registry/writers.ts';
import type { Writing } from '../../registry/writing.ts';

const namespace = 'kube-system';
const find = (registry: Registry, use: AuthorityUse) =>
  registry.view.collection('core/secrets').get(namespace, authorityNames[use]);

/** The stored authority. If the store has no authority yet, the given one or a new one is stored. */
export async function sharedAuthority(
  registry: Registry,
  use: AuthorityUse,
  own: Certified | undefined,
): Promise<Certified> {
  await registry.view.caughtUp();
  if (!find(registry, use)) {
    const name = authorityNames[use];
    const made = own ?? makeAuthority(name, registry.sources.nowMs());
    const secret: Secret = { metadata: { name }, type: 'Opaque', data: dataOf(made) };
    // If another server stores one at the same moment, that one is used.
    const kind = registry.kinds.resource('v1', 'secrets')!;
    await registry.seed(actingAs('kube-apiserver', 'create'), collectionOf(kind, namespace), secret);
  }
  const { data = {} } = find(registry, use)!.object() as Secret;
  const text = (name: string): string => Buffer.from(data[name] ?? '', 'base64').toString('utf8');
  return { cert: text('ca.crt'), key: text('ca.key') };
}

/** Stores an authority again after it was renewed. */
export async function storeAuthority(
  writing: Writing,
  use: AuthorityUse,
  authority: Certified,
): Promise<void> {
  const entry = find(writing.registry, use);
  if (!entry || (entry.object() as Secret).data?.['ca.crt'] === dataOf(authority)['ca.crt']) return;
  await modify(writing, actingAs('kube-apiserver', 'update'), targetOf(entry), (current) => {
    const secret = current.object() as Secret;
    return { ...secret, data: dataOf(authority) } as Secret;
  });
}

const dataOf = ({ cert, key }: Certified): Record<string, string> => ({
  'ca.crt': Buffer.from(cert).toString('base64'),
  'ca.key': Buffer.from(key).toString('base64'),
});
