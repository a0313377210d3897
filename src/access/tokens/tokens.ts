/**
 * Service account tokens: signed statements about the identity of a process. They are verified in `../authentication/`.
 */
import type { ServiceAccount } from '../../api/generated/types.ts';
import type { Registry } from '../../registry/registry.ts';
import { type ChosenKeys, type KeyType, type TokenKey, TokenKeys } from './token-keys.ts';

/** The issuer of tokens that are valid as long as their secret exists. */
export const legacyIssuer = 'kubernetes/serviceaccount';

export interface TokenSettings {
  /** The first signs; tokens of all are accepted. */
  readonly issuers: readonly string[];
  /** Audiences of the server itself, and the default audiences of tokens. */
  readonly audiences: readonly string[];
  /** Default: a key of the cluster's own. */
  readonly keys?: ChosenKeys;
  /** The type of the cluster's own key, used when the key has to be made. */
  readonly keyType: KeyType;
  /** Whether tokens of pods are valid longer than requested, for programs that read them once. */
  readonly extendExpiration: boolean;
  /** Longer lifetimes are shortened to this. */
  readonly expirationMaxSeconds?: number;
  /** URL of the public keys in the discovery document. Default: at the door of the request. */
  readonly keysUrl?: string;
}

const issuerDefault = 'https://kubernetes.default.svc';

export const defaultTokenSettings: TokenSettings = {
  issuers: [issuerDefault],
  audiences: [issuerDefault],
  keyType: 'ec',
  extendExpiration: true,
};

interface Reference {
  readonly name: string;
  readonly uid?: string;
}

export interface BoundClaims {
  readonly audiences: readonly string[];
  readonly lifeSeconds: number;
  /** Use after this time is recorded in the audit log. */
  readonly warnAfterSeconds?: number;
  /** The object that the token is bound to; for a pod, its node as well. */
  readonly pod?: Reference;
  readonly secret?: Reference;
  readonly node?: Reference;
}

export interface BoundToken {
  readonly token: string;
  readonly issuedSeconds: number;
  /** The token's id in logs. */
  readonly id: string;
}

export class Tokens {
  readonly #keys: TokenKeys;

  constructor(
    private readonly registry: Registry,
    readonly settings: TokenSettings = defaultTokenSettings,
  ) {
    this.#keys = new TokenKeys(registry, settings.keyType, settings.keys);
  }

  /** A token without expiry, to be stored in a secret. */
  async legacy(account: ServiceAccount, secretName: string): Promise<string> {
    const { name, namespace, uid } = account.metadata;
    return this.#sign({
      iss: legacyIssuer,
      'kubernetes.io/serviceaccount/namespace': namespace,
      'kubernetes.io/serviceaccount/secret.name': secretName,
      'kubernetes.io/serviceaccount/service-account.name': name,
      'kubernetes.io/serviceaccount/service-account.uid': uid,
      sub: subjectOf(account),
    });
  }

  /** A token with expiry. */
  async bound(account: ServiceAccount, claims: BoundClaims): Promise<BoundToken> {
    const { name, namespace, uid } = account.metadata;
    const { pod, secret, node, warnAfterSeconds } = claims;
    const issuedSeconds = Math.floor(this.registry.sources.nowMs() / 1000);
    const id = this.registry.sources.uid();
    const token = await this.#sign({
      aud: [...claims.audiences],
      exp: issuedSeconds + claims.lifeSeconds,
      iat: issuedSeconds,
      iss: this.settings.issuers[0],
      jti: id,
      'kubernetes.io': {
        namespace,
        ...(node ? { node } : {}),
        ...(pod ? { pod } : {}),
        ...(secret ? { secret } : {}),
        serviceaccount: { name, uid },
        ...(warnAfterSeconds === undefined ? {} : { warnafter: issuedSeconds + warnAfterSeconds }),
      },
      nbf: issuedSeconds,
      sub: subjectOf(account),
    });
    return { token, issuedSeconds, id };
  }

  /** The public keys that tokens are verified with; the same list until it changes. */
  verificationKeys(): readonly TokenKey[] {
    return this.#keys.verification();
  }

  /** The same; creates the first key when it is missing. */
  async publicKeys(): Promise<readonly TokenKey[]> {
    await this.#keys.signing();
    return this.verificationKeys();
  }

  async #sign(claims: Record<string, unknown>): Promise<string> {
    const { key, kid, algorithm } = await this.#keys.signing();
    const { SignJWT } = await import('jose');
    return new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid }).sign(key);
  }
}

const subjectOf = ({ metadata }: ServiceAccount): string =>
  `system:serviceaccount:${metadata.namespace}:${metadata.name}`;
