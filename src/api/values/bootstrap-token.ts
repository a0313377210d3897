/** Bootstrap tokens: `<id>.<secret>`, for nodes that join. Each is kept in a secret of kube-system. */
import type { Secret } from '../generated/types.ts';
import { timeToMs } from './time.ts';

export const bootstrapTokenType = 'bootstrap.kubernetes.io/token';
export const bootstrapTokenNamespace = 'kube-system';
const namePrefix = 'bootstrap-token-';
const bootstrappersGroup = 'system:bootstrappers';

const tokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const idForm = /^[a-z0-9]{6}$/;
const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export const bootstrapSecretName = (id: string): string => namePrefix + id;

/** The two halves of a token; undefined: it is no bootstrap token. */
export function readBootstrapToken(token: string): { id: string; secret: string } | undefined {
  const [, id, secret] = tokenForm.exec(token) ?? [];
  return id !== undefined && secret !== undefined ? { id, secret } : undefined;
}

export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
  /** In milliseconds since 1970; undefined: it does not end. A time that cannot be read is long past. */
  readonly expiresMs: number | undefined;
  readonly authenticates: boolean;
  readonly signs: boolean;
  /** Sorted; undefined when one of them may not be given by a token. */
  readonly groups: readonly string[] | undefined;
}

/** The token that a secret holds; undefined: it holds none, or not the one its name says. */
export function bootstrapTokenOf({ metadata, type, data = {} }: Secret): BootstrapToken | undefined {
  if (type !== bootstrapTokenType) return undefined;
  const value = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  const id = value('token-id');
  const secret = value('token-secret');
  if (!idForm.test(id) || metadata.name !== bootstrapSecretName(id) || secret === '') return undefined;
  return {
    id,
    secret,
    expiresMs: expiryOf(value('expiration')),
    authenticates: value('usage-bootstrap-authentication') === 'true',
    signs: value('usage-bootstrap-signing') === 'true',
    groups: groupsOf(value('auth-extra-groups')),
  };
}

function expiryOf(text: string): number | undefined {
  if (text === '') return undefined;
  try {
    return timeToMs(text);
  } catch {
    return 0;
  }
}

function groupsOf(text: string): readonly string[] | undefined {
  const more = text === '' ? [] : text.split(',');
  if (!more.every((group) => groupForm.test(group))) return undefined;
  return [...new Set([bootstrappersGroup, ...more])].sort();
}
