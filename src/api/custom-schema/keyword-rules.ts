/** Rules about single keywords of a schema, wherever in it they stand. */
import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  key,
  notSupported,
} from '../errors/field-error.ts';
import type { Schema } from '../model/json-schema.ts';
import type { NodeFindings } from './bounded-errors.ts';
import { keyPresenceErrors, listTypeRuleErrors, mapTypeErrors } from './list-rules.ts';
import { ruleFormErrors } from './rule-form.ts';
import { isMetaField } from './schema-node.ts';

const types: readonly string[] = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/** Rules that an older definition may have broken; then the new one may, too. */
export interface KeywordRules {
  readonly validTypes: boolean;
  readonly atomicSets: boolean;
  readonly keyPresence: boolean;
}

/** Where in the schema a node is. */
interface Place {
  /** In the metadata or type of the object, or of an embedded one. */
  readonly inMeta: boolean;
  /** Why there may be no defaults; undefined when there may. */
  readonly noDefaults: string | undefined;
}

export function* keywordErrors(schema: Schema, path: string, rules: KeywordRules): NodeFindings {
  yield* nodeErrors(schema, path, rules, { inMeta: false, noDefaults: undefined }, true);
}

function* nodeErrors(
  schema: Schema,
  path: string,
  rules: KeywordRules,
  place: Place,
  isRoot = false,
): NodeFindings {
  yield undefined;
  yield* ownErrors(schema, path, rules, place);
  yield* entryErrors(schema, path, rules, place, isRoot);
  const nested = function* (inner: Schema | undefined, innerPath: string): NodeFindings {
    if (inner) yield* nodeErrors(inner, innerPath, rules, place);
  };
  yield* nested(schema.not, child(path, 'not'));
  for (const name of ['allOf', 'oneOf', 'anyOf'] as const)
    for (const [i, inner] of (schema[name] ?? []).entries())
      yield* nested(inner, index(child(path, name), i));
  for (const [name, inner] of Object.entries(schema.definitions ?? {}))
    yield* nested(inner, key(child(path, 'definitions'), name));
  if (Array.isArray(schema.items))
    for (const [i, inner] of schema.items.entries()) yield* nested(inner, index(child(path, 'items'), i));
  else yield* nested(schema.items, child(path, 'items'));
  for (const [name, inner] of Object.entries(schema.dependencies ?? {}))
    if (!Array.isArray(inner)) yield* nested(inner, key(child(path, 'dependencies'), name));
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    yield invalid(child(path, 'x-kubernetes-preserve-unknown-fields'), false, 'must be true or undefined');
  yield* mapTypeErrors(schema, path);
  yield* listTypeRuleErrors(schema, path, rules.atomicSets);
  if (rules.keyPresence) yield* keyPresenceErrors(schema, path);
  yield* ruleFormErrors(schema, path);
}

function* entryErrors(
  schema: Schema,
  path: string,
  rules: KeywordRules,
  place: Place,
  isRoot: boolean,
): NodeFindings {
  const { properties = {}, additionalProperties: additional } = schema;
  const names = Object.keys(properties);
  const field = child(path, 'additionalProperties');
  if (additional !== undefined && additional !== true && names.length)
    yield forbidden(field, 'additionalProperties and properties are mutual exclusive');
  if (typeof additional === 'object') {
    const noDefaults = 'inside additionalProperties applying to object metadata';
    yield* nodeErrors(additional, field, rules, place.inMeta ? { ...place, noDefaults } : place);
  }
  for (const name of names) {
    const inMeta = (isRoot || schema['x-kubernetes-embedded-resource'] === true) && isMetaField(name);
    const noDefaults = inMeta && isRoot ? `in top-level ${name}` : place.noDefaults;
    yield* nodeErrors(
      properties[name]!,
      key(child(path, 'properties'), name),
      rules,
      inMeta ? { inMeta, noDefaults } : place,
    );
  }
}

const unsupported = [
  'id',
  'additionalItems',
  'patternProperties',
  'definitions',
  'dependencies',
  '$ref',
] as const;

/** Whether a schema uses what structural schemas have no place for; then only that is reported. */
export const usesUnsupported = (schema: Schema): boolean =>
  schema.type === 'null' || Array.isArray(schema.items) || unsupported.some((name) => isUsed(schema, name));

/** Go's zero values count as unset; of these, the first are values and the others pointers. */
function isUsed(schema: Schema, name: (typeof unsupported)[number]): boolean {
  const value = schema[name] ?? undefined;
  if (name === 'id') return value !== undefined && value !== '';
  if (name === 'patternProperties' || name === 'definitions') return Object.keys(value ?? {}).length > 0;
  return value !== undefined;
}

export const hasValidType = ({ type }: Schema): boolean => !type || types.includes(type);

function* ownErrors(schema: Schema, path: string, rules: KeywordRules, place: Place): Generator<FieldError> {
  const typeField = child(path, 'type');
  if (rules.validTypes && !hasValidType(schema)) yield notSupported(typeField, schema.type, types);
  if (place.noDefaults !== undefined && (schema.default ?? undefined) !== undefined)
    yield forbidden(child(path, 'default'), `must not be set ${place.noDefaults}`);
  for (const name of unsupported)
    if (isUsed(schema, name)) yield forbidden(child(path, name), `${name} is not supported`);
  if (schema.type === 'null')
    yield forbidden(typeField, 'type cannot be set to null, use nullable as an alternative');
  if (Array.isArray(schema.items))
    yield forbidden(child(path, 'items'), 'items must be a schema object and not an array');
  if (place.inMeta && schema['x-kubernetes-embedded-resource'])
    yield forbidden(
      child(path, 'x-kubernetes-embedded-resource'),
      'must not be used inside of resource meta',
    );
  if (schema.uniqueItems)
    yield forbidden(
      child(path, 'uniqueItems'),
      'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    );
}
