/** A compiled mutating policy: its expressions compute objects to merge, or JSON patches. */

import type { CheckedExpression } from '../../api/cel/admission.ts';
import { type Condition, expressionFailure } from '../../api/cel/conditions.ts';
import { toJson } from '../../api/cel/json-values.ts';
import { CelError, ListValue, StructValue, type Value } from '../../api/cel/values/values.ts';
import { ownershipModel } from '../../api/custom-schema/ownership-model.ts';
import { internal } from '../../api/errors/errors.ts';
import { PatchError } from '../../api/errors/patch-error.ts';
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicySpec,
  ParamKind,
} from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { mutationResult } from '../../api/kinds/admissionregistration/mutating-admission-policy.ts';
import { DecodeError, decodeObject } from '../../api/model/decode.ts';
import { atomicPaths } from '../../api/ownership/atomic-values.ts';
import { typedProblem } from '../../api/ownership/field-check.ts';
import { structOf } from '../../api/ownership/field-type.ts';
import { merge } from '../../api/ownership/field-walk.ts';
import { applyJsonPatch, parseJsonPatch } from '../../api/patch/json-patch.ts';
import { jsonPatchFailure } from '../../api/patch/json-patch-failure.ts';
import { PolicyScope } from '../../api/rules/admission/policy-scope.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { writeConditionsOutcome } from '../writes/conditions.ts';
import type { WriteValues } from '../writes/write-values.ts';
import { Match } from './match.ts';
import { PolicyRun } from './policy-run.ts';

/** Why a policy could not change an object. */
export class MutationProblem extends Error {
  override readonly name = 'MutationProblem';
}

interface Mutation {
  readonly expression: string;
  readonly isPatch: boolean;
  readonly checked: CheckedExpression;
}

interface Compiled {
  readonly scope: PolicyScope;
  readonly conditions: readonly Condition[];
  readonly mutations: readonly Mutation[];
}

export class MutatingPolicy {
  readonly name: string;
  readonly match: Match;
  readonly paramKind: ParamKind | undefined;
  /** Whether errors of the policy are ignored. */
  readonly ignoresErrors: boolean;
  /** Whether it runs again when the object was changed after it. */
  readonly reinvoked: boolean;
  readonly #spec: MutatingAdmissionPolicySpec;
  #compiled: Compiled | undefined;

  constructor({ metadata, spec = {} }: MutatingAdmissionPolicy) {
    this.name = metadata.name ?? '';
    this.match = new Match(spec.matchConstraints ?? {});
    this.paramKind = spec.paramKind;
    this.ignoresErrors = spec.failurePolicy === 'Ignore';
    this.reinvoked = spec.reinvocationPolicy === 'IfNeeded';
    this.#spec = spec;
  }

  /** Number of mutations; each runs on its own, because it sees the changes of the one before. */
  get mutations(): number {
    return this.#parts().mutations.length;
  }

  /** Whether the policy applies to a write. Throws a MutationProblem. */
  async concerns(values: WriteValues, params: Value): Promise<boolean> {
    const { conditions, scope } = this.#parts();
    const { variables } = new PolicyRun(values, params, scope.variables);
    const outcome = await writeConditionsOutcome(conditions, values, variables);
    if (outcome !== 'hold' && outcome !== 'do not hold') throw new MutationProblem(outcome.failure);
    return outcome === 'hold';
  }

  /** The object after one mutation. Throws a MutationProblem. */
  async mutated(
    index: number,
    values: WriteValues,
    params: Value,
    document: JsonObject,
    version: Kind,
  ): Promise<unknown> {
    const { scope, mutations } = this.#parts();
    const { expression, checked, isPatch } = mutations[index] as Mutation;
    const run = new PolicyRun(values, params, scope.variables);
    let value: Value;
    try {
      if (!checked.program) throw new CelError(checked.problem);
      value = await run.evaluate(checked.program);
    } catch (error) {
      throw new MutationProblem(expressionFailure(expression.trim(), error));
    }
    return isPatch ? patched(document, value, version) : merged(document, value, version);
  }

