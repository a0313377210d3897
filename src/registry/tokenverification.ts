/**
 * Token verification: which service account a token belongs to, and whether it is still valid. Its account, and the
 * secret, pod or node it is bound to, must exist and have the same uid.
 */
import type { JWTPayload } from 'jose';
import type { Secret } from '../api/generated/types.ts';
import type { ResourceId } from '../api/kind.ts';
import type { ApiObject } from '../api/object.ts';
import { timeToMs } from '../api/time.ts';
import type { Registry } from './registry.ts';
import { algorithm, issuer, legacyIssuer } from './tokens.ts';

/** Longest token that is parsed. */
const tokenCharsMax = 64 * 1024;
/** The token of an account or pod that is being deleted stays valid this much longer, as clocks differ. */
const leewayMs = 60_000;

const claimPrefix = 'kubernetes.io/serviceaccount/';
const extraPrefix = 'authentication.kubernetes.io/';

interface TokenUser {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface VerifiedToken {
  readonly user: TokenUser;
  /** The requested audiences that the token is valid for. */
  readonly audiences: readonly string[];
}

/** The token is not valid. The message is Kubernetes', and empty where Kubernetes gives none. */
export class TokenError extends Error {
  constructor(message = '') {
    super(message);
    this.name = 'TokenError';
  }
}

/** The account of a token, if the token is for one of these audiences; throws a TokenError when it is not valid. */
export async function verifyToken(
  registry: Registry,
  token: string,
  audiences: readonly string[],
): Promise<VerifiedToken> {
  const claims = await signedClaims(registry, token);
  await registry.view.caughtUp();
  if (claims.iss === legacyIssuer) {
    // Tokens of this older form name no audience: they are for the API server.
    const meant = meantFor(registry.tokens.defaultAudiences, audiences);
    return { user: legacyUser(registry, claims, token), audiences: meant };
  }
  if (claims.iss !== issuer) throw new TokenError();
  const said = claims.aud === undefined ? [] : [claims.aud].flat();
  const meant = meantFor(said.length ? said : registry.tokens.defaultAudiences, audiences);
  return { user: boundUser(registry, claims), audiences: meant };
}

/** The claims of a token with a valid signature. */
async function signedClaims({ tokens, chance }: Registry, token: string): Promise<JWTPayload> {
  if (token.length > tokenCharsMax) throw new TokenError();
  const key = tokens.verificationKey();
  if (!key) throw new TokenError();
  const { errors, jwtVerify } = await import('jose');
  try {
    const currentDate = new Date(chance.nowMs());
    const clockTolerance = leewayMs / 1000;
    return (await jwtVerify(token, key, { algorithms: [algorithm], currentDate, clockTolerance })).payload;
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw new TokenError('service account token has expired');
    if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'nbf')
      throw new TokenError('service account token is not valid yet');
    if (error instanceof errors.JOSEError) throw new TokenError();
    throw error;
  }
}

function meantFor(said: readonly string[], wanted: readonly string[]): string[] {
  const both = said.filter((audience) => wanted.includes(audience));
  if (both.length) return both;
  throw new TokenError(
    `token audiences ${quoted(said)} is invalid for the target audiences ${quoted(wanted)}`,
  );
}

const quoted = (texts: readonly string[]): string =>
  `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;

// Tokens without expiry

function legacyUser(registry: Registry, claims: JWTPayload, token: string): TokenUser {
  const [namespace, secretName, name, uid] = [
    'namespace',
    'secret.name',
    'service-account.name',
    'service-account.uid',
  ].map((claim) => textClaim(claims, claimPrefix + claim)) as [string, string, string, string];
  if (claims.sub !== usernameOf(namespace, name)) throw new TokenError('sub claim is invalid');
  const secret = find(registry, 'core/secrets', namespace, secretName) as Secret | undefined;
  if (!secret || secret.metadata.deletionTimestamp) throw new TokenError('Token has been invalidated');
  if (Buffer.from(secret.data?.token ?? '', 'base64').toString('utf8') !== token)
    throw new TokenError("Token does not match server's copy");
  checkAccount(registry, namespace, name, uid);
  return userOf(namespace, name, uid, {});
}

// Tokens with expiry

interface Reference {
  readonly name: string;
  readonly uid: string;
}

/** The objects that tokens can be bound to, by claim. */
const boundTo = { secret: 'core/secrets', pod: 'core/pods', node: 'core/nodes' } as const;

function boundUser(registry: Registry, claims: JWTPayload): TokenUser {
  const own = claims['kubernetes.io'] as Record<string, unknown> | undefined;
  const namespace = own?.namespace;
  const account = referenceOf(own?.serviceaccount);
  if (typeof namespace !== 'string' || !account) throw new TokenError();
  if (claims.sub !== usernameOf(namespace, account.name)) throw new TokenError('sub claim is invalid');
  checkAccount(registry, namespace, account.name, account.uid);
  const extra: Record<string, string[]> = {};
  if (claims.jti) extra[`${extraPrefix}credential-id`] = [`JTI=${claims.jti}`];
  for (const [claim, id] of Object.entries(boundTo)) {
    const reference = referenceOf(own?.[claim]);
    if (!reference) continue;
    checkBound(registry, claim, id, id === 'core/nodes' ? '' : namespace, reference);
    if (claim === 'secret') continue;
    extra[`${extraPrefix}${claim}-name`] = [reference.name];
    extra[`${extraPrefix}${claim}-uid`] = [reference.uid];
  }
  return userOf(namespace, account.name, account.uid, extra);
}

function checkBound(
  registry: Registry,
  claim: string,
  id: ResourceId,
  namespace: string,
  { name, uid }: Reference,
): void {
  const object = find(registry, id, namespace, name);
  if (!object || isGone(registry, object)) throw new TokenError('service account token has been invalidated');
  if (object.metadata.uid !== uid)
    throw new TokenError(
      `${claim} UID (${object.metadata.uid}) does not match service account ${claim} ref claim (${uid})`,
    );
}

function referenceOf(value: unknown): Reference | undefined {
  const { name, uid } = (value ?? {}) as Partial<Reference>;
  return typeof name === 'string' && typeof uid === 'string' ? { name, uid } : undefined;
}

// Both

function checkAccount(registry: Registry, namespace: string, name: string, uid: string): void {
  const account = find(registry, 'core/serviceaccounts', namespace, name);
  if (!account) throw new TokenError(`serviceaccounts "${name}" not found`);
  if (isGone(registry, account))
    throw new TokenError(`service account ${namespace}/${name} has been deleted`);
  if (account.metadata.uid !== uid)
    throw new TokenError(`service account UID (${account.metadata.uid}) does not match claim (${uid})`);
}

const find = ({ view }: Registry, id: ResourceId, namespace: string, name: string): ApiObject | undefined =>
  view.collection(id).get(namespace, name)?.object();

function isGone({ chance }: Registry, { metadata }: ApiObject): boolean {
  const deleted = metadata.deletionTimestamp;
  return deleted !== undefined && timeToMs(deleted) < chance.nowMs() - leewayMs;
}

function textClaim(claims: JWTPayload, name: string): string {
  const value = claims[name];
  if (typeof value !== 'string') throw new TokenError();
  return value;
}

const usernameOf = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`;

const userOf = (namespace: string, name: string, uid: string, extra: TokenUser['extra']): TokenUser => ({
  username: usernameOf(namespace, name),
  uid,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  extra,
});
