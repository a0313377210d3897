/** Rules and defaults that webhooks of mutating and of validating configurations share. */
import { compileCondition } from '../../cel/admission.ts';
import {
  child,
  duplicate,
  index,
  invalid,
  notSupported,
  required,
  tooMany,
} from '../../errors/field-error.ts';
import type {
  MatchCondition,
  MutatingWebhook,
  RuleWithOperations,
  ValidatingWebhook,
} from '../../generated/types.ts';
import { type LabelSelectorObject, validateLabelSelectorObject } from '../../kind/label-selector.ts';
import { isLabel1035, isQualifiedName, isSubdomain1123 } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { operationRuleErrors } from './operation-rules.ts';
import { clientConfigErrors, defaultClientConfig } from './webhook-client.ts';

const timeoutSecondsDefault = 10;
const timeoutSecondsMax = 30;
const conditionsMax = 64;
/** Versions of AdmissionReview that can be sent, as messages list them. */
export const reviewVersions: readonly string[] = ['v1', 'v1beta1'];
const sideEffects = ['None', 'NoneOnDryRun'];

type Webhook = MutatingWebhook | ValidatingWebhook;

export function defaultWebhook(webhook: Webhook): void {
  webhook.failurePolicy ??= 'Fail';
  webhook.matchPolicy ??= 'Equivalent';
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= timeoutSecondsDefault;
  defaultRules(webhook.rules);
  if (webhook.clientConfig) defaultClientConfig(webhook.clientConfig);
}

export function defaultRules(rules: readonly RuleWithOperations[] = []): void {
  for (const rule of rules) rule.scope ??= '*';
}

/** The rules of all webhooks of a configuration; `own` are those of one of the two kinds. */
export function* webhooksErrors<T extends Webhook>(
  webhooks: readonly T[] = [],
  old: readonly T[] | undefined,
  own?: (webhook: T, path: string) => Findings,
): Findings {
  const tolerated = tolerances(old);
  const names = new Set<string>();
  for (const [i, webhook] of webhooks.entries()) {
    const path = index('webhooks', i);
    const { name } = webhook;
    if (name && names.has(name) && !tolerated.sameNames) yield duplicate(child(path, 'name'), name);
    if (name) names.add(name);
    yield* webhookErrors(webhook, path, tolerated);
    if (own) yield* own(webhook, path);
    yield* clientConfigErrors(webhook.clientConfig ?? {}, child(path, 'clientConfig'));
    yield* matchConditionErrors(webhook.matchConditions, child(path, 'matchConditions'));
    const versionsPath = child(path, 'admissionReviewVersions');
    yield* versionErrors(webhook.admissionReviewVersions, versionsPath, tolerated.unknownVersions);
  }
}

/** Errors that an update may leave, because the stored configuration has them already. */
interface Tolerances {
  readonly sameNames: boolean;
  readonly sideEffects: boolean;
  readonly unknownVersions: boolean;
  readonly selectors: boolean;
}

function tolerances(old: readonly Webhook[] | undefined): Tolerances {
  const webhooks = old ?? [];
  return {
    sameNames: new Set(webhooks.map(({ name }) => name)).size < webhooks.length,
    sideEffects: webhooks.some((webhook) => !sideEffects.includes(webhook.sideEffects ?? '')),
    unknownVersions: webhooks.some(({ admissionReviewVersions = [] }) => !knows(admissionReviewVersions)),
    selectors: webhooks.some((webhook) => [...selectorErrors(webhook, '')].length > 0),
  };
}

const knows = (versions: readonly string[]): boolean =>
  versions.some((version) => reviewVersions.includes(version));

function* webhookErrors(webhook: Webhook, path: string, tolerated: Tolerances): Findings {
  const { name = '', rules = [], failurePolicy, matchPolicy, timeoutSeconds } = webhook;
  yield* qualifiedNameErrors(name, child(path, 'name'));
  for (const [i, rule] of rules.entries()) yield* operationRuleErrors(rule, index(child(path, 'rules'), i));
  yield* choiceErrors(failurePolicy, child(path, 'failurePolicy'), ['Fail', 'Ignore']);
  yield* choiceErrors(matchPolicy, child(path, 'matchPolicy'), ['Equivalent', 'Exact']);
  const effectsPath = child(path, 'sideEffects');
  if (webhook.sideEffects === undefined) {
    if (!tolerated.sideEffects) yield required(effectsPath, `must specify one of ${sideEffects.join(', ')}`);
  } else if (!tolerated.sideEffects) yield* choiceErrors(webhook.sideEffects, effectsPath, sideEffects);
  if (timeoutSeconds !== undefined && (timeoutSeconds < 1 || timeoutSeconds > timeoutSecondsMax))
    yield invalid(
      child(path, 'timeoutSeconds'),
      timeoutSeconds,
      `the timeout value must be between 1 and ${timeoutSecondsMax} seconds`,
    );
  if (!tolerated.selectors) yield* selectorErrors(webhook, path);
}

function* selectorErrors({ namespaceSelector, objectSelector }: Webhook, path: string): Findings {
  const selectors = { namespaceSelector, objectSelector };
  for (const [name, selector] of Object.entries(selectors))
    yield* validateLabelSelectorObject(selector as LabelSelectorObject | undefined, child(path, name));
}

export function* choiceErrors(
  value: string | undefined,
  path: string,
  supported: readonly string[],
): Findings {
  if (value !== undefined && !supported.includes(value)) yield notSupported(path, value, supported);
}

/** A domain with three segments, so that names of different authors differ. */
function* qualifiedNameErrors(name: string, path: string): Findings {
  if (!name) return yield required(path);
  const problems = isSubdomain1123(name);
  yield* problemsOf(path, name, problems);
  if (problems.length === 0 && name.split('.').length < 3)
    yield invalid(path, name, 'should be a domain with at least three segments separated by dots');
}

function* versionErrors(versions: readonly string[] = [], path: string, tolerated: boolean): Findings {
  const known = reviewVersions.join(', ');
  if (versions.length === 0) return yield required(path, `must specify one of ${known}`);
  const seen = new Set<string>();
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) yield invalid(index(path, i), version, 'duplicate version');
    else yield* problemsOf(index(path, i), version, isLabel1035(version));
    seen.add(version);
  }
  if (!tolerated && !knows(versions)) yield invalid(path, versions, `must include at least one of ${known}`);
}

/** @param problemOf what is wrong with an expression */
export function* matchConditionErrors(
  conditions: readonly MatchCondition[] = [],
  path: string,
  problemOf: (expression: string) => string | undefined = (expression) =>
    compileCondition(expression).problem,
): Findings {
  if (conditions.length > conditionsMax) yield tooMany(path, conditions.length, conditionsMax);
  const names = new Set<string>();
  for (const [i, { name = '', expression = '' }] of conditions.entries()) {
    const conditionPath = index(path, i);
    const expressionPath = child(conditionPath, 'expression');
    const problem = expression.trim() ? problemOf(expression) : undefined;
    if (!expression.trim()) yield required(expressionPath);
    if (problem) yield invalid(expressionPath, expression, problem);
    const namePath = child(conditionPath, 'name');
    if (!name) yield required(namePath);
    else if (names.has(name)) yield duplicate(namePath, name);
    else yield* problemsOf(namePath, name, isQualifiedName(name));
    names.add(name);
  }
}
