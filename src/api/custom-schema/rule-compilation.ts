/** The rules of one node of a schema, compiled. */
import { compile, type Program } from '../cel/cel.ts';
import { sizeBelow } from '../cel/declared-size.ts';
import { anyJson } from '../cel/json-values.ts';
import { ruleFunctions } from '../cel/libraries/libraries.ts';
import { dyn, optional, type Type } from '../cel/values/types.ts';
import type { ValuePath } from '../cel/values/value-path.ts';
import type { Schema, ValidationRule } from '../model/json-schema.ts';
import { type PathStep, readFieldPath } from './field-path.ts';
import { type RuleType, ruleTypeOf } from './rule-types.ts';

export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program: Program | undefined;
  /** Why there is no program. */
  readonly error: string | undefined;
  readonly usesOldSelf: boolean;
  readonly message: Program | undefined;
  readonly messageError: string | undefined;
  /** Steps from the node to the field that errors point to; undefined when the path is wrong. */
  readonly fieldPath: readonly PathStep[] | undefined;
}

export interface CompiledRules {
  readonly type: RuleType;
  readonly rules: readonly CompiledRule[];
}

/** The type of values without a known type, which rules see unchanged. */
const untyped: RuleType = { type: dyn, adapt: anyJson, bytesMin: 1 };

/** Rules compiled ahead. A definition is checked once, so they are removed when they are used. */
const prepared = new WeakMap<Schema, CompiledRules>();

export function prepareNodeRules(schema: Schema, isResource: boolean, typedAs?: Schema): void {
  prepared.set(schema, compileNodeRules(schema, isResource, typedAs));
}

/** The rules compiled ahead, or compiled now. */
export function takeNodeRules(schema: Schema, isResource: boolean, typedAs?: Schema): CompiledRules {
  const ready = prepared.get(schema);
  prepared.delete(schema);
  return ready ?? compileNodeRules(schema, isResource, typedAs);
}

/** @param typedAs what the type is made of, where that is not the schema itself */
export function compileNodeRules(schema: Schema, isResource: boolean, typedAs = schema): CompiledRules {
  const type = ruleTypeOf(typedAs, isResource) ?? untyped;
  const rules = schema['x-kubernetes-validations'] ?? [];
  return { type, rules: rules.map((rule) => compileRule(rule, type, schema)) };
}

function compileRule(rule: ValidationRule, { type }: RuleType, schema: Schema): CompiledRule {
  const environment = {
    variables: new Map<string, Type>([
      ['self', type],
      ['oldSelf', rule.optionalOldSelf ? optional(type) : type],
    ]),
    functions: ruleFunctions(),
    // As by Kubernetes, whatever a path begins with: items of a list that a rule makes count as those of `self`.
    declaredSize: ({ steps }: ValuePath) => sizeBelow(type, steps),
  };
  const { rule: text = '' } = rule;
  const compiled = text.trim() === '' ? undefined : compile(text, environment);
  let error = compiled?.errors === undefined ? undefined : `compilation failed: ${compiled.errors}`;
  if (compiled?.program && compiled.program.type.kind !== 'bool')
    error = 'cel expression must evaluate to a bool';
  const expression = rule.messageExpression?.trim();
  // As by Kubernetes, a message is not looked at when its rule is wrong.
  const message =
    expression && error === undefined ? compile(rule.messageExpression as string, environment) : undefined;
  let messageError =
    message?.errors === undefined ? undefined : `messageExpression compilation failed: ${message.errors}`;
  if (message?.program && message.program.type.kind !== 'string')
    messageError = 'messageExpression must evaluate to a string';
  return {
    rule,
    program: error === undefined ? compiled?.program : undefined,
    error,
    usesOldSelf: error === undefined && (compiled?.program?.references.has('oldSelf') ?? false),
    message: messageError === undefined ? message?.program : undefined,
    messageError,
    fieldPath: rule.fieldPath ? stepsTo(rule.fieldPath, schema) : [],
  };
}

/** Undefined when the path does not lead to a field of the schema. */
function stepsTo(path: string, schema: Schema): readonly PathStep[] | undefined {
  const found = readFieldPath(path, schema, true);
  return typeof found === 'string' ? undefined : found.steps;
}
