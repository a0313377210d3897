/** What an OpenID Connect token must say, and the user that its claims make. */
import type { User } from '../../api/user.ts';
import { CredentialError } from './tokenauthenticator.ts';

export interface OidcMapping {
  /** The token must be for one of them. */
  readonly audiences: readonly string[];
  readonly requiredClaims: Readonly<Record<string, string>>;
  readonly username: { readonly claim: string; readonly prefix: string };
  readonly groups?: { readonly claim: string; readonly prefix: string };
  readonly uidClaim?: string;
}

type Claims = Readonly<Record<string, unknown>>;

/** go-oidc lets clocks differ this much at the beginning of a token's life, and not at its end. */
const notBeforeLeewaySeconds = 300;

/** Throws when the token is not good now. */
export function checkOidcTimes({ exp, nbf }: Claims, nowSeconds: number): void {
  if (typeof exp !== 'number') throw new CredentialError('oidc: verify token: oidc: token has no expiry');
  if (nowSeconds >= exp) throw new CredentialError('oidc: verify token: oidc: token is expired');
  if (typeof nbf === 'number' && nowSeconds + notBeforeLeewaySeconds < nbf)
    throw new CredentialError('oidc: verify token: oidc: current time is before the nbf (not before) time');
}

/** The user; throws when the claims do not allow one. */
export function oidcUser(mapping: OidcMapping, claims: Claims): User {
  checkAudience(mapping, claims.aud);
  const { username, groups, uidClaim } = mapping;
  const name = username.prefix + usernameOf(claims, username.claim);
  checkRequired(mapping.requiredClaims, claims);
  const uid = uidClaim === undefined ? undefined : textClaim(claims, uidClaim, 'uid');
  const { jti } = claims;
  return {
    name,
    ...(uid ? { uid } : {}),
    groups: groups ? groupsOf(claims, groups.claim).map((group) => groups.prefix + group) : [],
    extra:
      typeof jti === 'string' && jti !== ''
        ? { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] }
        : {},
  };
}

function checkAudience({ audiences }: OidcMapping, value: unknown): void {
  const said = [value ?? []].flat().filter((item) => typeof item === 'string');
  if (said.some((audience) => audiences.includes(audience))) return;
  throw new CredentialError(`oidc: expected audience in ${quoted(audiences)} got ${quoted(said)}`);
}

function usernameOf(claims: Claims, claim: string): string {
  const name = textClaim(claims, claim, 'username');
  if (name === '') throw new CredentialError(`oidc: parse username claims ${JSON.stringify(claim)}: empty`);
  // An unconfirmed address may belong to another person.
  if (claim === 'email' && claims.email_verified !== undefined && claims.email_verified !== true)
    throw new CredentialError('oidc: email not verified');
  return name;
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

/** One group as a text, or a list; none when the claim is absent. */
function groupsOf(claims: Claims, claim: string): readonly string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (value === undefined || value === null) return [];
  const groups = [value].flat();
  if (!groups.every((group) => typeof group === 'string'))
    throw new CredentialError(
      `oidc: parse groups claim ${JSON.stringify(claim)}: not a text or a list of texts`,
    );
  return groups;
}

const quoted = (texts: readonly string[]): string =>
  `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;
