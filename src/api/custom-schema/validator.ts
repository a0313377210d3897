/**
 * The keywords of a schema as functions on values, one for each node. They follow the order of Kubernetes: type,
 * alternatives, strings, numbers, lists, enum, objects. On update the old value is handed down, and errors of a node
 * that equals its old one are dropped ("ratcheting").
 *
 * Each function returns how many checks it made. Among the alternatives of anyOf and oneOf that fail, the one with the
 * most checks is reported.
 */
import { type FieldError, invalid, required, tooMany } from '../errors/field-error.ts';
import type { Schema } from '../model/json-schema.ts';
import { jsonText } from '../text/json-text.ts';
import { isJsonObject, type JsonObject, sameJson } from '../text/object.ts';
import { isKnownFormat } from './formats.ts';
import {
  enumCheck,
  formatStringCheck,
  kindOf,
  numberCheck,
  stringCheck,
  typeError,
  type ValueKind,
} from './keyword-checks.ts';
import { itemsOf, plainScalar } from './schema-node.ts';
import { StepsError, ValidationRun } from './validation-run.ts';

/** @param old the value that this one replaces, or undefined */
type Check = (value: unknown, run: ValidationRun, old: unknown) => number;

export interface Validator {
  /** @param base the path of the value in a larger document, put before the paths of errors */
  validate(value: unknown, old?: unknown, base?: string): FieldError[];
}

export function compileValidator(schema: Schema): Validator {
  const check = ratcheted(schema);
  return {
    validate(value, old, base = '') {
      const run = new ValidationRun(base);
      try {
        check(value, run, old);
      } catch (error) {
        if (!(error instanceof StepsError)) throw error;
        return [tooManySteps(base)];
      }
      return run.errors;
    },
  };
}

const tooManySteps = (base: string): FieldError => ({
  field: base || '<nil>',
  reason: 'FieldValueInvalid',
  message: 'Invalid value: "": validation takes too many steps for the schema and the size of the object',
});

const ratchetedChecks = new WeakMap<Schema, Check>();

/** Made once for each schema: the defaults in a definition are checked by parts of the same schema. */
function ratcheted(given: Schema): Check {
  const schema = plainScalar(given) ?? given;
  let check = ratchetedChecks.get(schema);
  if (!check) {
    check = ratchetedCheck(nodeCheck(schema));
    ratchetedChecks.set(schema, check);
  }
  return check;
}

/** Drops the errors of a node that has not changed. Its own comparison is made only when there are errors. */
function ratchetedCheck(check: Check): Check {
  return (value, run, old) => {
    if (old === undefined) return check(value, run, undefined);
    const mark = run.mark();
    const { differs } = run;
    run.differs = false;
    const count = check(value, run, old);
    if (run.failures !== mark.failures) {
      if (!run.differs && sameJson(value, old)) run.takeSince(mark);
      else run.differs = true;
    }
    run.differs ||= differs;
    return count;
  };
}

function nodeCheck(schema: Schema): Check {
  const types = typesOf(schema);
  const format = schema.format && isKnownFormat(schema.format) ? schema.format : '';
  const typed = types.length > 0 || format !== '';
  // Keeping unknown fields allows no null for the value itself: a create drops such a null before, an apply does not.
  const nullable = !types.length || schema.nullable === true;
  const combined = combinedCheck(schema);
  const ofString = stringCheck(schema);
  const ofFormat = format ? formatStringCheck(format) : undefined;
  const ofNumber = numberCheck(schema, types[0] ?? '', format);
  const ofList = listCheck(schema);
  const ofEnum = enumCheck(schema.enum);
  const ofObject = objectCheck(schema);
  return (value, run, old) => {
    run.steps(1);
    const kind = kindOf(value);
    if (kind === 'null') {
      if (!nullable) run.fail((field, name) => typeError(field, name, types.join(), 'null'));
      ofEnum?.(value, run);
      return nullable ? 1 : 0;
    }
    let count = typed ? 1 + typeCheck(kind, types, format, run) : 0;
    count += 2 + (combined ? combined(value, run, old) : 0);
    switch (kind) {
      case 'string':
        ofString?.(value as string, run);
        ofFormat?.(value as string, run);
        count += ofFormat ? 2 : 1;
        break;
      case 'integer':
      case 'number':
        ofNumber?.(value as number | bigint, run);
        count += 2;
        break;
      case 'array':
        count += 2 + (ofList ? ofList(value, run, old) : 0);
    }
    ofEnum?.(value, run);
    if (kind === 'object') count += 1 + (ofObject ? ofObject(value, run, old) : 0);
    return count + 2;
  };
}

