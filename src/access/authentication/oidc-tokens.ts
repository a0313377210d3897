/** OpenID Connect: tokens that an identity provider has signed. Only those that name it as their issuer are looked at. */
import type { User } from '../../api/values/user.ts';
import { BoundedCache } from '../bounded-cache.ts';
import { OidcIssuer, type OidcIssuerOptions } from './oidc-issuer.ts';
import { checkOidcTimes, type OidcMapping, oidcUser } from './oidc-mapping.ts';
import { CredentialError, digestOf, ServerTokens } from './token-authenticator.ts';
import { readUnverified } from './unverified-token.ts';

/** Tokens whose user is remembered until they end. */
const rememberedMax = 10_000;

/** One issuer, as flags or a configuration file describe it. */
export interface OidcConfiguration extends OidcMapping {
  readonly issuer: Pick<OidcIssuerOptions, 'url' | 'discoveryUrl' | 'certificateAuthority'>;
  readonly algorithms: readonly string[];
}

type Claims = Readonly<Record<string, unknown>>;

export class OidcTokens extends ServerTokens {
  readonly #issuer: OidcIssuer;
  readonly #known = new BoundedCache<{ readonly user: User; readonly claims: Claims }>(rememberedMax);

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

  protected userOf(token: string): User | undefined | Promise<User> {
    const digest = digestOf(token);
    const known = this.#known.get(digest);
    if (known) {
      checkOidcTimes(known.claims, this.clock.nowMs() / 1000);
      return known.user;
    }
    if (readUnverified(token)?.claims.iss !== this.configuration.issuer.url) return undefined;
    return this.#verify(token, digest);
  }

  async #verify(token: string, digest: string): Promise<User> {
    const claims = await this.#signedClaims(token);
    checkOidcTimes(claims, this.clock.nowMs() / 1000);
    const user = oidcUser(this.configuration, claims);
    this.#known.set(digest, { user, claims });
    return user;
  }

  async #signedClaims(token: string): Promise<Claims> {
    const { compactVerify, errors } = await import('jose');
    for (let attempt = 1; ; attempt++) {
      const keys = await this.#issuer.keys();
      if (!keys) throw new CredentialError('oidc: authenticator not initialized');
      try {
        const { payload } = await compactVerify(token, keys, {
          algorithms: [...this.configuration.algorithms],
        });
        return JSON.parse(Buffer.from(payload).toString('utf8')) as Claims;
      } catch (error) {
        if (!(error instanceof errors.JOSEError)) throw error;
        const unknown = error instanceof errors.JWKSNoMatchingKey;
        if (!unknown || attempt > 1 || !(await this.#issuer.refetch()))
          throw new CredentialError(`oidc: verify token: ${error.message}`);
      }
    }
  }
}
