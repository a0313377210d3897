/** Rules about `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and `x-kubernetes-map-type` in a schema. */
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  key,
  notSupported,
  required,
} from '../errors/field-error.ts';
import type { Schema } from '../model/json-schema.ts';
import { innerItemsText } from './inner-form.ts';
import { itemsOf } from './schema-node.ts';

const listTypes: readonly string[] = ['atomic', 'set', 'map'];
const mapTypes: readonly string[] = ['atomic', 'granular'];

const listTypeOf = (schema: Schema): string | undefined => schema['x-kubernetes-list-type'];
const mapTypeOf = (schema: Schema): string | undefined => schema['x-kubernetes-map-type'];

function* typeNeeded(schema: Schema, type: string, extension: string, path: string): Generator<FieldError> {
  const text = `must be ${type} if ${extension} is specified`;
  if (schema.type !== type)
    yield schema.type ? invalid(child(path, 'type'), schema.type, text) : required(child(path, 'type'), text);
}

export function* mapTypeErrors(schema: Schema, path: string): Generator<FieldError> {
  const mapType = mapTypeOf(schema);
  if (mapType === undefined) return;
  yield* typeNeeded(schema, 'object', 'x-kubernetes-map-type', path);
  if (!mapTypes.includes(mapType))
    yield notSupported(child(path, 'x-kubernetes-map-type'), mapType, mapTypes);
}

export function* listTypeRuleErrors(
  schema: Schema,
  path: string,
  atomicSets: boolean,
): Generator<FieldError> {
  const listType = listTypeOf(schema);
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const field = child(path, 'x-kubernetes-list-type');
  if (listType !== undefined) {
    yield* typeNeeded(schema, 'array', 'x-kubernetes-list-type', path);
    if (schema.type === 'array' && atomicSets) yield* setErrors(schema, path);
    if (!listTypes.includes(listType)) yield notSupported(field, listType, listTypes);
  }
  if (keys.length && listType !== 'map') {
    const text = 'must be map if x-kubernetes-list-map-keys is non-empty';
    yield listType === undefined ? required(field, text) : invalid(field, listType, text);
  }
  if (listType === 'map') yield* keyedErrors(schema, keys, path);
}

/** Items of sets are owned as a whole. */
export function* setErrors(schema: Schema, path: string): Generator<FieldError> {
  const items = itemsOf(schema);
  if (listTypeOf(schema) !== 'set' || !items) return;
  const text = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const listType = listTypeOf(items);
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic')
    yield invalid(child(path, 'items.x-kubernetes-list-type'), listType, text);
  if (items.type === 'object' && mapTypeOf(items) !== 'atomic')
    yield invalid(child(path, 'items.x-kubernetes-map-type'), listType ?? null, text);
}

function* keyedErrors(schema: Schema, keys: readonly string[], path: string): Generator<FieldError> {
  const field = child(path, 'x-kubernetes-list-map-keys');
  const itemsField = child(path, 'items');
  if (!keys.length) yield required(field, 'must not be empty if x-kubernetes-list-type is map');
  if (!schema.items) yield required(itemsField, 'must have a schema if x-kubernetes-list-type is map');
  if (Array.isArray(schema.items))
    yield {
      field: itemsField,
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${innerItemsText(schema.items)}: must only have a single schema if x-kubernetes-list-type is map`,
    };
  const items = itemsOf(schema);
  if (!items) return;
  if (items.type !== 'object') {
    const text = "must be object if parent array's x-kubernetes-list-type is map";
    yield invalid(child(itemsField, 'type'), items.type ?? '', text);
    return;
  }
  const seen = new Set<string>();
  for (const name of keys) {
    const property = propertyOf(items, name);
    if (!property) yield invalid(field, keys, 'entries must all be names of item properties');
    else if (property.type === 'array' || property.type === 'object')
      yield invalid(
        child(key(child(itemsField, 'properties'), name), 'type'),
        items.type,
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
      );
    if (seen.has(name)) yield invalid(field, keys, 'must not contain duplicate entries');
    seen.add(name);
  }
}

const propertyOf = ({ properties }: Schema, name: string): Schema | undefined =>
  properties && Object.hasOwn(properties, name) ? properties[name] : undefined;

/** Keys tell items apart, so each is always there. */
export function* keyPresenceErrors(schema: Schema, path: string): Generator<FieldError> {
  const listType = listTypeOf(schema);
  const items = itemsOf(schema);
  if (!items || (listType !== 'set' && listType !== 'map')) return;
  const itemsField = child(path, 'items');
  if (items.nullable)
    yield forbidden(
      child(itemsField, 'nullable'),
      `cannot be nullable when x-kubernetes-list-type is ${listType}`,
    );
  if (listType === 'set') return;
  const always = new Set(items.required);
  for (const name of schema['x-kubernetes-list-map-keys'] ?? []) {
    const property = propertyOf(items, name);
    if (!property) continue;
    const field = key(child(itemsField, 'properties'), name);
    if (!always.has(name) && (property.default ?? undefined) === undefined)
      yield required(
        child(field, 'default'),
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      );
    if (property.nullable)
      yield forbidden(
        child(field, 'nullable'),
        'this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
      );
  }
}
