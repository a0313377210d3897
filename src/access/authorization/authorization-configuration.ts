/** The file of `--authorization-config`: the list of authorizers, as kind AuthorizationConfiguration. */
import { compileReviewCondition } from '../../api/cel/access.ts';
import type { Condition } from '../../api/cel/conditions.ts';
import { type ConfigurationValue, readConfiguration } from '../../api/text/configuration.ts';
import { parseDurationMs } from '../../api/values/duration.ts';
import { type AuthorizationMode, authorizationModes } from './authorization-options.ts';
import type { WebhookOptions } from './webhook.ts';

/** One authorizer: its mode, and the settings of a webhook. */
export interface ConfiguredAuthorizer {
  readonly mode: AuthorizationMode;
  readonly webhook?: WebhookSettings;
}

interface WebhookSettings extends Omit<WebhookOptions, 'service' | 'nowMs'> {
  readonly configFile: string;
}

const versions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`);
const authorizersMax = 64;
const conditionsMax = 64;
const timeoutMaxMs = 30_000;

/** Parses the file. Throws an error with a sentence that names the wrong field. */
export function readAuthorizationConfiguration(text: string): readonly ConfiguredAuthorizer[] {
  const root = readConfiguration(text, 'AuthorizationConfiguration', versions, 'authorizers');
  const authorizers = root.authorizers.items();
  if (authorizers.length === 0) throw new Error('authorizers must name at least one');
  if (authorizers.length > authorizersMax)
    throw new Error(`authorizers: there are more than ${authorizersMax}`);
  const names = new Set<string>();
  const modes = new Set<AuthorizationMode>();
  return authorizers.map((value) => {
    const { type, name, webhook } = value.fields('type', 'name', 'webhook');
    const mode = type.oneOf(authorizationModes);
    const given = name.value;
    if (typeof given !== 'string' || given === '') throw new Error(`${name.path} must be a name`);
    if (names.has(given)) throw new Error(`${name.path}: ${JSON.stringify(given)} is there twice`);
    if (mode !== 'Webhook' && modes.has(mode)) throw new Error(`${type.path}: ${mode} is there twice`);
    names.add(given);
    modes.add(mode);
    if (mode !== 'Webhook' && webhook.isSet) throw new Error(`${webhook.path} is for the type Webhook only`);
    return mode === 'Webhook' ? { mode, webhook: webhookOf(webhook) } : { mode };
  });
}

function webhookOf(value: ConfigurationValue): WebhookSettings {
  const given = value.fields(
    'authorizedTTL',
    'unauthorizedTTL',
    'cacheAuthorizedRequests',
    'cacheUnauthorizedRequests',
    'timeout',
    'subjectAccessReviewVersion',
    'matchConditionSubjectAccessReviewVersion',
    'failurePolicy',
    'connectionInfo',
    'matchConditions',
  );
  const { type, kubeConfigFile } = given.connectionInfo.fields('type', 'kubeConfigFile');
  type.oneOf(['KubeConfigFile']);
  const configFile = kubeConfigFile.requiredText();
  const timeoutMs = durationMs(given.timeout, 0);
  if (timeoutMs <= 0 || timeoutMs > timeoutMaxMs)
    throw new Error(`${given.timeout.path} must be a duration of at most ${timeoutMaxMs / 1000}s`);
  const keeps = (flag: ConfigurationValue, ttl: ConfigurationValue, otherwiseMs: number): number =>
    flag.flag(true) ? durationMs(ttl, otherwiseMs) : 0;
  return {
    configFile,
    version: given.subjectAccessReviewVersion.oneOf(['v1', 'v1beta1']),
    allowedMs: keeps(given.cacheAuthorizedRequests, given.authorizedTTL, 5 * 60_000),
    refusedMs: keeps(given.cacheUnauthorizedRequests, given.unauthorizedTTL, 30_000),
    timeoutMs,
    onFailure: given.failurePolicy.oneOf(['NoOpinion', 'Deny']),
    conditions: conditionsOf(given.matchConditions, given.matchConditionSubjectAccessReviewVersion),
  };
}

function durationMs(value: ConfigurationValue, otherwiseMs: number): number {
  if (!value.isSet) return otherwiseMs;
  const ms = parseDurationMs(value.text());
  if (ms === undefined || ms < 0) throw new Error(`${value.path} must be a duration such as 5m`);
  return ms;
}

/** Match conditions, compiled at once: an invalid condition should fail the start, not later decisions. */
function conditionsOf(list: ConfigurationValue, version: ConfigurationValue): readonly Condition[] {
  const items = list.items();
  if (items.length > 0 || version.isSet) version.oneOf(['v1']);
  if (items.length > conditionsMax) throw new Error(`${list.path} has more than ${conditionsMax} items`);
  const texts = new Set<string>();
  return items.map((item) => {
    const { expression: field } = item.fields('expression');
    const expression = field.requiredText();
    if (texts.has(expression)) throw new Error(`${field.path}: the expression is there twice`);
    texts.add(expression);
    const checked = compileReviewCondition(expression);
    if (checked.problem !== undefined) throw new Error(`${field.path}: ${checked.problem}`);
    return { expression, checked };
  });
}
