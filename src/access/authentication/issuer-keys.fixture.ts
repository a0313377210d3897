/** For tests: keys of an issuer of tokens, and the documents by which it tells them. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';

export interface IssuerKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** Made once for all tests: that takes a while. */
const made = new Map<string, Omit<IssuerKey, 'kid'>>();

export function newKey(kid: string, owner = 'issuer'): IssuerKey {
  const pair = made.get(owner + kid) ?? generateKeyPairSync('rsa', { modulusLength: 2048 });
  made.set(owner + kid, pair);
  return { kid, ...pair };
}

/** By path. */
export const issuerDocuments = (issuer: string, keys: readonly IssuerKey[]): Record<string, unknown> => ({
  '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys` },
  '/elsewhere': { issuer, jwks_uri: `${issuer}/keys` },
  '/keys': {
    keys: keys.map(({ kid, publicKey }) => ({
      ...publicKey.export({ format: 'jwk' }),
      kid,
      use: 'sig',
      alg: 'RS256',
    })),
  },
});
