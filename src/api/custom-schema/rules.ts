/** Runs the rules of a schema (`x-kubernetes-validations`) on objects: at a node first, then at those below it. */
import { Budget, BudgetExceeded } from '../cel/values/budget.ts';
import { CelError, NoSuchOverload, Optional, type Value } from '../cel/values/values.ts';
import {
  type FieldError,
  type FieldErrorReason,
  forbidden,
  invalid,
  required,
} from '../errors/field-error.ts';
import { goQuoted } from '../model/go-format.ts';
import type { Schema, ValidationRule } from '../model/json-schema.ts';
import { jsonText } from '../text/json-text.ts';
import { isJsonObject, type JsonObject, sameJson } from '../text/object.ts';
import { type PathStep, pathText } from './field-path.ts';
import { type CompiledRule, type CompiledRules, compileNodeRules } from './rule-compilation.ts';
import { itemsOf } from './schema-node.ts';

/** Steps of one rule, and of all rules on one object. */
const callCostMax = 1_000_000;
const objectCostMax = 10_000_000;
/** Steps after which rules pause; a single rule is never paused. */
const sliceCost = 100_000;
/** What compiling a rule counts in a slice. */
const compileCost = 10_000;
/** Bytes of a text that a messageExpression makes. */
const messageBytesMax = 5120;
/** Field of errors without a path. */
const noField = '<nil>';

/** Reported instead of running rules when the object is invalid in a way that rules rely on. */
export const uncheckedRules: FieldError = invalid(
  noField,
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);

