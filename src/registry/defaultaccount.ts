/** The account named `default` that every namespace has. */
import { StatusError } from '../api/errors.ts';
import { create } from './create.ts';
import { internalWrite, type Registry } from './registry.ts';

/** Creates the account if the namespace is there, is to stay, and has none. */
export async function ensureDefaultAccount(registry: Registry, namespace: string): Promise<void> {
  if (registry.view.collection('serviceaccounts').get(namespace, 'default')) return;
  const entry = registry.view.collection('namespaces').get('', namespace);
  if (!entry || entry.object().metadata.deletionTimestamp) return;
  const kind = registry.kinds.resource('v1', 'serviceaccounts')!;
  try {
    await create(registry, kind, namespace, { metadata: { name: 'default' } }, internalWrite());
  } catch (error) {
    // Somebody was faster, or the namespace has gone meanwhile.
    if (!(error instanceof StatusError && [403, 404, 409].includes(error.code))) throw error;
  }
}