function typesOf(schema: Schema): readonly string[] {
  if (schema['x-kubernetes-int-or-string']) return ['integer', 'string'];
  return schema.type ? [schema.type] : [];
}

/** The Go type of a number, which errors about formats name. */
const goFormats: Partial<Record<ValueKind, string>> = { integer: 'int64', number: 'float64' };

/** @returns 1 when the type fits */
function typeCheck(kind: ValueKind, types: readonly string[], format: string, run: ValidationRun): number {
  if (types.includes(kind) || (kind === 'integer' && types.includes('number'))) return 1;
  if (kind === 'string' || kind === 'array') {
    if (types.length === 0) return 1;
  } else if (format && format !== goFormats[kind]) {
    run.fail((field, name) => typeError(field, name, format, goFormats[kind] ?? ''));
    return 0;
  }
  run.fail((field, name) => typeError(field, name, types.join(), kind));
  return 0;
}

/** The result of validating against one alternative. */
interface Outcome {
  readonly errors: FieldError[];
  readonly failures: number;
  readonly count: number;
}

function attempt(check: Check, value: unknown, run: ValidationRun, old: unknown): Outcome {
  const mark = run.mark();
  const count = check(value, run, old);
  const failures = run.failures - mark.failures;
  return { errors: run.takeSince(mark), failures, count };
}

const closest = (best: Outcome | undefined, next: Outcome): Outcome =>
  best && best.count >= next.count ? best : next;

/** anyOf, oneOf, allOf and not. They are part of their node; ratcheting goes on below them. */
function combinedCheck(schema: Schema): Check | undefined {
  const checks = [
    schema.anyOf?.length ? anyOfCheck(schema.anyOf.map(nodeCheck)) : undefined,
    schema.oneOf?.length ? oneOfCheck(schema.oneOf.map(nodeCheck)) : undefined,
    schema.allOf?.length ? allOfCheck(schema.allOf.map(nodeCheck)) : undefined,
    schema.not ? notCheck(nodeCheck(schema.not)) : undefined,
  ].filter((check) => check !== undefined);
  if (checks.length === 0) return undefined;
  return (value, run, old) => checks.reduce((count, check) => count + check(value, run, old), 0);
}

function anyOfCheck(alternatives: readonly Check[]): Check {
  return (value, run, old) => {
    let best: Outcome | undefined;
    for (const alternative of alternatives) {
      const outcome = attempt(alternative, value, run, old);
      if (outcome.failures === 0) return outcome.count;
      best = closest(best, outcome);
    }
    run.failWhole((name) => `"${name}" must validate at least one schema (anyOf)`);
    run.put(best!.errors, best!.failures);
    return best!.count;
  };
}

function oneOfCheck(alternatives: readonly Check[]): Check {
  return (value, run, old) => {
    let best: Outcome | undefined;
    let firstCount = 0;
    let valid = 0;
    for (const alternative of alternatives) {
      const outcome = attempt(alternative, value, run, old);
      if (outcome.failures > 0) best = closest(best, outcome);
      else if (++valid === 1) firstCount = outcome.count;
    }
    if (valid === 1) return firstCount;
    const found = valid ? `Found ${valid} valid alternatives` : 'Found none valid';
    run.failWhole((name) => `"${name}" must validate one and only one schema (oneOf). ${found}`);
    if (valid > 0) return 0;
    run.put(best!.errors, best!.failures);
    return best!.count;
  };
}

