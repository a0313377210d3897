/** OpenID Connect: tokens signed by an identity provider. Tokens of other issuers are ignored. */
import type { JWTVerifyGetKey } from 'jose';
import type { User } from '../../api/values/user.ts';
import { BoundedCache } from '../shared/bounded-cache.ts';
import { OidcIssuer, type OidcIssuerOptions } from './oidc-issuer.ts';
import { checkOidcTimes, type OidcMapping, oidcUser } from './oidc-mapping.ts';
import { CredentialError, digestOfSent, type SentToken, ServerTokens } from './token-authenticator.ts';
import { readUnverified } from './unverified-token.ts';

/** Maximum number of tokens whose user is cached until they expire. */
const rememberedMax = 10_000;
/** Maximum number of keys tried for a token that does not name its key. */
const keyTriesMax = 20;

/** One issuer, as flags or a configuration file describe it. */
export interface OidcConfiguration extends OidcMapping {
  readonly issuer: Pick<OidcIssuerOptions, 'url' | 'discoveryUrl' | 'certificateAuthority'>;
  readonly algorithms: readonly string[];
}

type Claims = Readonly<Record<string, unknown>>;

interface Known {
  readonly user: User;
  readonly claims: Claims;
  /** The keys it was verified with: when the issuer has others, it is verified again. */
  readonly keys: JWTVerifyGetKey;
}

export class OidcTokens extends ServerTokens {
  readonly #issuer: OidcIssuer;
  readonly #known = new BoundedCache<Known>(rememberedMax);

  constructor(
    private readonly configuration: OidcConfiguration,
    serverAudiences: readonly string[],
    private readonly clock: Pick<OidcIssuerOptions, 'nowMs' | 'onError'>,
  ) {
    super(serverAudiences);
    this.#issuer = new OidcIssuer({ ...configuration.issuer, ...clock });
  }

  close(): void {
    this.#issuer.close();
  }

  protected userOf(sent: SentToken): User | undefined | Promise<User> {
    const { text: token } = sent;
    const digest = digestOfSent(sent);
    const known = this.#known.get(digest);
    if (known && known.keys === this.#issuer.current) {
      checkOidcTimes(known.claims, this.clock.nowMs() / 1000);
      return known.user;
    }
    if (readUnverified(token)?.claims.iss !== this.configuration.issuer.url) return undefined;
    return this.#verify(token, digest);
  }

  async #verify(token: string, digest: string): Promise<User> {
    const { claims, keys } = await this.#signedClaims(token);
    checkOidcTimes(claims, this.clock.nowMs() / 1000);
    const user = oidcUser(this.configuration, claims);
    this.#known.set(digest, { user, claims, keys });
    return user;
  }

  async #signedClaims(token: string): Promise<{ claims: Claims; keys: JWTVerifyGetKey }> {
    const { errors } = await import('jose');
    for (let attempt = 1; ; attempt++) {
      const keys = await this.#issuer.keys();
      if (!keys) throw new CredentialError('oidc: authenticator not initialized');
      try {
        return { claims: await this.#verified(token, keys), keys };
      } catch (error) {
        if (!(error instanceof errors.JOSEError)) throw error;
        // No known key has signed the token; the issuer may have changed its keys since.
        const isOther =
          error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
        if (!isOther || attempt > 1 || !(await this.#issuer.refetch()))
          throw new CredentialError(`oidc: verify token: ${error.message}`);
      }
    }
  }

  /** The claims of a token that one of the keys has signed; a token that does not name its key may be signed by any. */
  async #verified(token: string, keys: JWTVerifyGetKey): Promise<Claims> {
    const { compactVerify, errors } = await import('jose');
    const algorithms = [...this.configuration.algorithms];
    const claimsIn = (payload: Uint8Array): Claims =>
      JSON.parse(Buffer.from(payload).toString('utf8')) as Claims;
    try {
      return claimsIn((await compactVerify(token, keys, { algorithms })).payload);
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      let tries = 0;
      for await (const key of error) {
        if (++tries > keyTriesMax) break;
        const found = await compactVerify(token, key, { algorithms }).catch(() => undefined);
        if (found) return claimsIn(found.payload);
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }
}
