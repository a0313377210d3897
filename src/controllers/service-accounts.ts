/** The service account controller: creates the account `default` in every namespace. */
import { ensureDefaultAccount } from '../registry/admission/default-account.ts';
import { type Controller, observe, running } from './shared/controller.ts';
import { WorkQueue } from './shared/work-queue.ts';

export const serviceAccountController: Controller = {
  name: 'serviceaccount',
  housekeeping: true,
  writer: 'service-account-controller',
  start(context) {
    const { registry, request, onError } = context;
    const queue = new WorkQueue({
      timers: context.registry.timers,
      work: (namespace) => ensureDefaultAccount(registry, request('create'), namespace),
      onError: (_, error) => onError(error),
    });
    const observers = [
      observe(context, 'core/namespaces', (entry) => entry && queue.add(entry.name)),
      observe(context, 'core/serviceaccounts', (entry, previous) => {
        if (!entry && previous?.name === 'default') queue.add(previous.namespace);
      }),
    ];
    return running(observers, [queue]);
  },
};
