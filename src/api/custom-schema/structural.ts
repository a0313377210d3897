/**
 * Structural schemas: every field has a type outside of allOf, anyOf, oneOf and not, which may hold checks of values
 * only. Pruning and defaulting rely on it. The rules and texts are Kubernetes'.
 */
import { child, type FieldError, forbidden, index, invalid, key, required } from '../errors/field-error.ts';
import type { Schema } from '../model/json-schema.ts';
import { compileRegexp, RegexpError } from '../text/go-regexp.ts';
import { BoundedErrors, type NodeFindings } from './bounded-errors.ts';
import { itemsOf } from './schema-node.ts';
import { innerSchemas } from './schema-walk.ts';

type Level = 'root' | 'item' | 'field';

const noTypeTexts: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

/** Errors, sorted by their text; worked out in slices. */
export function* structuralErrors(schema: Schema, path: string): Generator<number, FieldError[]> {
  yield* preparedPatterns(schema);
  const errors = new BoundedErrors();
  yield* errors.addInSlices(nodeErrors(schema, 'root', path));
  yield* errors.addInSlices(missingErrors(schema, schema, path, path));
  const texts = new Map(errors.list.map((error) => [error, `${error.field}: ${error.message}`]));
  return errors.list.sort((a, b) => (texts.get(a)! < texts.get(b)! ? -1 : 1));
}

const isEmbedded = (schema: Schema): boolean => schema['x-kubernetes-embedded-resource'] === true;
const isIntOrString = (schema: Schema): boolean => schema['x-kubernetes-int-or-string'] === true;
const preserves = (schema: Schema): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true;

function* nodeErrors(schema: Schema, level: Level, path: string): NodeFindings {
  yield undefined;
  const { type, properties = {}, additionalProperties: additional } = schema;
  const items = itemsOf(schema);
  if (type === 'array' && !schema.items) yield required(child(path, 'items'), 'must be specified');
  if (items) yield* nodeErrors(items, 'item', child(path, 'items'));
  for (const name of Object.keys(properties))
    yield* nodeErrors(properties[name]!, 'field', key(child(path, 'properties'), name));
  if (additional !== undefined && level === 'root')
    yield forbidden(child(path, 'additionalProperties'), 'must not be used at the root');
  if (typeof additional === 'object')
    yield* nodeErrors(additional, 'field', child(path, 'additionalProperties'));
  yield* extensionErrors(schema, path);
  yield* checkErrors(schema, path, isIntOrStringChoice(schema), isIntOrStringChoice(schema.allOf?.[0]));
  yield* typeErrors(schema, level, path);
  yield* metaErrors(schema, level, path);
}

function* extensionErrors(schema: Schema, path: string): Generator<FieldError> {
  if (!isIntOrString(schema)) return;
  for (const name of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const)
    if (schema[name])
      yield invalid(child(path, name), true, 'must be false if x-kubernetes-int-or-string is true');
}

function* typeErrors(schema: Schema, level: Level, path: string): Generator<FieldError> {
  const { type, properties, additionalProperties } = schema;
  const field = child(path, 'type');
  if (isEmbedded(schema) && type !== 'object') {
    const text = 'must be object if x-kubernetes-embedded-resource is true';
    yield type ? invalid(field, type, text) : required(field, text);
  } else if (!type && !isIntOrString(schema) && !preserves(schema)) yield required(field, noTypeTexts[level]);
  if (isEmbedded(schema) && additionalProperties !== undefined)
    yield forbidden(
      child(path, 'additionalProperties'),
      'must not be used if x-kubernetes-embedded-resource is set',
    );
  if (level === 'root' && type && type !== 'object') yield invalid(field, type, 'must be object at the root');
  if (isEmbedded(schema) && !preserves(schema) && !Object.keys(properties ?? {}).length)
    yield required(
      child(path, 'properties'),
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    );
}

/** apiVersion, kind and metadata of whole objects and of embedded ones. */
function* metaErrors(schema: Schema, level: Level, path: string): Generator<FieldError> {
  if (level !== 'root' && !isEmbedded(schema)) return;
  const { properties = {} } = schema;
  for (const [name, type] of [
    ['kind', 'string'],
    ['apiVersion', 'string'],
    ['metadata', 'object'],
  ] as const) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!property) continue;
    const field = key(child(path, 'properties'), name);
    if (property.type !== type) yield invalid(child(field, 'type'), property.type ?? '', `must be ${type}`);
    if (name === 'metadata' && level === 'root' && !restrictsNamesOnly(property))
      yield forbidden(
        field,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      );
  }
}

/** Whether a schema of metadata restricts names and nothing else; other restrictions are refused. */
function restrictsNamesOnly(metadata: Schema): boolean {
  const { type: _type, default: _default, properties = {}, ...rest } = metadata;
  return (
    Object.keys(properties).every((name) => name === 'name' || name === 'generateName') &&
    Object.values(rest).every((value) => value === undefined || value === false)
  );
}

