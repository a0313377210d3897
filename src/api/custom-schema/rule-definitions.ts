/** The check of all rules of a schema when its definition is written: their types, and what they cost. */
import { product } from '../cel/values/size-range.ts';
import { child, type FieldError, forbidden, index, invalid, key } from '../errors/field-error.ts';
import type { Schema, ValidationRule } from '../model/json-schema.ts';
import { innerRuleText } from './inner-form.ts';
import { type CompiledRule, prepareNodeRules, takeNodeRules } from './rule-compilation.ts';
import { requestBytesMax, ruleTypeOf, withTypeAndName } from './rule-types.ts';
import { itemsOf } from './schema-node.ts';

/** Steps of one rule or messageExpression, times how often its node can occur; and of all rules together. */
const ruleCostMax = 10_000_000;
const schemaCostMax = 100_000_000;
/** The rules that are named when all together cost too much: the dearest, if they take part of the limit. */
const dearestMax = 4;
const dearestShare = 0.01;

const advice =
  '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)';

/**
 * @param path where the schema is in the definition
 * @param others errors of keywords; rules at and above the places of these are not compiled, because their types would
 * be wrong
 * @param isKept the schema is that of the old definition: its rules may stay as dear as they are
 */
export function ruleDefinitionErrors(
  schema: Schema,
  path: string,
  others: readonly FieldError[],
  isKept = false,
): FieldError[] {
  const check = new RuleCheck(
    others.map(({ field }) => field),
    isKept,
  );
  check.node(schema, path, root);
  return [...check.errors, ...check.totalErrors(path)];
}

/** About how many steps it takes to compile a rule, and each character of it. */
const ruleSteps = 5_000;
const ruleCharSteps = 200;

/** Compiles the rules of a schema ahead of their check. */
export function* preparedRules(schema: Schema, place: Place = root): Generator<number, void> {
  const rules = schema['x-kubernetes-validations'] ?? [];
  if (rules.length) {
    prepareNodeRules(schema, isResource(schema, place), place.typedAs);
    for (const { rule = '', messageExpression = '' } of rules)
      yield ruleSteps + ruleCharSteps * (rule.length + messageExpression.length);
  }
  for (const [inner, , innerPlace] of children(schema, '', place)) yield* preparedRules(inner, innerPlace);
}

interface Place {
  readonly isRoot: boolean;
  /** Maximum number of occurrences of the node; undefined when the schema does not limit it. */
  readonly times: number | undefined;
  /** The list around the node whose items have no old value to compare with. */
  readonly uncorrelatable: string | undefined;
  /** A node around this one has rules. */
  readonly inScope: boolean;
  /** The schema as which rules around this node see it, if it is not its own. */
  readonly typedAs: Schema | undefined;
}

const root: Place = {
  isRoot: true,
  times: 1,
  uncorrelatable: undefined,
  inScope: false,
  typedAs: undefined,
};

const isResource = (schema: Schema, { isRoot }: Place): boolean =>
  isRoot || schema['x-kubernetes-embedded-resource'] === true;

class RuleCheck {
  readonly errors: FieldError[] = [];
  readonly #dearest: { field: string; cost: number }[] = [];
  #total = 0;

  constructor(
    private readonly wrong: readonly string[],
    private readonly isKept: boolean,
  ) {}

  node(schema: Schema, path: string, place: Place): void {
    for (const [inner, innerPath, innerPlace] of children(schema, path, place))
      this.node(inner, innerPath, innerPlace);
    if (!schema['x-kubernetes-validations']?.length) return;
    if (this.wrong.some((field) => field.startsWith(`${path}.`))) return;
    const { typedAs = schema } = place;
    if (!ruleTypeOf(typedAs, isResource(schema, place))) {
      this.errors.push(untypedNode(path));
      return;
    }
    const compiled = takeNodeRules(schema, isResource(schema, place), typedAs);
    const times = place.times ?? Math.floor(requestBytesMax / (compiled.type.bytesMin + 1));
    for (const [position, rule] of compiled.rules.entries())
      this.#rule(rule, index(child(path, 'x-kubernetes-validations'), position), times, place);
  }

