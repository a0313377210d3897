/**
 * The claims of service account tokens with a valid signature. The result of the check is cached by the hash of the token for
 * as long as the keys stay the same. Expiry, account and bound object are checked elsewhere, with every request.
 */

import { BoundedCache } from '../shared/bounded-cache.ts';
import type { TokenKey } from '../tokens/token-keys.ts';
import type { Tokens } from '../tokens/tokens.ts';
import { CredentialError, digestOfSent, type SentToken } from './token-authenticator.ts';
import { readUnverified } from './unverified-token.ts';

/** Maximum number of tokens whose verification is cached. */
const rememberedMax = 10_000;

export type Claims = Readonly<Record<string, unknown>>;

/** A verified token. The object stays the same while it is cached, so results can be cached by it. */
export interface SignedToken {
  readonly claims: Claims;
  /** The keys it was verified with. */
  readonly keys: readonly TokenKey[];
}

export class SignedClaims {
  readonly #remembered = new BoundedCache<SignedToken>(rememberedMax);

  constructor(private readonly tokens: Tokens) {}

  /** The claims of a token; undefined when it is from another issuer. Throws when its signature is wrong. */
  of(sent: SentToken, issuers: readonly string[]): SignedToken | undefined | Promise<SignedToken> {
    const keys = this.tokens.verificationKeys();
    const { text: token } = sent;
    const digest = digestOfSent(sent);
    const known = this.#remembered.get(digest);
    if (known?.keys === keys) return issuers.includes(known.claims.iss as string) ? known : undefined;
    const unverified = readUnverified(token);
    if (!unverified || !issuers.includes(unverified.claims.iss as string)) return undefined;
    const { kid } = unverified.header;
    // A token that does not name its key may be signed by any.
    const possible = kid === undefined ? keys : keys.filter((key) => key.kid === kid);
    if (possible.length === 0) throw new CredentialError('invalid signature, no keys found');
    return this.#check(token, digest, possible, keys);
  }

  async #check(
    token: string,
    digest: string,
    possible: readonly TokenKey[],
    keys: readonly TokenKey[],
  ): Promise<SignedToken> {
    const { compactVerify, errors } = await import('jose');
    for (const { key, algorithm } of possible) {
      try {
        // Use the key's algorithm, not the token's: otherwise a public key could be used as an HMAC secret.
        const { payload } = await compactVerify(token, key, { algorithms: [algorithm] });
        const claims = JSON.parse(Buffer.from(payload).toString('utf8')) as Claims;
        const signed = { claims, keys };
        this.#remembered.set(digest, signed);
        return signed;
      } catch (error) {
        if (!(error instanceof errors.JOSEError)) throw error;
      }
    }
    throw new CredentialError();
  }
}
