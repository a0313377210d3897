/**
 * The file of `--authentication-config`: issuers of tokens and anonymous access, as kind AuthenticationConfiguration. What
 * cannot be honoured is refused: expressions of CEL are not evaluated.
 */
import { isJsonObject, type JsonObject } from '../../api/object.ts';
import { readYaml } from '../../api/yaml.ts';
import type { AnonymousAccess } from './anonymous.ts';
import type { OidcConfiguration } from './oidctokens.ts';

export interface AuthenticationConfiguration {
  readonly issuers: readonly OidcConfiguration[];
  /** undefined: the file does not say. */
  readonly anonymous: AnonymousAccess | undefined;
}

const versions: ReadonlySet<unknown> = new Set(
  ['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`),
);
const issuersMax = 64;

/** Every algorithm that a key pair signs with. */
const algorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];

/** Throws a sentence that names the field which is wrong. */
export function readAuthenticationConfiguration(text: string): AuthenticationConfiguration {
  const root = fieldsOf(readYaml(text).value, 'the configuration', [
    'apiVersion',
    'kind',
    'jwt',
    'anonymous',
  ]);
  if (root.kind !== 'AuthenticationConfiguration' || !versions.has(root.apiVersion))
    throw new Error('it must be of kind AuthenticationConfiguration, apiVersion apiserver.config.k8s.io/v1');
  const list = listOf(root.jwt, 'jwt');
  if (list.length > issuersMax) throw new Error(`jwt: there are more than ${issuersMax} issuers`);
  const issuers = list.map((item, index) => issuerOf(item, `jwt[${index}]`));
  const urls = issuers.map(({ issuer }) => issuer.url);
  const twice = urls.find((url, index) => urls.indexOf(url) !== index);
  if (twice !== undefined) throw new Error(`jwt: the issuer ${twice} is there twice`);
  return { issuers, anonymous: root.anonymous === undefined ? undefined : anonymousOf(root.anonymous) };
}

function anonymousOf(value: unknown): AnonymousAccess {
  const { enabled, conditions } = fieldsOf(value, 'anonymous', ['enabled', 'conditions']);
  if (typeof enabled !== 'boolean') throw new Error('anonymous.enabled must be true or false');
  if (conditions === undefined) return { enabled };
  const paths = listOf(conditions, 'anonymous.conditions').map((item, index) => {
    const place = `anonymous.conditions[${index}]`;
    return required(fieldsOf(item, place, ['path']), 'path', place);
  });
  if (!enabled && paths.length)
    throw new Error('anonymous.conditions make sense only when anonymous is enabled');
  return { enabled, paths: paths.length ? new Set(paths) : undefined };
}

function issuerOf(value: unknown, place: string): OidcConfiguration {
  const entry = fieldsOf(value, place, [
    'issuer',
    'claimValidationRules',
    'claimMappings',
    'userValidationRules',
  ]);
  if (listOf(entry.userValidationRules, `${place}.userValidationRules`).length)
    throw new Error(`${place}.userValidationRules: ${noExpressions}`);
  const at = `${place}.issuer`;
  const issuer = fieldsOf(entry.issuer, at, [
    'url',
    'discoveryURL',
    'certificateAuthority',
    'audiences',
    'audienceMatchPolicy',
  ]);
  const audiences = listOf(issuer.audiences, `${at}.audiences`).map((item) =>
    textOf(item, `${at}.audiences`),
  );
  if (audiences.length === 0) throw new Error(`${at}.audiences must name at least one`);
  if (audiences.length > 1 && issuer.audienceMatchPolicy !== 'MatchAny')
    throw new Error(`${at}.audienceMatchPolicy must be MatchAny when there are several audiences`);
  const discoveryUrl = optional(issuer, 'discoveryURL', at);
  return {
    issuer: {
      url: secureUrl(required(issuer, 'url', at), `${at}.url`),
      discoveryUrl: discoveryUrl === undefined ? undefined : secureUrl(discoveryUrl, `${at}.discoveryURL`),
      certificateAuthority: optional(issuer, 'certificateAuthority', at),
    },
    algorithms,
    audiences,
    requiredClaims: requiredClaims(entry.claimValidationRules, `${place}.claimValidationRules`),
    ...mappingsOf(entry.claimMappings, `${place}.claimMappings`),
  };
}

function requiredClaims(value: unknown, place: string): Record<string, string> {
  return Object.fromEntries(
    listOf(value, place).map((item, index) => {
      const at = `${place}[${index}]`;
      const rule = fieldsOf(item, at, ['claim', 'requiredValue', 'expression', 'message']);
      refuseExpression(rule, 'expression', at);
      return [required(rule, 'claim', at), textOf(rule.requiredValue ?? '', `${at}.requiredValue`)];
    }),
  );
}

function mappingsOf(
  value: unknown,
  place: string,
): Pick<OidcConfiguration, 'username' | 'groups' | 'uidClaim'> {
  const { username, groups, uid, extra } = fieldsOf(value, place, ['username', 'groups', 'uid', 'extra']);
  if (listOf(extra, `${place}.extra`).length) throw new Error(`${place}.extra: ${noExpressions}`);
  const mappedUid = uid === undefined ? undefined : claimOf(uid, `${place}.uid`, false);
  return {
    username: claimOf(username, `${place}.username`, true) ?? missing(`${place}.username`),
    groups: groups === undefined ? undefined : claimOf(groups, `${place}.groups`, true),
    uidClaim: mappedUid?.claim,
  };
}

function missing(place: string): never {
  throw new Error(`${place}.claim is required`);
}

function claimOf(
  value: unknown,
  place: string,
  prefixed: boolean,
): { claim: string; prefix: string } | undefined {
  const fields = fieldsOf(
    value,
    place,
    prefixed ? ['claim', 'prefix', 'expression'] : ['claim', 'expression'],
  );
  refuseExpression(fields, 'expression', place);
  const claim = optional(fields, 'claim', place);
  if (claim === undefined) return undefined;
  if (prefixed && fields.prefix === undefined)
    throw new Error(`${place}.prefix is required when claim is set; it may be ""`);
  return { claim, prefix: prefixed ? textOf(fields.prefix, `${place}.prefix`) : '' };
}

const noExpressions = 'expressions are not supported; use claim, prefix and requiredValue';

function refuseExpression(fields: JsonObject, name: string, place: string): void {
  if (fields[name] !== undefined && fields[name] !== '')
    throw new Error(`${place}.${name}: ${noExpressions}`);
}

/** The fields of an object; a name that is not known is refused, or it would be ignored in silence. */
function fieldsOf(value: unknown, place: string, known: readonly string[]): JsonObject {
  if (!isJsonObject(value)) throw new Error(`${place} must be an object`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${place} has the unknown field ${JSON.stringify(unknown)}`);
  return value;
}

function listOf(value: unknown, place: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${place} must be a list`);
  return value;
}

function textOf(value: unknown, place: string): string {
  if (typeof value !== 'string') throw new Error(`${place} must be a text`);
  return value;
}

function required(fields: JsonObject, name: string, place: string): string {
  const value = optional(fields, name, place);
  if (value === undefined) throw new Error(`${place}.${name} is required`);
  return value;
}

function optional(fields: JsonObject, name: string, place: string): string | undefined {
  const value = fields[name];
  return value === undefined || value === '' ? undefined : textOf(value, `${place}.${name}`);
}

/** Throws when it is not an https URL without user, query and fragment. */
export function secureUrl(text: string, place: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || url.username || url.password || url.search || url.hash)
    throw new Error(
      `${place} must be an https URL without user, query and fragment, not ${JSON.stringify(text)}`,
    );
  return text;
}
