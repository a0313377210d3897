/** The service account controller: every namespace has an account named `default`. */
import { StatusError } from '../api/errors.ts';
import { create } from '../registry/create.ts';
import { internalWrite, type Registry } from '../registry/registry.ts';
import { type Controller, observe } from './controller.ts';
import { WorkQueue } from './workqueue.ts';

export const serviceAccountController: Controller = {
  name: 'serviceaccount',
  start({ registry, onError }) {
    const queue = new WorkQueue({
      work: (namespace) => ensureDefaultAccount(registry, namespace),
      onError: (_, error) => onError(error),
    });
    const observers = [
      observe(registry, 'namespaces', (entry) => entry && queue.add(entry.name)),
      observe(registry, 'serviceaccounts', (entry, previous) => {
        if (!entry && previous?.name === 'default') queue.add(previous.namespace);
      }),
    ];
    return {
      get settled() {
        return queue.settled;
      },
      close: async () => {
        for (const observer of observers) observer.close();
        await queue.close();
      },
    };
  },
};

/** Creates the account if the namespace is there, is to stay, and has none. */
export async function ensureDefaultAccount(registry: Registry, namespace: string): Promise<void> {
  const entry = registry.view.collection('namespaces').get('', namespace);
  if (!entry || entry.object().metadata.deletionTimestamp) return;
  if (registry.view.collection('serviceaccounts').get(namespace, 'default')) return;
  const kind = registry.kinds.resource('v1', 'serviceaccounts')!;
  try {
    await create(registry, kind, namespace, { metadata: { name: 'default' } }, internalWrite());
  } catch (error) {
    // Somebody was faster, or the namespace has gone meanwhile.
    if (!(error instanceof StatusError && [403, 404, 409].includes(error.code))) throw error;
  }
}
