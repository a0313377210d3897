/** The account named `default` that every namespace has. */
import { namespaceExists, removeRemains } from '../namespace-remains.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import { collectionOf } from '../target.ts';

/** Creates the account if it is missing, unless the namespace is missing or being deleted. */
export async function ensureDefaultAccount(
  registry: Registry,
  request: Request,
  namespace: string,
): Promise<void> {
  if (registry.view.collection('core/serviceaccounts').get(namespace, 'default')) return;
  const entry = registry.view.collection('core/namespaces').get('', namespace);
  if (!entry || entry.object().metadata.deletionTimestamp) return;
  const kind = registry.kinds.resource('v1', 'serviceaccounts')!;
  await registry.seed(request, collectionOf(kind, namespace), { metadata: { name: 'default' } });
  // The namespace may have been deleted meanwhile.
  if (!namespaceExists(registry, namespace)) await removeRemains(registry, namespace, registry.view.revision);
}
