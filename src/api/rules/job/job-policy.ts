/** Job policies of batch/v1: rules for failure and success policies, completion mode and pod replacement. */
import {
  child,
  duplicate,
  type FieldError,
  index,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../../errors/field-error.ts';
import type {
  JobSpecV1,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyOnPodConditionsPattern,
  PodFailurePolicyRule,
  SuccessPolicyRule,
} from '../../generated/types.ts';
import { isQualifiedName, isSubdomain1123 } from '../../values/names.ts';
import { type Findings, negative, problemsOf } from '../shared/findings.ts';
import { IndexesError, indexCount, parseIndexes } from './job-indexes.ts';

/** Limits of Indexed jobs: the status lists failed indexes, and must stay small enough to store. */
const indexedParallelismMax = 100_000;
const failedIndexesMax = 100_000;
/** Jobs with more completions than this have the limits below. */
const completionsHigh = 100_000;
const parallelismHighMax = 10_000;
const failedIndexesHighMax = 10_000;
const rulesMax = 20;
const exitCodesMax = 255;
const conditionsMax = 20;
const succeededIndexesBytesMax = 64 * 1024;
const managedByBytesMax = 63;

const modes = ['NonIndexed', 'Indexed'];
const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const operators = ['In', 'NotIn'];
const statuses = ['False', 'True', 'Unknown'];
const replacements = ['Failed', 'TerminatingOrFailed'];
const pathText = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";

export const isIndexed = ({ completionMode }: JobSpecV1): boolean => completionMode === 'Indexed';

/** An error about a value that is too large to quote. */
export const refused = (field: string, detail: string): FieldError => ({
  field,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${detail}`,
});

/** Rules for all fields that only batch/v1 has; `path` is that of the spec. */
export function* policyErrors(spec: JobSpecV1, path: string): Findings {
  for (const name of ['backoffLimit', 'ttlSecondsAfterFinished', 'backoffLimitPerIndex'] as const)
    yield* negative(child(path, name), spec[name]);
  yield* negative(child(path, 'maxFailedIndexes'), spec.maxFailedIndexes);
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    yield required(child(path, 'backoffLimitPerIndex'), 'when maxFailedIndexes is specified');
  if (spec.managedBy !== undefined) yield* managerErrors(child(path, 'managedBy'), spec.managedBy);
  yield* completionErrors(spec, path);
  if (spec.podFailurePolicy) yield* failurePolicyErrors(spec, child(path, 'podFailurePolicy'));
  if (spec.successPolicy && !isIndexed(spec))
    yield invalid(child(path, 'successPolicy'), spec.successPolicy, 'requires indexed completion mode');
  else if (spec.successPolicy) yield* successPolicyErrors(spec, child(path, 'successPolicy'));
  yield* replacementErrors(spec, child(path, 'podReplacementPolicy'));
}

/** Another controller than the built-in one has a name like `example.com/controller`. */
function* managerErrors(path: string, value: string): Findings {
  const slash = value.indexOf('/');
  if (!value) yield required(path);
  else if (slash <= 0 || slash === value.length - 1)
    yield invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")');
  else {
    const host = value.slice(0, slash);
    yield* problemsOf(path, host, isSubdomain1123(host));
    const rest = value.slice(slash + 1);
    if (/[^A-Za-z0-9/\-._~%!$&'()*+,;=:]/.test(rest))
      yield invalid(path, rest, `Invalid path (regex used for validation is '${pathText}')`);
  }
  if (Buffer.byteLength(value) > managedByBytesMax) yield tooLong(path, managedByBytesMax);
}

function* completionErrors(spec: JobSpecV1, path: string): Findings {
  const { completionMode = 'NonIndexed', completions, parallelism, maxFailedIndexes: failedMax } = spec;
  const modePath = child(path, 'completionMode');
  if (!modes.includes(completionMode)) yield notSupported(modePath, completionMode, modes);
  const failedPath = child(path, 'maxFailedIndexes');
  if (completionMode === 'NonIndexed') {
    for (const name of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const)
      if (spec[name] !== undefined)
        yield invalid(child(path, name), spec[name], 'requires indexed completion mode');
  }
  if (completionMode !== 'Indexed') return;
  if (completions === undefined)
    yield required(child(path, 'completions'), 'when completion mode is Indexed');
  yield* above(
    child(path, 'parallelism'),
    parallelism,
    indexedParallelismMax,
    ' when completion mode is Indexed',
  );
  if (completions !== undefined && failedMax !== undefined && failedMax > completions)
    yield invalid(failedPath, failedMax, 'must be less than or equal to completions');
  yield* above(failedPath, failedMax, failedIndexesMax);
  if ((completions ?? 0) <= completionsHigh || spec.backoffLimitPerIndex === undefined) return;
  const when = ` when completions are above ${completionsHigh} and used with backoff limit per index`;
  if (failedMax === undefined)
    yield required(failedPath, `must be specified when completions is above ${completionsHigh}`);
  yield* above(child(path, 'parallelism'), parallelism, parallelismHighMax, when);
  yield* above(failedPath, failedMax, failedIndexesHighMax, when);
}

function* above(path: string, value: number | undefined, max: number, when = ''): Findings {
  if (value !== undefined && value > max)
    yield invalid(path, value, `must be less than or equal to ${max}${when}`);
}

// Failure

function* failurePolicyErrors(spec: JobSpecV1, path: string): Findings {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const rulesPath = child(path, 'rules');
  if (rules.length > rulesMax) yield tooMany(rulesPath, rules.length, rulesMax);
  const { containers = [], initContainers = [] } = spec.template?.spec ?? {};
  const names = new Set([...containers, ...initContainers].map(({ name }) => name ?? ''));
  for (const [i, rule] of rules.entries()) yield* failureRuleErrors(spec, rule, index(rulesPath, i), names);
}

/** A condition of a failed pod is met when it is true, unless a rule says otherwise. */
export function defaultFailurePolicy({ podFailurePolicy }: JobSpecV1): void {
  for (const { onPodConditions = [] } of podFailurePolicy?.rules ?? [])
    for (const pattern of onPodConditions) pattern.status ||= 'True';
}

function* failureRuleErrors(
  spec: JobSpecV1,
  { action, onExitCodes, onPodConditions = [] }: PodFailurePolicyRule,
  path: string,
  containerNames: ReadonlySet<string>,
): Findings {
  if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined)
    yield invalid(child(path, 'action'), action, 'requires the backoffLimitPerIndex to be set');
  yield* oneOf(child(path, 'action'), action, actions);
  if (onExitCodes) yield* exitCodeErrors(onExitCodes, child(path, 'onExitCodes'), containerNames);
  yield* podConditionErrors(onPodConditions, child(path, 'onPodConditions'));
  if (onExitCodes && onPodConditions.length)
    yield refused(path, 'specifying both OnExitCodes and OnPodConditions is not supported');
  if (!onExitCodes && !onPodConditions.length)
    yield refused(path, 'specifying one of OnExitCodes and OnPodConditions is required');
}

/** The value must be one of an enumeration; the error for a missing one lists the values. */
function* oneOf(path: string, value: string | undefined, supported: readonly string[]): Findings {
  if (!value)
    yield required(path, `valid values: [${supported.map((one) => JSON.stringify(one)).join(' ')}]`);
  else if (!supported.includes(value)) yield notSupported(path, value, supported);
}

function* exitCodeErrors(
  { containerName, operator, values = [] }: PodFailurePolicyOnExitCodesRequirement,
  path: string,
  containerNames: ReadonlySet<string>,
): Findings {
  yield* oneOf(child(path, 'operator'), operator, operators);
  if (containerName !== undefined && !containerNames.has(containerName))
    yield invalid(
      child(path, 'containerName'),
      containerName,
      'must be one of the container or initContainer names in the pod template',
    );
  const valuesPath = child(path, 'values');
  if (values.length === 0) yield invalid(valuesPath, null, 'at least one value is required');
  if (values.length > exitCodesMax) yield tooMany(valuesPath, values.length, exitCodesMax);
  const seen = new Set<number>();
  for (const [i, value] of values.entries()) {
    if (operator === 'In' && value === 0)
      yield invalid(index(valuesPath, i), value, 'must not be 0 for the In operator');
    if (seen.has(value)) yield duplicate(index(valuesPath, i), value);
    seen.add(value);
  }
  if (values.some((value, i) => i > 0 && values[i - 1]! > value))
    yield invalid(valuesPath, values, 'must be ordered');
}

function* podConditionErrors(
  patterns: readonly PodFailurePolicyOnPodConditionsPattern[],
  path: string,
): Findings {
  if (patterns.length > conditionsMax) yield tooMany(path, patterns.length, conditionsMax);
  for (const [i, { type = '', status }] of patterns.entries()) {
    yield* problemsOf(child(index(path, i), 'type'), type, isQualifiedName(type));
    yield* oneOf(child(index(path, i), 'status'), status, statuses);
  }
}

// Success

function* successPolicyErrors(spec: JobSpecV1, path: string): Findings {
  const rules = spec.successPolicy?.rules ?? [];
  const rulesPath = child(path, 'rules');
  if (rules.length === 0)
    yield required(rulesPath, 'at least one rules must be specified when the successPolicy is specified');
  if (rules.length > rulesMax) yield tooMany(rulesPath, rules.length, rulesMax);
  for (const [i, rule] of rules.entries())
    yield* successRuleErrors(rule, spec.completions ?? 0, index(rulesPath, i));
}

function* successRuleErrors(
  { succeededCount, succeededIndexes }: SuccessPolicyRule,
  completions: number,
  path: string,
): Findings {
  if (succeededCount === undefined && succeededIndexes === undefined)
    yield required(path, 'at least one of succeededCount or succeededIndexes must be specified');
  let indexes = 0;
  if (succeededIndexes !== undefined) {
    const indexesPath = child(path, 'succeededIndexes');
    if (Buffer.byteLength(succeededIndexes) > succeededIndexesBytesMax)
      yield tooLong(indexesPath, succeededIndexesBytesMax);
    try {
      indexes = indexCount(parseIndexes(succeededIndexes, completions));
    } catch (error) {
      if (!(error instanceof IndexesError)) throw error;
      yield invalid(indexesPath, succeededIndexes, `error parsing succeededIndexes: ${error.message}`);
    }
  }
  if (succeededCount === undefined) return;
  const countPath = child(path, 'succeededCount');
  yield* negative(countPath, succeededCount);
  const limits: [max: number, what: string][] = [[completions, 'the number of specified completions']];
  if (succeededIndexes !== undefined)
    limits.push([indexes, 'the number of indexes in the specified succeededIndexes field']);
  for (const [max, what] of limits) yield* above(countPath, succeededCount, max, ` (${what})`);
}

/** With a failure policy, a pod is replaced only after it has terminated, because its outcome is not known before. */
function* replacementErrors({ podFailurePolicy, podReplacementPolicy }: JobSpecV1, path: string): Findings {
  const supported = podFailurePolicy ? ['Failed'] : replacements;
  if (podReplacementPolicy !== undefined && !supported.includes(podReplacementPolicy))
    yield notSupported(path, podReplacementPolicy, supported);
}
