/**
 * Bound tokens: service account tokens that expire. They are valid only while their account, and the secret, pod or
 * node they are bound to, exist with the same uid. This is checked with every request.
 */

import type { ApiObject } from '../../api/text/object.ts';
import { timeToMs } from '../../api/values/time.ts';
import type { User } from '../../api/values/user.ts';
import type { Registry } from '../../registry/registry.ts';
import type { TokenSettings } from '../tokens/tokens.ts';
import { accountUser, accountUserName, findAccount, findObject, meantFor } from './service-accounts.ts';
import type { Claims, SignedClaims, SignedToken } from './signed-claims.ts';
import {
  CredentialError,
  type TokenAnswer,
  type TokenAuthenticator,
  type TokenQuestion,
} from './token-authenticator.ts';

/** Tolerated clock difference. An account or pod that is being deleted may use its token this much longer. */
const leewaySeconds = 60;
const extraPrefix = 'authentication.kubernetes.io/';

interface Reference {
  readonly name: string;
  /** The uid; '' when the token has none: the node was gone when the token was made. */
  readonly uid: string;
}

/** The parsed claims of a token. */
interface BoundClaims {
  readonly namespace: string;
  readonly account: Reference;
  readonly secret: Reference | undefined;
  readonly pod: Reference | undefined;
  readonly node: Reference | undefined;
  readonly audiences: readonly string[] | undefined;
  readonly expires: number | undefined;
  readonly notBefore: number | undefined;
  readonly issued: number | undefined;
  readonly warnAfter: number | undefined;
  readonly user: User;
}

export class BoundTokens implements TokenAuthenticator {
  /** Claims by token, so that a token has the same user object with every request. */
  readonly #read = new WeakMap<SignedToken, BoundClaims>();

  constructor(
    private readonly registry: Registry,
    private readonly settings: TokenSettings,
    private readonly signed: SignedClaims,
  ) {}

  authenticateToken(question: TokenQuestion): TokenAnswer | undefined | Promise<TokenAnswer | undefined> {
    const signed = this.signed.of(question.sent, this.settings.issuers);
    if (signed instanceof Promise) return signed.then((found) => this.#check(found, question));
    return signed && this.#check(signed, question);
  }

  #check(signed: SignedToken, { audiences, annotations }: TokenQuestion): TokenAnswer {
    let claims = this.#read.get(signed);
    if (!claims) {
      claims = readClaims(signed.claims);
      this.#read.set(signed, claims);
    }
    const meant = meantFor(claims.audiences ?? this.settings.audiences, audiences);
    const nowSeconds = this.registry.sources.nowMs() / 1000;
    checkTimes(claims, nowSeconds);
    this.#checkAccount(claims);
    this.#checkBound(claims);
    const { warnAfter, user } = claims;
    if (warnAfter !== undefined && nowSeconds > warnAfter)
      annotations['authentication.k8s.io/stale-token'] =
        `subject: ${user.name}, seconds after warning threshold: ${Math.floor(nowSeconds - warnAfter)}`;
    return { user, audiences: meant };
  }

  #checkAccount({ namespace, account: { name, uid } }: BoundClaims): void {
    const account = findAccount(this.registry, namespace, name);
    if (this.#isGone(account))
      throw new CredentialError(`service account ${namespace}/${name} has been deleted`);
    if (account.metadata.uid !== uid)
      throw new CredentialError(
        `service account UID (${account.metadata.uid}) does not match claim (${uid})`,
      );
  }

  #checkBound({ namespace, secret, pod, node }: BoundClaims): void {
    const check = (kind: string, object: ApiObject | undefined, { uid }: Reference): void => {
      if (!object || this.#isGone(object))
        throw new CredentialError('service account token has been invalidated');
      if (object.metadata.uid !== uid)
        throw new CredentialError(
          `${kind} UID (${object.metadata.uid}) does not match service account ${kind} ref claim (${uid})`,
        );
    };
    const { registry } = this;
    if (secret) check('secret', findObject(registry, 'core/secrets', namespace, secret.name), secret);
    if (pod) check('pod', findObject(registry, 'core/pods', namespace, pod.name), pod);
    // The node of a pod is informational: the token is the pod's, whatever happens to the node.
    else if (node) check('node', findObject(registry, 'core/nodes', '', node.name), node);
  }

  #isGone({ metadata: { deletionTimestamp } }: ApiObject): boolean {
    if (deletionTimestamp === undefined) return false;
    return timeToMs(deletionTimestamp) < this.registry.sources.nowMs() - leewaySeconds * 1000;
  }
}

function checkTimes({ expires, notBefore, issued }: BoundClaims, nowSeconds: number): void {
  if (expires !== undefined && nowSeconds - leewaySeconds > expires)
    throw new CredentialError('service account token has expired');
  if (notBefore !== undefined && nowSeconds + leewaySeconds < notBefore)
    throw new CredentialError('service account token is not valid yet');
  if (issued !== undefined && nowSeconds + leewaySeconds < issued)
    throw new CredentialError('service account token is issued in the future');
}

/** Parses the claims; throws when they are not those of such a token. */
function readClaims(claims: Claims): BoundClaims {
  const own = (claims['kubernetes.io'] ?? {}) as Claims;
  const { namespace } = own;
  const account = referenceOf(own.serviceaccount);
  if (typeof namespace !== 'string' || !account) throw new CredentialError();
  if (claims.sub !== accountUserName(namespace, account.name))
    throw new CredentialError('sub claim is invalid');
  const { jti } = claims;
  const [secret, pod, node] = [own.secret, own.pod, own.node].map(referenceOf);
  const extra: Record<string, string[]> = {
    ...(typeof jti === 'string' && jti !== '' ? { [`${extraPrefix}credential-id`]: [`JTI=${jti}`] } : {}),
    ...named('node', node),
    ...named('pod', pod),
  };
  return {
    namespace,
    account,
    secret,
    pod,
    node,
    audiences: audiencesOf(claims.aud),
    expires: numberOf(claims.exp),
    notBefore: numberOf(claims.nbf),
    issued: numberOf(claims.iat),
    warnAfter: numberOf(own.warnafter),
    user: accountUser(namespace, account.name, account.uid, extra),
  };
}

function named(what: 'node' | 'pod', reference: Reference | undefined): Record<string, string[]> {
  if (!reference) return {};
  const { name, uid } = reference;
  return {
    [`${extraPrefix}${what}-name`]: [name],
    ...(uid ? { [`${extraPrefix}${what}-uid`]: [uid] } : {}),
  };
}

function referenceOf(value: unknown): Reference | undefined {
  const { name, uid } = (value ?? {}) as Partial<Reference>;
  return typeof name === 'string' && name !== ''
    ? { name, uid: typeof uid === 'string' ? uid : '' }
    : undefined;
}

function audiencesOf(value: unknown): string[] | undefined {
  const list = [value ?? []].flat().filter((item) => typeof item === 'string');
  return list.length ? list : undefined;
}

/** A number; throws for other values, so that an invalid time is not ignored. */
function numberOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new CredentialError();
  return value;
}
