/** Checks that both kinds of service account tokens share: the account, and its user. */
import type { Secret, ServiceAccount } from '../../api/generated/types.ts';
import type { ResourceId } from '../../api/kind/kind.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { User } from '../../api/values/user.ts';
import type { Registry } from '../../registry/registry.ts';
import { audiencesInCommon, CredentialError } from './token-authenticator.ts';

export const accountUserName = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;

export const accountGroups = (namespace: string): string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
];

export function accountUser(
  namespace: string,
  name: string,
  uid: string,
  extra: NonNullable<User['extra']>,
): User {
  return { name: accountUserName(namespace, name), uid, groups: accountGroups(namespace), extra };
}

/** The current state of an object, to be read only; undefined when it does not exist. */
export function findObject(
  { view }: Registry,
  id: ResourceId,
  namespace: string,
  name: string,
): ApiObject | undefined {
  return view.collection(id).get(namespace, name)?.peek() as ApiObject | undefined;
}

export const findSecret = (registry: Registry, namespace: string, name: string): Secret | undefined =>
  findObject(registry, 'core/secrets', namespace, name) as Secret | undefined;

export function findAccount(registry: Registry, namespace: string, name: string): ServiceAccount {
  const account = findObject(registry, 'core/serviceaccounts', namespace, name);
  if (!account) throw new CredentialError(`serviceaccounts "${name}" not found`);
  return account as ServiceAccount;
}

/** The requested audiences for which a token is valid. Throws for a token without any of them. */
export function meantFor(said: readonly string[], asked: readonly string[]): string[] {
  const both = audiencesInCommon(said, asked);
  if (both.length) return both;
  throw new CredentialError(
    `token audiences ${quoted(said)} is invalid for the target audiences ${quoted(asked)}`,
  );
}

const quoted = (texts: readonly string[]): string =>
  `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;
