/**
 * The file of `--authorization-config`: which authorizers there are, as kind AuthorizationConfiguration. What cannot be
 * honoured is refused: expressions of CEL are not evaluated.
 */
import { parseDurationMs } from '../../api/duration.ts';
import { isJsonObject, type JsonObject } from '../../api/object.ts';
import { readYaml } from '../../api/yaml.ts';
import { type AuthorizationMode, authorizationModes } from './authorizationoptions.ts';

/** One authorizer: a mode, and what a webhook needs. */
export interface ConfiguredAuthorizer {
  readonly mode: AuthorizationMode;
  readonly webhook?: WebhookSettings;
}

interface WebhookSettings {
  readonly configFile: string;
  readonly version: 'v1' | 'v1beta1';
  readonly allowedMs: number;
  readonly refusedMs: number;
  readonly timeoutMs: number;
  readonly onFailure: 'NoOpinion' | 'Deny';
}

const versions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`);
const authorizersMax = 64;
const timeoutMaxMs = 30_000;

/** Throws a sentence that names the field which is wrong. */
export function readAuthorizationConfiguration(text: string): readonly ConfiguredAuthorizer[] {
  const root = fieldsOf(readYaml(text).value, 'the configuration', ['apiVersion', 'kind', 'authorizers']);
  if (root.kind !== 'AuthorizationConfiguration' || !versions.includes(String(root.apiVersion)))
    throw new Error('it must be of kind AuthorizationConfiguration, apiVersion apiserver.config.k8s.io/v1');
  const { authorizers } = root;
  if (!Array.isArray(authorizers) || authorizers.length === 0)
    throw new Error('authorizers must name at least one');
  if (authorizers.length > authorizersMax)
    throw new Error(`authorizers: there are more than ${authorizersMax}`);
  const names = new Set<string>();
  const modes = new Set<AuthorizationMode>();
  return authorizers.map((value: unknown, at) => {
    const place = `authorizers[${at}]`;
    const { type, name, webhook } = fieldsOf(value, place, ['type', 'name', 'webhook']);
    const mode = oneOf(type, authorizationModes, `${place}.type`);
    if (typeof name !== 'string' || name === '') throw new Error(`${place}.name must be a name`);
    if (names.has(name)) throw new Error(`${place}.name: ${JSON.stringify(name)} is there twice`);
    if (mode !== 'Webhook' && modes.has(mode)) throw new Error(`${place}.type: ${mode} is there twice`);
    names.add(name);
    modes.add(mode);
    if (mode !== 'Webhook' && webhook !== undefined)
      throw new Error(`${place}.webhook is for the type Webhook only`);
    return mode === 'Webhook' ? { mode, webhook: webhookOf(webhook, `${place}.webhook`) } : { mode };
  });
}

function webhookOf(value: unknown, place: string): WebhookSettings {
  const given = fieldsOf(value, place, [
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
  ]);
  if (given.matchConditions !== undefined)
    throw new Error(`${place}.matchConditions: expressions are not supported`);
  const { type, kubeConfigFile } = fieldsOf(given.connectionInfo, `${place}.connectionInfo`, [
    'type',
    'kubeConfigFile',
  ]);
  oneOf(type, ['KubeConfigFile'], `${place}.connectionInfo.type`);
  if (typeof kubeConfigFile !== 'string' || kubeConfigFile === '')
    throw new Error(`${place}.connectionInfo.kubeConfigFile must name a file`);
  const durationMs = (name: string, otherwiseMs: number): number => {
    if (given[name] === undefined) return otherwiseMs;
    const ms = parseDurationMs(String(given[name]));
    if (ms === undefined || ms < 0) throw new Error(`${place}.${name} must be a duration such as 5m`);
    return ms;
  };
  const timeoutMs = durationMs('timeout', 0);
  if (timeoutMs <= 0 || timeoutMs > timeoutMaxMs)
    throw new Error(`${place}.timeout must be a duration of at most ${timeoutMaxMs / 1000}s`);
  return {
    configFile: kubeConfigFile,
    version: oneOf(
      given.subjectAccessReviewVersion,
      ['v1', 'v1beta1'],
      `${place}.subjectAccessReviewVersion`,
    ),
    allowedMs: given.cacheAuthorizedRequests === false ? 0 : durationMs('authorizedTTL', 5 * 60_000),
    refusedMs: given.cacheUnauthorizedRequests === false ? 0 : durationMs('unauthorizedTTL', 30_000),
    timeoutMs,
    onFailure: oneOf(given.failurePolicy, ['NoOpinion', 'Deny'], `${place}.failurePolicy`),
  };
}

/** An object that has no other fields than these. */
function fieldsOf(value: unknown, place: string, known: readonly string[]): JsonObject {
  if (!isJsonObject(value)) throw new Error(`${place} must be an object`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${place} has no field ${JSON.stringify(unknown)}`);
  return value;
}

function oneOf<const T extends string>(value: unknown, among: readonly T[], place: string): T {
  if (!among.includes(value as T)) throw new Error(`${place} must be one of ${among.join(', ')}`);
  return value as T;
}
