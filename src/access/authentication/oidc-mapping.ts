/** Which claims an OpenID Connect token must have, and the user made from them. */
import type { User } from '../../api/values/user.ts';
import type { AccessRule, ClaimExpression } from './claim-expressions.ts';
import { CredentialError } from './token-authenticator.ts';

/** The source of a user's field: a claim with a prefix, or an expression over all claims. */
export type ClaimSource = { readonly claim: string; readonly prefix: string } | ClaimExpression;

export interface OidcMapping {
  /** Accepted audiences; the token must be for one of them. */
  readonly audiences: readonly string[];
  readonly requiredClaims: Readonly<Record<string, string>>;
  readonly claimRules?: readonly AccessRule[];
  readonly username: ClaimSource;
  readonly groups?: ClaimSource;
  readonly uid?: ClaimSource;
  readonly extra?: readonly { readonly key: string; readonly values: ClaimExpression }[];
  readonly userRules?: readonly AccessRule[];
}

type Claims = Readonly<Record<string, unknown>>;

/** Tolerated clock difference at the beginning of a token's life, as in go-oidc, which tolerates nothing at its end. */
const notBeforeLeewaySeconds = 300;

/** Throws when the token is not valid now. */
export function checkOidcTimes({ exp, nbf }: Claims, nowSeconds: number): void {
  if (typeof exp !== 'number') throw new CredentialError('oidc: verify token: oidc: token has no expiry');
  if (nowSeconds >= exp) throw new CredentialError('oidc: verify token: oidc: token is expired');
  if (typeof nbf === 'number' && nowSeconds + notBeforeLeewaySeconds < nbf)
    throw new CredentialError('oidc: verify token: oidc: current time is before the nbf (not before) time');
}

/** The user; throws when the claims do not yield one. */
export function oidcUser(mapping: OidcMapping, claims: Claims): User {
  checkAudience(mapping, claims.aud);
  const { username, groups, uid: uidSource, claimRules = [], userRules = [] } = mapping;
  const name = usernameOf(claims, username);
  const groupNames = groups ? groupsOf(claims, groups) : [];
  const uid = uidSource && uidOf(claims, uidSource);
  const extra = extraOf(mapping, claims);
  checkRequired(mapping.requiredClaims, claims);
  for (const rule of claimRules) rule.checkClaims(claims);
  const user: User = { name, ...(uid ? { uid } : {}), groups: groupNames, extra };
  for (const rule of userRules) rule.checkUser(user);
  return user;
}

function checkAudience({ audiences }: OidcMapping, value: unknown): void {
  const said = [value ?? []].flat().filter((item) => typeof item === 'string');
  if (said.some((audience) => audiences.includes(audience))) return;
  throw new CredentialError(`oidc: expected audience in ${quoted(audiences)} got ${quoted(said)}`);
}

function usernameOf(claims: Claims, source: ClaimSource): string {
  if (!('claim' in source)) {
    const given = source.textOf(claims, 'username');
    if (given === '') throw new CredentialError('oidc: empty username via CEL expression is not allowed');
    return given;
  }
  const { claim, prefix } = source;
  const name = textClaim(claims, claim, 'username');
  if (name === '') throw new CredentialError(`oidc: parse username claims ${JSON.stringify(claim)}: empty`);
  // An unverified address may belong to another person.
  if (claim === 'email' && claims.email_verified !== undefined && claims.email_verified !== true)
    throw new CredentialError('oidc: email not verified');
  return prefix + name;
}

const uidOf = (claims: Claims, source: ClaimSource): string =>
  'claim' in source ? textClaim(claims, source.claim, 'uid') : source.textOf(claims, 'uid');

/** The extra values of a user: results of expressions, and the id of the token. Keys without values are left out. */
function extraOf({ extra = [] }: OidcMapping, claims: Claims): Record<string, readonly string[]> {
  const { jti } = claims;
  const said = extra.map(({ key, values }) => [key, values.textsOf(claims, 'extra')] as const);
  return {
    ...Object.fromEntries(said.filter(([, values]) => values.length)),
    ...(typeof jti === 'string' && jti !== ''
      ? { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] }
      : {}),
  };
}

function checkRequired(required: OidcMapping['requiredClaims'], claims: Claims): void {
  for (const [claim, wanted] of Object.entries(required)) {
    if (!Object.hasOwn(claims, claim))
      throw new CredentialError(`oidc: required claim ${claim} not present in ID token`);
    const said = claims[claim];
    if (said !== wanted)
      throw new CredentialError(
        `oidc: required claim ${claim} value does not match. Got = ${typeof said === 'string' ? said : JSON.stringify(said)}, want = ${wanted}`,
      );
  }
}

function textClaim(claims: Claims, claim: string, what: string): string {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (value === undefined)
    throw new CredentialError(`oidc: parse ${what} claims ${JSON.stringify(claim)}: claim not present`);
  if (typeof value !== 'string')
    throw new CredentialError(`oidc: parse ${what} claims ${JSON.stringify(claim)}: not a text`);
  return value;
}

/** The groups: a text or a list; none when the claim is absent. */
function groupsOf(claims: Claims, source: ClaimSource): readonly string[] {
  if (!('claim' in source)) return source.textsOf(claims, 'group');
  const { claim, prefix } = source;
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (value === undefined || value === null) return [];
  const groups = [value].flat();
  if (!groups.every((group) => typeof group === 'string'))
    throw new CredentialError(
      `oidc: parse groups claim ${JSON.stringify(claim)}: not a text or a list of texts`,
    );
  return groups.map((group) => prefix + group);
}

const quoted = (texts: readonly string[]): string =>
  `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;