  #parts(): Compiled {
    if (this.#compiled) return this.#compiled;
    const { matchConditions = [], mutations = [] } = this.#spec;
    const scope = new PolicyScope(this.#spec, true);
    this.#compiled = {
      scope,
      conditions: matchConditions.map(({ expression = '' }) => ({
        expression,
        checked: scope.condition(expression),
      })),
      mutations: mutations.map(({ patchType, applyConfiguration, jsonPatch }) => {
        const { expression = '' } = (patchType === 'JSONPatch' ? jsonPatch : applyConfiguration) ?? {};
        const checked = scope.expression(expression, [mutationResult(patchType)]);
        return { expression, isPatch: patchType === 'JSONPatch', checked };
      }),
    };
    return this.#compiled;
  }
}

/** Merges as server-side apply does: maps by key, lists by the keys of their items where they have any. */
function merged(document: JsonObject, value: Value, version: Kind): unknown {
  if (!(value instanceof StructValue))
    throw new MutationProblem('unsupported return type from ApplyConfiguration expression');
  checkNames(value, 'Object');
  const { kind, apiVersion } = version;
  const configuration = { ...(jsonOf(value, 'invalid return type') as JsonObject), kind, apiVersion };
  const model = ownershipModel(version.model);
  const problem = typedProblem(model, configuration);
  if (problem)
    throw new MutationProblem(
      `error applying patch: failed to convert patch object to typed object: ${problem}`,
    );
  const type = structOf(model);
  // Refused, as in Kubernetes: fields of an atomic value that the expression leaves out would be lost.
  const atomic = atomicPaths(type, configuration);
  if (atomic.length)
    throw new MutationProblem(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomic.join(', ')}`,
    );
  return merge(type, document, configuration);
}

/** Checks that type names match their place: `Object{spec: Object.metadata{}}` is a mistake. */
function checkNames(value: Value, name: string): void {
  if (value instanceof ListValue) for (const item of value) checkNames(item, name);
  if (!(value instanceof StructValue)) return;
  if (value.name !== name)
    throw new MutationProblem(
      `type mismatch: unexpected type name "${value.name}", expected "${name}", which matches field name path from root Object type`,
    );
  for (const [field, inner] of value.fields) checkNames(inner, `${name}.${field}`);
}

function jsonOf(value: Value, what: string): unknown {
  try {
    return toJson(value);
  } catch (error) {
    if (error instanceof CelError) throw new MutationProblem(`${what}: ${error.message}`);
    throw error;
  }
}

function patched(document: JsonObject, value: Value, version: Kind): unknown {
  if (!(value instanceof ListValue))
    throw new MutationProblem('type mismatch: JSONPatchType.expression should evaluate to array');
  const operations = Array.from(value, (operation) => {
    if (!(operation instanceof StructValue))
      throw new MutationProblem(
        'type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch',
      );
    const inner = operation.fields.get('value');
    if (inner instanceof StructValue) checkNames(inner, inner.name);
    return jsonOf(operation, 'JSONPath valueExpression evaluated to a type that could not marshal to JSON');
  });
  try {
    const patch = parseJsonPatch(operations);
    try {
      const result = applyJsonPatch(document, patch);
      checkKnown(result, version);
      return result;
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      const { text, testFailed } = jsonPatchFailure(document, patch);
      // A `test` operation failed: the patch does not apply to this object.
      if (testFailed) return document;
      throw new MutationProblem(`JSON Patch: ${text}`);
    }
  } catch (error) {
    if (error instanceof PatchError) throw new MutationProblem(`JSON Patch: ${error.message}`);
    throw error;
  }
}

/** Refuses fields that a built-in kind does not have: an error of the policy, whatever its failure policy. */
function checkKnown(result: unknown, { model, custom }: Kind): void {
  if (custom) return;
  const unknown: string[] = [];
  try {
    decodeObject(model, result, unknown);
  } catch (error) {
    if (error instanceof DecodeError) throw internal(error.message);
    throw error;
  }
  if (unknown.length)
    throw internal(
      `strict decoding error: ${unknown.map((path) => `unknown field ${JSON.stringify(path)}`).join(', ')}`,
    );
}
