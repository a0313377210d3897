/** Tokens of service accounts in secrets: which secrets hold them, and how they are filled. */
import type { Secret, ServiceAccount } from '../api/generated/types.ts';
import type { Registry } from '../registry/registry.ts';
import { targetOf } from '../registry/target.ts';
import { remove } from '../registry/verbs/delete.ts';
import { modify } from '../registry/verbs/modify.ts';
import type { Entry } from '../registry/view/entry.ts';
import { Filter } from '../registry/view/filter.ts';
import { ifUnchanged, type SharedContext, type Writer } from './shared/controller.ts';

export const tokenType = 'kubernetes.io/service-account-token';
export const accountName = 'kubernetes.io/service-account.name';
export const accountUid = 'kubernetes.io/service-account.uid';

export const isTokenSecret = (entry: Entry): boolean => entry.field('type') === tokenType;

export const tokenSecrets = (registry: Registry, namespace: string): Entry[] =>
  registry.view
    .collection('core/secrets')
    .select(new Filter(namespace, undefined, undefined, undefined))
    .entries.filter(isTokenSecret);

/** What is needed to write a token. */
export type TokenWriting = Writer & Pick<SharedContext, 'tokens'>;

/** Puts the token of its account into a secret, or deletes the secret when the account is gone. */
export async function completeToken(writer: TokenWriting, namespace: string, name: string): Promise<void> {
  const { registry, writing, request, trust, tokens } = writer;
  const entry = registry.view.collection('core/secrets').get(namespace, name);
  if (!entry) return;
  const secret = entry.object() as Secret;
  const annotations = secret.metadata.annotations ?? {};
  const account = accountOf(registry, namespace, annotations[accountName] ?? '', annotations[accountUid]);
  if (!account) {
    const { uid } = secret.metadata;
    await ifUnchanged(remove(writing, request('delete'), targetOf(entry), { preconditions: { uid } }));
    return;
  }
  const authority = trust && Buffer.from(trust.rootCertificates).toString('base64');
  const { data = {} } = secret;
  if (data.token && data.namespace && annotations[accountUid] && (!authority || data['ca.crt'] === authority))
    return;
  const token = await tokens.legacy(account, name);
  await ifUnchanged(
    modify(writing, request('update'), targetOf(entry), (current) => {
      const now = current.object() as Secret;
      now.metadata.annotations = { ...now.metadata.annotations, [accountUid]: account.metadata.uid! };
      now.data = {
        ...now.data,
        ...(authority ? { 'ca.crt': authority } : {}),
        namespace: Buffer.from(namespace).toString('base64'),
        token: Buffer.from(token).toString('base64'),
      };
      return now;
    }),
  );
}

/** The account a secret names; undefined when it is gone, or a new one has the same name. */
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
