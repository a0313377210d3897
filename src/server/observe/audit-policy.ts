/** The audit policy: which requests are recorded, at which stages, and with how much of the request and response. */
import type { Action, ResourceAction } from '../../api/kind/access.ts';
import { type ConfigurationValue, readConfiguration } from '../../api/text/configuration.ts';
import type { User } from '../../api/values/user.ts';

const levels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
type AuditLevel = (typeof levels)[number];
const stages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type Stage = (typeof stages)[number];

/** What is recorded of a request. */
export interface AuditRule {
  readonly level: AuditLevel;
  readonly omittedStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

interface ResourcePattern {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

interface MatchedRule extends AuditRule {
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly namespaces: readonly string[];
  readonly resources: readonly ResourcePattern[];
  readonly nonResourceURLs: readonly string[];
}

/** The rule for requests that no rule matches: nothing is recorded. */
const nothing: AuditRule = { level: 'None', omittedStages: new Set(), omitManagedFields: false };

export class AuditPolicy {
  constructor(private readonly rules: readonly MatchedRule[]) {}

  /** The first rule that matches decides. @param user undefined: the request was not authenticated */
  ruleFor(user: User | undefined, action: Action): AuditRule {
    return this.rules.find((rule) => matches(rule, user, action)) ?? nothing;
  }
}

function matches(rule: MatchedRule, user: User | undefined, action: Action): boolean {
  const { users, userGroups, verbs, namespaces, resources, nonResourceURLs } = rule;
  if (users.length && !(user && users.includes(user.name))) return false;
  if (userGroups.length && !user?.groups.some((group) => userGroups.includes(group))) return false;
  if (verbs.length && !verbs.includes(action.verb)) return false;
  if (namespaces.length || resources.length)
    return action.resource !== undefined && matchesResource(rule, action.resource);
  if (nonResourceURLs.length)
    return action.resource === undefined && nonResourceURLs.some((url) => matchesPath(url, action.path));
  return true;
}

function matchesResource({ namespaces, resources }: MatchedRule, action: ResourceAction): boolean {
  if (namespaces.length && !namespaces.includes(action.namespace ?? '')) return false;
  return resources.length === 0 || resources.some((pattern) => matchesPattern(pattern, action));
}

/**
 * Whether a pattern matches an action. A pattern without resources matches all of its group; object names count only
 * together with resources.
 */
function matchesPattern(pattern: ResourcePattern, action: ResourceAction): boolean {
  if (pattern.group !== '*' && pattern.group !== action.group) return false;
  if (pattern.resources.length === 0) return true;
  if (pattern.resourceNames.length && !pattern.resourceNames.includes(action.name ?? '')) return false;
  const { resource, subresource } = action;
  const whole = subresource === undefined ? resource : `${resource}/${subresource}`;
  return pattern.resources.some(
    (text) =>
      text === '*' ||
      text === whole ||
      text === `${resource}/*` ||
      (subresource !== undefined && text === `*/${subresource}`),
  );
}

const matchesPath = (pattern: string, path: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;

/** Parses a policy. Throws an error with a sentence about what is wrong with it. */
export function readAuditPolicy(text: string): AuditPolicy {
  const policy = readConfiguration(
    text,
    'Policy',
    ['audit.k8s.io/v1'],
    'omitStages',
    'omitManagedFields',
    'rules',
  );
  const omitted = policy.omitStages.items().map((stage) => stage.oneOf(stages));
  const omitManagedFields = policy.omitManagedFields.flag(false);
  const rules = policy.rules.items().map((rule) => readRule(rule, omitted, omitManagedFields));
  if (rules.length === 0)
    throw new Error('rules must name at least one rule: without any, nothing is written');
  return new AuditPolicy(rules);
}

function readRule(
  value: ConfigurationValue,
  omitted: readonly Stage[],
  omitManagedFields: boolean,
): MatchedRule {
  const rule = value.fields(
    'level',
    'users',
    'userGroups',
    'verbs',
    'namespaces',
    'resources',
    'nonResourceURLs',
    'omitStages',
    'omitManagedFields',
  );
  const nonResourceURLs = rule.nonResourceURLs.items().map(readUrl);
  if (nonResourceURLs.length && (rule.resources.items().length || rule.namespaces.items().length))
    throw new Error(`${value.path} must be about resources and namespaces, or about nonResourceURLs`);
  return {
    level: rule.level.oneOf(levels),
    users: rule.users.texts(),
    userGroups: rule.userGroups.texts(),
    verbs: rule.verbs.texts(),
    namespaces: rule.namespaces.texts(),
    resources: rule.resources.items().map(readPattern),
    nonResourceURLs,
    omittedStages: new Set([...omitted, ...rule.omitStages.items().map((stage) => stage.oneOf(stages))]),
    omitManagedFields: rule.omitManagedFields.flag(omitManagedFields),
  };
}

function readUrl(value: ConfigurationValue): string {
  const url = value.text();
  if (url !== '*' && !url.startsWith('/')) throw new Error(`${value.path} must begin with a slash`);
  if (url.slice(0, -1).includes('*')) throw new Error(`${value.path} may have a star at its end only`);
  return url;
}

function readPattern(value: ConfigurationValue): ResourcePattern {
  const { group, resources, resourceNames } = value.fields('group', 'resources', 'resourceNames');
  const pattern = {
    group: group.isSet ? group.text() : '',
    resources: resources.texts(),
    resourceNames: resourceNames.texts(),
  };
  if (pattern.resourceNames.length && pattern.resources.length === 0)
    throw new Error(`${resourceNames.path} needs resources`);
  return pattern;
}