  #rule(compiled: CompiledRule, path: string, times: number, place: Place): void {
    const { rule, program, message } = compiled;
    const field = child(path, 'rule');
    if (program) this.#cost(field, 'estimated rule cost', product(program.costMax, times));
    if (compiled.error !== undefined) this.errors.push(quoting(field, rule, compiled.error));
    const messageField = child(path, 'messageExpression');
    if (compiled.messageError !== undefined)
      this.errors.push(quoting(messageField, rule, compiled.messageError));
    else if (message) this.#cost(messageField, 'estimated messageExpression cost', message.costMax);
    if (compiled.usesOldSelf) {
      if (place.uncorrelatable !== undefined)
        this.errors.push(
          invalid(
            field,
            rule.rule ?? '',
            `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable}`,
          ),
        );
    } else if (rule.optionalOldSelf !== undefined)
      this.errors.push(
        invalid(
          child(path, 'optionalOldSelf'),
          rule.optionalOldSelf,
          'may not be set if oldSelf is not used in rule',
        ),
      );
  }

  #cost(field: string, what: string, cost: number): void {
    if (cost > ruleCostMax && !this.isKept)
      this.errors.push(forbidden(field, costText(what, cost / ruleCostMax)));
    this.#total += cost;
    if (cost < schemaCostMax * dearestShare) return;
    this.#dearest.push({ field, cost });
    this.#dearest.sort((a, b) => b.cost - a.cost);
    this.#dearest.length = Math.min(this.#dearest.length, dearestMax);
  }

  totalErrors(path: string): FieldError[] {
    if (this.#total <= schemaCostMax) return [];
    const contributed =
      'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const whole = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    return [
      ...this.#dearest.map(({ field }) => forbidden(field, contributed)),
      forbidden(path, costText(whole, this.#total / schemaCostMax)),
    ];
  }
}

/** Rules about what has no type, or is a list or map of such things. */
const untypedNode = (path: string): FieldError => ({
  field: child(path, 'x-kubernetes-validations'),
  reason: 'InternalError',
  message: 'Internal error: internal error: failed to retrieve type information for x-kubernetes-validations',
});

function costText(what: string, factor: number): string {
  const shown = factor > 100 ? 'more than 100' : factor < 1.5 ? factor.toFixed(6) : factor.toFixed(1);
  return `${what} exceeds budget by factor of ${shown}x ${advice}`;
}

/** Errors quote the whole rule. */
function quoting(field: string, rule: ValidationRule, detail: string): FieldError {
  return { field, reason: 'FieldValueInvalid', message: `Invalid value: ${innerRuleText(rule)}: ${detail}` };
}

function* children(schema: Schema, path: string, place: Place): Generator<[Schema, string, Place]> {
  const inScope = place.inScope || (schema['x-kubernetes-validations']?.length ?? 0) > 0;
  const inner: Place = { ...place, isRoot: false, inScope, typedAs: undefined };
  const seen = place.typedAs ?? (inScope && isResource(schema, place) ? withTypeAndName(schema) : undefined);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const typedAs = seen?.properties?.[name];
    yield [
      property,
      key(child(path, 'properties'), name),
      typedAs === undefined || typedAs === property ? inner : { ...inner, typedAs },
    ];
  }
  const { additionalProperties, maxItems, maxProperties } = schema;
  if (typeof additionalProperties === 'object')
    yield [
      additionalProperties,
      child(path, 'additionalProperties'),
      { ...inner, times: timesOf(place.times, maxProperties) },
    ];
  const items = itemsOf(schema);
  if (!items) return;
  const keyed = schema['x-kubernetes-list-type'] === 'map';
  const uncorrelatable = place.uncorrelatable ?? (keyed ? undefined : path);
  yield [items, child(path, 'items'), { ...inner, times: timesOf(place.times, maxItems), uncorrelatable }];
}

function timesOf(times: number | undefined, each: number | bigint | undefined): number | undefined {
  return times === undefined || each === undefined ? undefined : times * Math.max(0, Number(each));
}
