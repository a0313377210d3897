/**
 * The token controller: a secret of type service-account-token that names an account of its namespace gets the
 * account's token, and goes when the account goes. An account forgets a secret that is gone.
 */
import type { Secret, ServiceAccount } from '../api/generated/types.ts';
import { remove } from '../registry/delete.ts';
import type { Entry } from '../registry/entry.ts';
import { Filter } from '../registry/filter.ts';
import { modify } from '../registry/modify.ts';
import type { Registry } from '../registry/registry.ts';
import { targetOf } from '../registry/target.ts';
import { type Controller, observe, running, tolerant, type Writing } from './shared/controller.ts';
import { WorkQueue } from './shared/workqueue.ts';

const tokenType = 'kubernetes.io/service-account-token';
const accountName = 'kubernetes.io/service-account.name';
const accountUid = 'kubernetes.io/service-account.uid';

const isTokenSecret = (entry: Entry): boolean => entry.field('type') === tokenType;

export const tokenController: Controller = {
  name: 'serviceaccount-token',
  writer: 'kube-controller-manager',
  start(context) {
    const { registry, onError } = context;
    const report = (_: string, error: Error): void => onError(error);
    const secrets = new WorkQueue({ work: (key) => complete(context, key), onError: report });
    const accounts = new WorkQueue({ work: (key) => forgetGone(context, key), onError: report });
    const observers = [
      observe(context, 'core/secrets', (entry, previous) => {
        if (entry && isTokenSecret(entry)) secrets.add(`${entry.namespace}/${entry.name}`);
        if (!entry && previous && isTokenSecret(previous)) {
          const account = (previous.object() as Secret).metadata.annotations?.[accountName];
          if (account) accounts.add(`${previous.namespace}/${account}`);
        }
      }),
      observe(context, 'core/serviceaccounts', (entry, previous) => {
        const { namespace } = (entry ?? previous)!;
        // Only an account that comes or goes changes what its secrets should hold.
        if (entry && previous) return;
        for (const secret of tokenSecrets(registry, namespace))
          secrets.add(`${secret.namespace}/${secret.name}`);
      }),
    ];
    return running(observers, [secrets, accounts]);
  },
};

const tokenSecrets = (registry: Registry, namespace: string): Entry[] =>
  registry.view
    .collection('core/secrets')
    .select(new Filter(namespace, undefined, undefined, undefined))
    .entries.filter(isTokenSecret);

async function complete({ registry, request }: Writing, key: string): Promise<void> {
  const [namespace, name] = key.split('/') as [string, string];
  const entry = registry.view.collection('core/secrets').get(namespace, name);
  if (!entry) return;
  const secret = entry.object() as Secret;
  const annotations = secret.metadata.annotations ?? {};
  const account = accountOf(registry, namespace, annotations[accountName] ?? '', annotations[accountUid]);
  if (!account) {
    const { uid } = secret.metadata;
    await tolerant(remove(registry, request('delete'), targetOf(entry), { preconditions: { uid } }));
    return;
  }
  if (secret.data?.token && secret.data.namespace && annotations[accountUid]) return;
  const token = await registry.tokens.legacy(account, name);
  await tolerant(
    modify(registry, request('update'), targetOf(entry), (current) => {
      const now = current.object() as Secret;
      now.metadata.annotations = { ...now.metadata.annotations, [accountUid]: account.metadata.uid! };
      now.data = {
        ...now.data,
        namespace: Buffer.from(namespace).toString('base64'),
        token: Buffer.from(token).toString('base64'),
      };
      return now;
    }),
  );
}

/** The account a secret names; undefined when it is gone, or another one has taken its name. */
function accountOf(
  registry: Registry,
  namespace: string,
  name: string,
  uid: string | undefined,
): ServiceAccount | undefined {
  const account = registry.view.collection('core/serviceaccounts').get(namespace, name)?.object() as
    | ServiceAccount
    | undefined;
  return account && (!uid || uid === account.metadata.uid) ? account : undefined;
}

async function forgetGone({ registry, request }: Writing, key: string): Promise<void> {
  const [namespace, name] = key.split('/') as [string, string];
  const kind = registry.kinds.resource('v1', 'serviceaccounts')!;
  const secrets = registry.view.collection('core/secrets');
  const isGone = ({ name: secret }: { name?: string }): boolean => !secrets.get(namespace, secret ?? '');
  const account = registry.view.collection(kind).get(namespace, name)?.object() as ServiceAccount | undefined;
  if (!account?.secrets?.some(isGone)) return;
  await tolerant(
    modify(registry, request('update'), { kind, namespace, name, part: 'main' }, (current) => {
      const now = current.object() as ServiceAccount;
      now.secrets = now.secrets?.filter((secret) => !isGone(secret));
      return now;
    }),
  );
}
