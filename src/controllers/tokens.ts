/**
 * The token controller: fills secrets of type service-account-token that name an account of their namespace with its
 * token, and deletes them with the account. References of accounts to deleted secrets are removed.
 */
import type { Secret, ServiceAccount } from '../api/generated/types.ts';
import { modify } from '../registry/verbs/modify.ts';
import { accountName, completeToken, isTokenSecret, tokenSecrets } from './account-tokens.ts';
import {
  type Controller,
  fromKey,
  ifUnchanged,
  keyOf,
  observe,
  running,
  type Writer,
} from './shared/controller.ts';
import { WorkQueue } from './shared/work-queue.ts';
import { ensureTokenSecret } from './token-secrets.ts';

export const tokenController: Controller = {
  name: 'serviceaccount-token',
  housekeeping: true,
  writer: 'kube-controller-manager',
  start(context) {
    const { registry, settings, onError } = context;
    const report = (_: string, error: Error): void => onError(error);
    const secrets = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => completeToken(context, ...fromKey(key)),
      onError: report,
    });
    const accounts = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => forgetGone(context, ...fromKey(key)),
      onError: report,
    });
    const lacking = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => ensureTokenSecret(context, ...fromKey(key)),
      onError: report,
    });
    const observers = [
      observe(context, 'core/secrets', (entry, previous) => {
        if (entry && isTokenSecret(entry)) secrets.add(keyOf(entry.namespace, entry.name));
        if (!entry && previous && isTokenSecret(previous)) {
          const account = (previous.object() as Secret).metadata.annotations?.[accountName];
          if (account) accounts.add(keyOf(previous.namespace, account));
        }
      }),
      observe(context, 'core/serviceaccounts', (entry, previous) => {
        const { namespace } = (entry ?? previous)!;
        if (entry && settings.serviceAccountTokenSecrets) lacking.add(keyOf(namespace, entry.name));
        // Only the creation or deletion of an account changes the content of its secrets.
        if (entry && previous) return;
        for (const secret of tokenSecrets(registry, namespace))
          secrets.add(keyOf(secret.namespace, secret.name));
      }),
    ];
    return running(observers, [secrets, accounts, lacking]);
  },
};

async function forgetGone(
  { registry, writing, request }: Writer,
  namespace: string,
  name: string,
): Promise<void> {
  const kind = registry.kinds.resource('v1', 'serviceaccounts')!;
  const secrets = registry.view.collection('core/secrets');
  const isGone = ({ name: secret }: { name?: string }): boolean => !secrets.get(namespace, secret ?? '');
  const account = registry.view.collection(kind).get(namespace, name)?.object() as ServiceAccount | undefined;
  if (!account?.secrets?.some(isGone)) return;
  await ifUnchanged(
    modify(writing, request('update'), { kind, namespace, name, part: 'main' }, (current) => {
      const now = current.object() as ServiceAccount;
      now.secrets = now.secrets?.filter((secret) => !isGone(secret));
      return now;
    }),
  );
}