function allOfCheck(parts: readonly Check[]): Check {
  return (value, run, old) => {
    let count = 0;
    let valid = 0;
    for (const part of parts) {
      const { failures } = run;
      count += part(value, run, old);
      if (run.failures === failures) valid += 1;
    }
    if (valid < parts.length)
      run.failWhole(
        (name) => `"${name}" must validate all the schemas (allOf)${valid ? '' : '. None validated'}`,
      );
    return count;
  };
}

function notCheck(part: Check): Check {
  return (value, run) => {
    if (attempt(part, value, run, undefined).failures === 0)
      run.failWhole((name) => `"${name}" must not validate the schema (not)`);
    return 0;
  };
}

function listCheck(schema: Schema): Check | undefined {
  const { minItems, maxItems } = schema;
  const items = itemsOf(schema);
  const check = items && ratcheted(items);
  const keys = schema['x-kubernetes-list-type'] === 'map' ? schema['x-kubernetes-list-map-keys'] : undefined;
  if (!check && minItems === undefined && maxItems === undefined) return undefined;
  return (value, run, old) => {
    const list = value as readonly unknown[];
    let count = 0;
    if (check) {
      const before = keys && Array.isArray(old) ? byKeys(old, keys) : undefined;
      for (let i = 0; i < list.length; i++) {
        const item = list[i];
        const oldItem = before?.get(keyText(item, keys!));
        const { failures } = run;
        run.path.push(i);
        count += check(item, run, oldItem);
        run.path.pop();
        if (before && oldItem === undefined && run.failures !== failures) run.differs = true;
      }
    }
    if (minItems !== undefined && list.length < minItems)
      run.fail((field, name) =>
        invalid(field, list.length, `${name} in body should have at least ${minItems} items`),
      );
    if (maxItems !== undefined && list.length > maxItems)
      run.fail((field) => tooMany(field, list.length, maxItems));
    return count;
  };
}

/** The items of an old list with keys; of items with the same keys the first. */
function byKeys(list: readonly unknown[], keys: readonly string[]): Map<string, unknown> {
  const items = new Map<string, unknown>();
  for (const item of list) {
    const text = keyText(item, keys);
    if (!items.has(text)) items.set(text, item);
  }
  return items;
}

const keyText = (item: unknown, keys: readonly string[]): string =>
  isJsonObject(item) ? jsonText(keys.map((key) => (Object.hasOwn(item, key) ? item[key] : undefined))) : '';

function objectCheck(schema: Schema): Check | undefined {
  const { minProperties, maxProperties, additionalProperties, required: names = [] } = schema;
  const { properties = {} } = schema;
  const checks = new Map<string, Check>();
  for (const name of Object.keys(properties)) checks.set(name, ratcheted(properties[name]!));
  const additional = typeof additionalProperties === 'object' ? ratcheted(additionalProperties) : undefined;
  const closed = additionalProperties === false;
  return (value, run, old) => {
    const object = value as JsonObject;
    const keys = Object.keys(object);
    if (minProperties !== undefined && keys.length < minProperties)
      run.fail((field, name) =>
        invalid(field, keys.length, `${name} in body should have at least ${minProperties} properties`),
      );
    if (maxProperties !== undefined && keys.length > maxProperties)
      run.fail((field) => tooMany(field, keys.length, maxProperties));
    let count = 0;
    const before = isJsonObject(old) ? old : undefined;
    for (const key of keys) {
      const check = checks.get(key) ?? additional;
      if (check) {
        const oldValue = before && Object.hasOwn(before, key) ? before[key] : undefined;
        const { failures } = run;
        run.path.push(key);
        count += check(object[key], run, oldValue);
        run.path.pop();
        if (before && oldValue === undefined && run.failures !== failures) run.differs = true;
      } else if (closed)
        run.fail((field, name) => invalid(field, key, `${name}.${key} in body is a forbidden property`));
    }
    for (const name of names) if (!Object.hasOwn(object, name)) run.fail((field) => required(field), name);
    return count;
  };
}