/** Exactly `anyOf: [{type: integer}, {type: string}]`: the one place where alternatives may have a type. */
function isIntOrStringChoice(schema: Schema | undefined): boolean {
  const [first, second, ...more] = schema?.anyOf ?? [];
  return isTypeOnly(first, 'integer') && isTypeOnly(second, 'string') && more.length === 0;
}

const isTypeOnly = (schema: Schema | undefined, type: string): boolean =>
  schema?.type === type && Object.keys(schema).length === 1;

function* checkErrors(
  schema: Schema,
  path: string,
  skipAnyOf: boolean,
  skipAnyOfOfFirst: boolean,
): NodeFindings {
  if (!skipAnyOf)
    for (const [i, part] of (schema.anyOf ?? []).entries())
      yield* nestedErrors(part, index(child(path, 'anyOf'), i));
  for (const [i, part] of (schema.allOf ?? []).entries())
    yield* nestedErrors(part, index(child(path, 'allOf'), i), skipAnyOfOfFirst && i === 0);
  for (const [i, part] of (schema.oneOf ?? []).entries())
    yield* nestedErrors(part, index(child(path, 'oneOf'), i));
  if (schema.not) yield* nestedErrors(schema.not, child(path, 'not'));
  const problem = schema.pattern && patternProblem(schema);
  if (problem) yield invalid(child(path, 'pattern'), schema.pattern, problem);
}

/** Why the patterns of schemas are invalid; '' when they are valid. */
const patternProblems = new WeakMap<Schema, string>();

function patternProblem(schema: Schema): string {
  let problem = patternProblems.get(schema);
  if (problem === undefined) {
    problem = regexpProblem(schema.pattern!);
    patternProblems.set(schema, problem);
  }
  return problem;
}

function regexpProblem(pattern: string): string {
  try {
    compileRegexp(pattern);
    return '';
  } catch (error) {
    if (!(error instanceof RegexpError)) throw error;
    return `must be a valid regular expression, but isn't: ${error.message}`;
  }
}

/** About how many steps it takes to look at a node, to compile a pattern, and each character of it. */
const nodeSteps = 50;
const patternSteps = 5_000;
const patternCharSteps = 500;

/** Compiles the patterns of a schema, each of which may take long. */
function* preparedPatterns(schema: Schema): Generator<number, void> {
  const { pattern } = schema;
  if (pattern) patternProblem(schema);
  yield pattern ? patternSteps + patternCharSteps * pattern.length : nodeSteps;
  for (const inner of innerSchemas(schema)) yield* preparedPatterns(inner);
}

const mustBeEmpty = [
  'type',
  'title',
  'description',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-validations',
] as const;
const mustBeUndefined = [
  'additionalProperties',
  'default',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
] as const;
const mustBeFalse = [
  'nullable',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
] as const;

/** Inside of allOf, anyOf, oneOf and not. */
function* nestedErrors(schema: Schema, path: string, skipAnyOf = false): NodeFindings {
  yield undefined;
  yield* checkErrors(schema, path, skipAnyOf, false);
  const items = itemsOf(schema);
  if (items) yield* nestedErrors(items, child(path, 'items'));
  const { properties = {} } = schema;
  for (const name of Object.keys(properties))
    yield* nestedErrors(properties[name]!, key(child(path, 'properties'), name));
  for (const name of mustBeEmpty)
    if (schema[name]?.length) yield forbidden(child(path, name), 'must be empty to be structural');
  for (const name of mustBeUndefined)
    if (schema[name] !== undefined && schema[name] !== null)
      yield forbidden(child(path, name), 'must be undefined to be structural');
  for (const name of mustBeFalse)
    if (schema[name]) yield forbidden(child(path, name), 'must be false to be structural');
  if (Object.hasOwn(properties, 'metadata'))
    yield forbidden(key(child(path, 'properties'), 'metadata'), 'must not be specified in a nested context');
}

/** Fields that the checks at the root name, and its skeleton does not. */
function* missingErrors(checks: Schema, skeleton: Schema, path: string, checksPath: string): NodeFindings {
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const)
    for (const [i, part] of (checks[name] ?? []).entries())
      yield* missingInErrors(part, skeleton, path, index(child(checksPath, name), i));
  if (checks.not) yield* missingInErrors(checks.not, skeleton, path, child(checksPath, 'not'));
}

function* missingInErrors(
  checks: Schema,
  skeleton: Schema | undefined,
  path: string,
  checksPath: string,
): NodeFindings {
  yield undefined;
  if (!skeleton) return yield required(path, `because it is defined in ${checksPath}`);
  yield* missingErrors(checks, skeleton, path, checksPath);
  const items = itemsOf(checks);
  if (items)
    yield* missingInErrors(items, itemsOf(skeleton), child(path, 'items'), child(checksPath, 'items'));
  const { properties = {} } = checks;
  for (const name of Object.keys(properties)) {
    const place = key(child(path, 'properties'), name);
    const inChecks = key(child(checksPath, 'properties'), name);
    const known = skeleton.properties;
    yield* missingInErrors(
      properties[name]!,
      known && Object.hasOwn(known, name) ? known[name] : undefined,
      place,
      inChecks,
    );
  }
}