const blocking: ReadonlySet<FieldErrorReason> = new Set([
  'FieldValueRequired',
  'FieldValueNotSupported',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** Whether rules cannot be run on an object with these errors. */
export const blocksRules = (errors: readonly FieldError[]): boolean =>
  errors.some(({ reason }) => blocking.has(reason));

interface RuleOutcome {
  readonly errors: FieldError[];
  /** Errors on nodes that have not changed do not refuse a write. */
  readonly warnings: string[];
}

export interface SchemaRules {
  /** Whether all rules compile; definitions with others are refused. */
  readonly isSound: boolean;
  /**
   * @param old the value before, on update
   * @param base the path of the value in a larger document
   */
  run(value: unknown, old?: unknown, base?: string): RuleOutcome;
  /** The same in slices, for callers that let other work run in between. */
  begin(value: unknown, old: unknown, ratchets: boolean): RuleWork;
}

/** Rules that are being run on an object. */
interface RuleWork {
  /** Steps taken so far. */
  readonly spent: number;
  /** Runs rules until they have taken a slice of steps; gives the outcome when all have run. */
  advance(): RuleOutcome | undefined;
}

/** Compiles the rules of a schema; undefined when it has no rules. */
export function compileRules(schema: Schema, isResource: boolean): SchemaRules | undefined {
  const node = RuleNode.of(schema, isResource);
  if (node === undefined) return undefined;
  return {
    get isSound() {
      return node.isSound;
    },
    run(value, old, base) {
      const run = new RuleRun(node, value, old, base);
      for (;;) {
        const outcome = run.advance();
        if (outcome) return outcome;
      }
    },
    begin: (value, old, ratchets) => new RuleRun(node, value, old, '', ratchets),
  };
}

/** A node with rules at it or below it. They are compiled with the first value that comes by. */
class RuleNode {
  readonly schema: Schema;
  readonly #isResource: boolean;
  readonly #properties: ReadonlyMap<string, RuleNode>;
  readonly #additional: RuleNode | undefined;
  readonly items: RuleNode | undefined;
  #compiled: CompiledRules | undefined;

  private constructor(schema: Schema, isResource: boolean) {
    this.schema = schema;
    this.#isResource = isResource;
    const { properties = {}, additionalProperties } = schema;
    this.#properties = new Map(
      Object.keys(properties).flatMap((name) => {
        const node = RuleNode.of(properties[name] as Schema);
        return node === undefined ? [] : [[name, node] as const];
      }),
    );
    this.#additional =
      typeof additionalProperties === 'object' ? RuleNode.of(additionalProperties) : undefined;
    const items = itemsOf(schema);
    this.items = items && RuleNode.of(items);
  }

  static of(
    schema: Schema,
    isResource = schema['x-kubernetes-embedded-resource'] === true,
  ): RuleNode | undefined {
    const node = new RuleNode(schema, isResource);
    const hasRules = (schema['x-kubernetes-validations']?.length ?? 0) > 0;
    return hasRules || node.#properties.size > 0 || node.#additional || node.items ? node : undefined;
  }

  get isSound(): boolean {
    const below = [...this.#properties.values(), this.#additional, this.items];
    const broken = this.compiled?.rules.some(({ error }) => error !== undefined) ?? false;
    return !broken && below.every((node) => node?.isSound ?? true);
  }

  /** Whether it has rules that no value has come by yet. */
  get isUncompiled(): boolean {
    return !this.#compiled && (this.schema['x-kubernetes-validations']?.length ?? 0) > 0;
  }

  get compiled(): CompiledRules | undefined {
    if (!this.schema['x-kubernetes-validations']?.length) return undefined;
    this.#compiled ??= compileNodeRules(this.schema, this.#isResource);
    return this.#compiled;
  }

  /** The nodes of the entries of an object that have rules, with how errors show the way there. */
  *entries(value: JsonObject): Generator<[string, PathStep, RuleNode]> {
    for (const [name, node] of this.#properties) if (Object.hasOwn(value, name)) yield [name, name, node];
    if (this.#additional === undefined) return;
    for (const name of Object.keys(value))
      if (!this.#properties.has(name)) yield [name, { key: name }, this.#additional];
  }
}

/** Steps ran out: what is left is not looked at. */
class OutOfBudget extends Error {}

class RuleRun implements RuleWork {
  readonly errors: FieldError[] = [];
  readonly warnings: string[] = [];
  readonly #steps: (PathStep | number)[] = [];
  readonly #base: string;
  readonly #visits: Generator<void, void>;
  #left = objectCostMax;
  /** Steps that compiling took; they are no part of the limit. */
  #compiling = 0;
  /** How many steps are spent at the end of the slice. */
  #sliceEnd = 0;

  /** @param ratchets whether a rule that fails on an unchanged value is a warning alone */
  constructor(
    node: RuleNode,
    value: unknown,
    old: unknown,
    base = '',
    private readonly ratchets = true,
  ) {
    this.#base = base;
    this.#visits = this.#visit(node, value, old ?? undefined, () => false);
  }

  get spent(): number {
    return objectCostMax - this.#left + this.#compiling;
  }

  advance(): RuleOutcome | undefined {
    this.#sliceEnd = this.spent + sliceCost;
    try {
      if (!this.#visits.next().done) return undefined;
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error;
    }
    return { errors: this.errors, warnings: this.warnings };
  }

  /**
   * Ends a slice with each `yield`.
   *
   * @param around whether the list or map around the value is as it was before, so that this value is, too
   */
  *#visit(node: RuleNode, value: unknown, old: unknown, around: () => boolean): Generator<void, void> {
    // Rules see values that are there; a rule about a missing one belongs to the object around it.
    if (value === undefined || value === null) return;
    let same: boolean | undefined;
    const unchanged = (): boolean => {
      same ??= old === undefined || old === null ? around() : sameJson(value, old);
      return same;
    };
    if (node.isUncompiled) {
      this.#compiling += compileCost * node.schema['x-kubernetes-validations']!.length;
      if (this.spent > this.#sliceEnd) yield;
    }
    if (node.compiled) yield* this.#node(node.compiled, node.schema, value, old ?? undefined, unchanged);
    if (Array.isArray(value)) yield* this.#items(node, value, old, unchanged);
    else if (isJsonObject(value)) {
      const before = isJsonObject(old) ? old : {};
      for (const [name, step, inner] of node.entries(value)) {
        this.#steps.push(step);
        yield* this.#visit(
          inner,
          value[name],
          Object.hasOwn(before, name) ? before[name] : undefined,
          unchanged,
        );
        this.#steps.pop();
      }
    }
  }

  *#items(
    node: RuleNode,
    value: readonly unknown[],
    old: unknown,
    unchanged: () => boolean,
  ): Generator<void, void> {
    const { items, schema } = node;
    if (items === undefined) return;
    const keys =
      schema['x-kubernetes-list-type'] === 'map' ? (schema['x-kubernetes-list-map-keys'] ?? []) : [];
    const before = keys.length > 0 && Array.isArray(old) ? byKeys(old, keys) : undefined;
    for (const [position, item] of value.entries()) {
      this.#steps.push(position);
      yield* this.#visit(items, item, before?.get(keyOf(item, keys)), unchanged);
      this.#steps.pop();
    }
  }

  *#node(
    { type, rules }: CompiledRules,
    schema: Schema,
    json: unknown,
    old: unknown,
    unchanged: () => boolean,
  ): Generator<void, void> {
    if (this.#left <= 0) this.#outOfBudget(schema);
    let self: Value;
    let oldSelf: Value | undefined;
    try {
      self = type.adapt(json);
      oldSelf = old === undefined ? undefined : type.adapt(old);
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      this.errors.push(invalid(this.#path(), schema.type ?? '', error.message));
      return;
    }
    const isOldUsed = rules.some(({ usesOldSelf }) => usesOldSelf);
    // As in Kubernetes: messages see the old value as it is, and only where a rule looks at it.
    const told: Record<string, Value> = oldSelf === undefined || !isOldUsed ? { self } : { self, oldSelf };
    for (const compiled of rules) {
      const optional = compiled.rule.optionalOldSelf === true;
      if (compiled.error !== undefined)
        this.errors.push(invalid(this.#path(), schema.type ?? '', `rule compile error: ${compiled.error}`));
      // Rules about the change run when there is an old value.
      if (!compiled.program || (compiled.usesOldSelf && !optional && oldSelf === undefined)) continue;
      const variables = optional ? { self, oldSelf: new Optional(oldSelf) } : told;
      const isStrict = compiled.usesOldSelf || !this.ratchets;
      this.#rule(compiled, schema, json, variables, told, isStrict ? () => false : unchanged);
      if (this.spent > this.#sliceEnd) yield;
    }
  }

  #rule(
    compiled: CompiledRule,
    schema: Schema,
    json: unknown,
    variables: Record<string, Value>,
    /** The variables that the messageExpression sees. */
    known: Record<string, Value>,
    ratchets: () => boolean,
  ): void {
    const { rule, program, fieldPath } = compiled;
    const budget = new Budget(Math.min(callCostMax, this.#left));
    const told = rule.message?.trim() || (rule.rule ?? '').trim();
    const tell = (detail: string): void => {
      this.errors.push(invalid(this.#path(), schema.type ?? '', detail));
    };
    let holds: Value = false;
    try {
      holds = program?.run(variables, budget) ?? true;
    } catch (error) {
      if (error instanceof BudgetExceeded) {
        if (this.#left < callCostMax) this.#outOfBudget(schema);
        tell(
          `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${told}`,
        );
        throw new OutOfBudget();
      }
      if (!(error instanceof CelError)) throw error;
      if (error instanceof NoSuchOverload)
        tell(
          `'no such overload': call arguments did not match a supported operator, function or macro signature for rule: ${told}`,
        );
      else tell(`${error.message} evaluating rule: ${told}`);
      return;
    } finally {
      this.#left -= budget.spent;
    }
    if (holds === true) return;
    const fail = (failure: FieldError): void => {
      if (ratchets()) this.warnings.push(`${failure.field}: ${failure.message}`);
      else this.errors.push(failure);
    };
    const path = this.#path(fieldPath);
    const said = this.#message(compiled, known, (detail) => {
      fail(invalid(path, schema.type ?? '', detail));
      throw new OutOfBudget();
    });
    fail(
      failed(path, rule, json, said ?? (rule.message?.trim() || `failed rule: ${(rule.rule ?? '').trim()}`)),
    );
  }

  /** The text of the messageExpression; undefined when it is missing, fails or gives no usable text. */
  #message(
    { message, rule }: CompiledRule,
    variables: Record<string, Value>,
    exceeded: (detail: string) => never,
  ): string | undefined {
    if (message === undefined) return undefined;
    const budget = new Budget(Math.min(callCostMax, Math.max(0, this.#left)));
    try {
      const value = message.run(variables, budget);
      const text = typeof value === 'string' ? value.trim() : '';
      const usable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= messageBytesMax;
      return usable ? text : undefined;
    } catch (error) {
      if (error instanceof BudgetExceeded)
        exceeded(
          this.#left < callCostMax
            ? 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run'
            : `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${goQuoted(rule.messageExpression ?? '')}`,
        );
      if (error instanceof CelError) return undefined;
      throw error;
    } finally {
      this.#left -= budget.spent;
    }
  }

  #outOfBudget(schema: Schema): never {
    const detail =
      'validation failed due to running out of cost budget, no further validation rules will be run';
    this.errors.push(invalid(this.#path(), schema.type ?? '', detail));
    throw new OutOfBudget();
  }

  #path(more: readonly PathStep[] = []): string {
    return pathText(this.#base, [...this.#steps, ...more]) || noField;
  }
}

/** Values of objects and lists are left out. */
function failed(field: string, rule: ValidationRule, value: unknown, detail: string): FieldError {
  const shown = typeof value === 'object' ? '' : `${jsonText(value)}`;
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return forbidden(field, detail);
    case 'FieldValueRequired':
      return required(field, detail);
    case 'FieldValueDuplicate':
      return {
        field,
        reason: 'FieldValueDuplicate',
        message: shown === '' ? 'Duplicate value' : `Duplicate value: ${shown}`,
      };
    default:
      return {
        field,
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${shown === '' ? '' : `${shown}: `}${detail}`,
      };
  }
}

function byKeys(items: readonly unknown[], keys: readonly string[]): ReadonlyMap<string, unknown> {
  return new Map(items.map((item) => [keyOf(item, keys), item]));
}

function keyOf(item: unknown, keys: readonly string[]): string {
  return jsonText(keys.map((name) => (isJsonObject(item) ? (item[name] ?? null) : null)));
}
