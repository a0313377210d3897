/** A compiled validating policy, and the result of a run. */
import type { CheckedExpression } from '../../api/cel/admission.ts';
import { type Condition, expressionFailure } from '../../api/cel/conditions.ts';
import { CelError, type Value } from '../../api/cel/values/values.ts';
import type {
  ParamKind,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicySpec,
} from '../../api/generated/types.ts';
import { PolicyScope } from '../../api/rules/admission/policy-scope.ts';
import { writeConditionsOutcome } from '../writes/conditions.ts';
import type { WriteValues } from '../writes/write-values.ts';
import { Match } from './match.ts';
import { PolicyRun } from './policy-run.ts';

/** Maximum bytes of a text that an expression computes. */
const textBytesMax = 5120;

interface Validation {
  readonly expression: string;
  readonly checked: CheckedExpression;
  readonly message: string;
  readonly messageExpression: CheckedExpression | undefined;
  readonly reason: string;
}

/** A validation that is false, or could not be evaluated. */
export interface Failure {
  /** The index of the validation; undefined when the conditions could not be evaluated. */
  readonly index: number | undefined;
  readonly message: string;
  readonly reason: string;
}

export interface Outcome {
  readonly failures: readonly Failure[];
  /** Values for the audit log by key. */
  readonly annotations: Readonly<Record<string, string>>;
}

const nothing: Outcome = { failures: [], annotations: {} };

interface Compiled {
  readonly scope: PolicyScope;
  readonly conditions: readonly Condition[];
  readonly validations: readonly Validation[];
  readonly annotations: readonly { readonly key: string; readonly checked: CheckedExpression }[];
}

export class ValidatingPolicy {
  readonly name: string;
  readonly match: Match;
  readonly paramKind: ParamKind | undefined;
  /** Whether evaluation errors are ignored. */
  readonly ignoresErrors: boolean;
  readonly #spec: ValidatingAdmissionPolicySpec;
  #compiled: Compiled | undefined;

  constructor({ metadata, spec = {} }: ValidatingAdmissionPolicy) {
    this.name = metadata.name ?? '';
    this.match = new Match(spec.matchConstraints ?? {});
    this.paramKind = spec.paramKind;
    this.ignoresErrors = spec.failurePolicy === 'Ignore';
    this.#spec = spec;
  }

  async run(values: WriteValues, params: Value): Promise<Outcome> {
    const { scope, conditions, validations, annotations } = this.#parts();
    const run = new PolicyRun(values, params, scope.variables);
    const outcome = await writeConditionsOutcome(conditions, values, run.variables);
    if (outcome === 'do not hold') return nothing;
    if (outcome !== 'hold') {
      if (this.ignoresErrors) return nothing;
      return {
        failures: [{ index: undefined, message: outcome.failure, reason: 'Invalid' }],
        annotations: {},
      };
    }
    const failures: Failure[] = [];
    for (const [index, validation] of validations.entries()) {
      const failure = await this.#failure(run, validation, index);
      if (failure) failures.push(failure);
    }
    return { failures, annotations: await this.#annotations(run, annotations) };
  }

  /** The compiled parts. Compiled when the first write matches the policy. */
  #parts(): Compiled {
    if (this.#compiled) return this.#compiled;
    const { matchConditions = [], validations = [], auditAnnotations = [] } = this.#spec;
    const scope = new PolicyScope(this.#spec, false);
    this.#compiled = {
      scope,
      conditions: matchConditions.map(({ expression = '' }) => ({
        expression,
        checked: scope.condition(expression),
      })),
      validations: validations.map(({ expression = '', message = '', messageExpression, reason }) => ({
        expression: expression.trim(),
        checked: scope.expression(expression, ['bool']),
        message: message.trim(),
        messageExpression: messageExpression ? scope.message(messageExpression) : undefined,
        reason: reason ?? 'Invalid',
      })),
      annotations: auditAnnotations.map(({ key = '', valueExpression = '' }) => ({
        key,
        checked: scope.expression(valueExpression, ['string', 'null_type']),
      })),
    };
    return this.#compiled;
  }

  async #failure(run: PolicyRun, validation: Validation, index: number): Promise<Failure | undefined> {
    const { expression, checked } = validation;
    try {
      if (checked.program === undefined) throw new CelError(checked.problem);
      if ((await run.evaluate(checked.program)) === true) return undefined;
    } catch (error) {
      const message = expressionFailure(expression, error);
      return this.ignoresErrors ? undefined : { index, message, reason: 'Invalid' };
    }
    return { index, message: await failureText(run, validation), reason: validation.reason };
  }

  async #annotations(run: PolicyRun, annotations: Compiled['annotations']): Promise<Record<string, string>> {
    const values: Record<string, string> = {};
    for (const { key, checked } of annotations) {
      const text = await usableText(run, checked);
      if (text !== undefined) values[key] = text;
    }
    return values;
  }
}

async function failureText(
  run: PolicyRun,
  { expression, message, messageExpression }: Validation,
): Promise<string> {
  const made = messageExpression && (await usableText(run, messageExpression));
  const usable = made !== undefined && !/[\r\n]/.test(made);
  return usable ? made : message || `failed expression: ${expression}`;
}

/** The text that an expression computes; undefined when it fails or is not usable. */
async function usableText(run: PolicyRun, { program }: CheckedExpression): Promise<string | undefined> {
  if (!program) return undefined;
  try {
    const value = await run.evaluate(program);
    const text = typeof value === 'string' ? value.trim() : '';
    return text !== '' && Buffer.byteLength(text) <= textBytesMax ? text : undefined;
  } catch (error) {
    expressionFailure('', error);
    return undefined;
  }
}
