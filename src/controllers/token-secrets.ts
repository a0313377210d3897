/**
 * Token secrets: gives every service account a secret with its token, as in Kubernetes 1.1. Current Kubernetes does
 * not, so this is an option.
 */
import type { Secret, ServiceAccount } from '../api/generated/types.ts';
import { collectionOf, targetOf } from '../registry/target.ts';
import { create } from '../registry/verbs/create.ts';
import { modify } from '../registry/verbs/modify.ts';
import type { Entry } from '../registry/view/entry.ts';
import {
  accountName,
  accountUid,
  completeToken,
  type TokenWriting,
  tokenSecrets,
  tokenType,
} from './account-tokens.ts';
import { ifUnchanged, isNamespaceTerminating, type Writer } from './shared/controller.ts';

/** Longest prefix that leaves room for the suffix. */
const accountCharsMax = 51;

/** Ensures that an account names a secret with its token. */
export async function ensureTokenSecret(
  writer: TokenWriting,
  namespace: string,
  name: string,
): Promise<void> {
  const { registry, writing, request } = writer;
  await registry.view.caughtUp();
  const entry = registry.view.collection('core/serviceaccounts').get(namespace, name);
  const account = entry?.object() as ServiceAccount | undefined;
  if (!entry || !account || account.metadata.deletionTimestamp) return;
  const own = tokenSecrets(registry, namespace).filter((secret) => isTokenOf(secret, account));
  const named = new Set(account.secrets?.map((secret) => secret.name));
  if (own.some((secret) => named.has(secret.name))) return;
  // A secret that was created but not referenced, because a process was interrupted.
  const spare = own.find((secret) => secret.name.startsWith(prefixOf(name)));
  const secret = spare?.name ?? (await makeSecret(writer, account));
  if (secret === undefined) return;
  await completeToken(writer, namespace, secret);
  await ifUnchanged(
    modify(writing, request('update'), targetOf(entry), (current) => {
      const now = current.object() as ServiceAccount;
      // A new account of the same name gets its own secret.
      if (now.metadata.uid === account.metadata.uid) now.secrets = [...(now.secrets ?? []), { name: secret }];
      return now;
    }),
  );
}

const prefixOf = (account: string): string =>
  `${account.slice(0, accountCharsMax).replace(/[.-]+$/, '')}-token-`;

function isTokenOf(entry: Entry, { metadata }: ServiceAccount): boolean {
  const annotations = entry.peek().metadata.annotations ?? {};
  return annotations[accountName] === metadata.name && annotations[accountUid] === metadata.uid;
}

/** Undefined: the namespace is being deleted. */
async function makeSecret(
  { registry, writing, request }: Writer,
  { metadata }: ServiceAccount,
): Promise<string | undefined> {
  const kind = registry.kinds.resource('v1', 'secrets')!;
  const { namespace = '', name = '', uid = '' } = metadata;
  const secret: Secret = {
    metadata: {
      generateName: prefixOf(name),
      annotations: { [accountName]: name, [accountUid]: uid },
    },
    type: tokenType,
  };
  try {
    return (await create(writing, request('create'), collectionOf(kind, namespace), secret)).name;
  } catch (error) {
    if (isNamespaceTerminating(error)) return undefined;
    throw error;
  }
}
