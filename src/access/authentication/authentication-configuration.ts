/** The file of `--authentication-config`: issuers of tokens and anonymous access, as kind AuthenticationConfiguration. */
import { readsClaim } from '../../api/cel/access.ts';
import { type ConfigurationValue, readConfiguration } from '../../api/text/configuration.ts';
import { extraKeyProblem } from '../shared/extra-keys.ts';
import type { AnonymousAccess } from './anonymous.ts';
import { AccessRule, ClaimExpression } from './claim-expressions.ts';
import type { ClaimSource } from './oidc-mapping.ts';
import type { OidcConfiguration } from './oidc-tokens.ts';

export interface AuthenticationConfiguration {
  readonly issuers: readonly OidcConfiguration[];
  /** Settings of anonymous access; undefined when the file has none. */
  readonly anonymous: AnonymousAccess | undefined;
}

const versions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`);
const issuersMax = 64;
/** Maximum number of rules, and of extra keys, of one issuer. */
const expressionsMax = 64;

/** All signature algorithms with key pairs. */
const algorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];

/** Parses the file. Throws an error with a sentence that names the wrong field. */
export function readAuthenticationConfiguration(text: string): AuthenticationConfiguration {
  const root = readConfiguration(text, 'AuthenticationConfiguration', versions, 'jwt', 'anonymous');
  const issuers = itemsOf(root.jwt, issuersMax).map(issuerOf);
  const urls = issuers.map(({ issuer }) => issuer.url);
  const twice = urls.find((url, index) => urls.indexOf(url) !== index);
  if (twice !== undefined) throw new Error(`jwt: the issuer ${twice} is there twice`);
  return { issuers, anonymous: root.anonymous.isSet ? anonymousOf(root.anonymous) : undefined };
}

function itemsOf(list: ConfigurationValue, itemsMax: number): ConfigurationValue[] {
  const items = list.items();
  if (items.length > itemsMax) throw new Error(`${list.path} has more than ${itemsMax} items`);
  return items;
}

function anonymousOf(value: ConfigurationValue): AnonymousAccess {
  const { enabled: wanted, conditions } = value.fields('enabled', 'conditions');
  if (!wanted.isSet) throw new Error(`${wanted.path} must be true or false`);
  const enabled = wanted.flag(false);
  const paths = conditions.items().map((item) => item.fields('path').path.requiredText());
  if (!enabled && paths.length)
    throw new Error(`${conditions.path} make sense only when anonymous is enabled`);
  return paths.length ? { enabled, paths: new Set(paths) } : { enabled };
}

function issuerOf(value: ConfigurationValue): OidcConfiguration {
  const entry = value.fields('issuer', 'claimValidationRules', 'claimMappings', 'userValidationRules');
  const { url, discoveryURL, certificateAuthority, audiences, audienceMatchPolicy } = entry.issuer.fields(
    'url',
    'discoveryURL',
    'certificateAuthority',
    'audiences',
    'audienceMatchPolicy',
  );
  const named = audiences.texts();
  if (named.length === 0) throw new Error(`${audiences.path} must name at least one`);
  if (named.length > 1 && audienceMatchPolicy.value !== 'MatchAny')
    throw new Error(`${audienceMatchPolicy.path} must be MatchAny when there are several audiences`);
  const discovery = discoveryURL.optionalText();
  const rules = claimRulesOf(entry.claimValidationRules);
  const mappings = mappingsOf(entry.claimMappings);
  checkEmail(mappings, rules.claimRules, entry.claimMappings.path);
  return {
    issuer: {
      url: secureUrl(url.requiredText(), url.path),
      discoveryUrl: discovery === undefined ? undefined : secureUrl(discovery, discoveryURL.path),
      certificateAuthority: certificateAuthority.optionalText(),
    },
    algorithms,
    audiences: named,
    ...rules,
    ...mappings,
    userRules: userRulesOf(entry.userValidationRules),
  };
}

type ClaimRules = Required<Pick<OidcConfiguration, 'requiredClaims' | 'claimRules'>>;

function claimRulesOf(list: ConfigurationValue): ClaimRules {
  const requiredClaims: Record<string, string> = {};
  const claimRules: AccessRule[] = [];
  for (const item of itemsOf(list, expressionsMax)) {
    const { claim, requiredValue, expression, message } = item.fields(
      'claim',
      'requiredValue',
      'expression',
      'message',
    );
    const text = expression.optionalText();
    if (text === undefined) {
      const name = claim.optionalText() ?? neither(item);
      if (message.isSet) throw new Error(`${message.path} is for expressions only`);
      if (Object.hasOwn(requiredClaims, name)) throw twice(claim);
      requiredClaims[name] = requiredValue.isSet ? requiredValue.text() : '';
    } else {
      if (claim.isSet || requiredValue.isSet) throw both(item);
      if (claimRules.some((rule) => rule.text === text)) throw twice(expression);
      claimRules.push(compiled(expression, () => new AccessRule('claims', text, messageOf(message))));
    }
  }
  return { requiredClaims, claimRules };
}

function userRulesOf(list: ConfigurationValue): AccessRule[] {
  const rules: AccessRule[] = [];
  for (const item of itemsOf(list, expressionsMax)) {
    const { expression, message } = item.fields('expression', 'message');
    const text = expression.requiredText();
    if (rules.some((rule) => rule.text === text)) throw twice(expression);
    rules.push(compiled(expression, () => new AccessRule('user', text, messageOf(message))));
  }
  return rules;
}

const messageOf = (message: ConfigurationValue): string => message.optionalText() ?? 'it is false';

type Mappings = Pick<OidcConfiguration, 'username' | 'groups' | 'uid' | 'extra'>;

function mappingsOf(value: ConfigurationValue): Mappings {
  const { username, groups, uid, extra } = value.fields('username', 'groups', 'uid', 'extra');
  const name = sourceOf(username, true);
  if (!name) throw new Error(`${username.path}: claim or expression is required`);
  return {
    username: name,
    groups: sourceOf(groups, true),
    uid: sourceOf(uid, false),
    extra: extraOf(extra),
  };
}

/** The source of a value; undefined when neither a claim nor an expression is named. */
function sourceOf(value: ConfigurationValue, prefixed: boolean): ClaimSource | undefined {
  const names = prefixed ? ['claim', 'prefix', 'expression'] : ['claim', 'expression'];
  const { claim, prefix, expression } = value.fields(...names) as Record<
    string,
    ConfigurationValue | undefined
  >;
  const [name, text] = [claim!.optionalText(), expression!.optionalText()];
  if (text !== undefined) {
    if (name !== undefined || prefix?.isSet) throw both(value);
    return compiled(expression!, () => new ClaimExpression(text));
  }
  if (name === undefined) {
    if (prefix?.optionalText() !== undefined) throw new Error(`${prefix.path} is for claims only`);
    return undefined;
  }
  if (prefix && !prefix.isSet) throw new Error(`${prefix.path} is required when claim is set; it may be ""`);
  return { claim: name, prefix: prefix?.text() ?? '' };
}

function extraOf(list: ConfigurationValue): Required<OidcConfiguration>['extra'] {
  const keys = new Set<string>();
  return itemsOf(list, expressionsMax).map((item) => {
    const { key, valueExpression } = item.fields('key', 'valueExpression');
    const [name, text] = [key.requiredText(), valueExpression.requiredText()];
    const problem = extraKeyProblem(name) ?? reservedProblem(name);
    if (problem !== undefined) throw new Error(`${key.path}: ${problem}`);
    if (keys.has(name)) throw twice(key);
    keys.add(name);
    return { key: name, values: compiled(valueExpression, () => new ClaimExpression(text)) };
  });
}

/** Why a key is refused: the server itself uses keys under these domains. */
function reservedProblem(key: string): string | undefined {
  const domain = `.${key.slice(0, key.indexOf('/'))}`;
  return domain.endsWith('.k8s.io') || domain.endsWith('.kubernetes.io')
    ? 'k8s.io, kubernetes.io and their subdomains are reserved'
    : undefined;
}

/** Checks how email addresses are used. A claim refuses unverified addresses; an expression must check that itself. */
function checkEmail({ username, extra = [] }: Mappings, rules: readonly AccessRule[], place: string): void {
  if ('claim' in username || !readsClaim(username.text, 'email')) return;
  const texts = [username, ...extra.map(({ values }) => values), ...rules].map(({ text }) => text);
  if (!texts.some((text) => readsClaim(text, 'email_verified')))
    throw new Error(
      `${place}.username.expression uses claims.email, so it, a value of extra or a claim validation rule must use claims.email_verified`,
    );
}

function compiled<T>({ path }: ConfigurationValue, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}

const both = ({ path }: ConfigurationValue): Error =>
  new Error(`${path} has a claim and an expression; only one is possible`);
const twice = ({ path, value }: ConfigurationValue): Error =>
  new Error(`${path}: ${JSON.stringify(value)} is there twice`);

function neither({ path }: ConfigurationValue): never {
  throw new Error(`${path}: claim or expression is required`);
}

/** Returns the URL; throws unless it is an https URL without user, query and fragment. */
export function secureUrl(text: string, place: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || url.username || url.password || url.search || url.hash)
    throw new Error(
      `${place} must be an https URL without user, query and fragment, not ${JSON.stringify(text)}`,
    );
  return text;
}
