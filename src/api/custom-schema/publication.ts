/**
 * Custom schemas as OpenAPI shows them. Version 3 has the schema as it is, with what Kubernetes adds to whole and
 * embedded objects. Version 2 has no alternatives and no null: such nodes show less.
 */

import type { Schema } from '../model/json-schema.ts';
import { type JsonObject, setKey } from '../text/object.ts';

/** The schemas of the fields that every object has, as the OpenAPI document defines them. */
export interface PublishedMeta {
  readonly apiVersion: JsonObject;
  readonly kind: JsonObject;
  readonly metadata: JsonObject;
}

/** Where a schema is published. */
interface Place {
  readonly form: 'v2' | 'v3';
  readonly meta: PublishedMeta;
  /** Documents of Kubernetes have no defaults in version 2. */
  readonly hasDefaults: boolean;
}

const intOrString = [{ type: 'integer' }, { type: 'string' }] as const;

/** The model of a kind. Its group, version and kind, and selectable fields, are added by the document. */
export function publishedSchema(
  schema: Schema,
  form: Place['form'],
  meta: PublishedMeta,
  hasDefaults = true,
): JsonObject {
  // Clients take named fields for all that there are, so version 2 names none where there may be others.
  if (form === 'v2' && schema['x-kubernetes-preserve-unknown-fields']) return { type: 'object' };
  const out = published(schema, { form, meta, hasDefaults });
  out.properties = { ...(out.properties as JsonObject | undefined), ...meta };
  return out;
}

function published(schema: Schema, place: Place): JsonObject {
  const { form, meta, hasDefaults } = place;
  const hidden = form === 'v2' ? hiddenIn(schema, hasDefaults) : none;
  const out: JsonObject = {};
  for (const name of Object.keys(schema) as (keyof Schema)[]) {
    const value = hidden.has(name) ? undefined : publishedKeyword(schema, name, place);
    if (value !== undefined) out[name] = value;
  }
  if (form === 'v3' && schema['x-kubernetes-int-or-string'] && !schema.allOf) out.anyOf ??= intOrString;
  const isOpen = form === 'v2' && schema['x-kubernetes-preserve-unknown-fields'];
  if (schema['x-kubernetes-embedded-resource'] && !isOpen) embed(out, meta);
  return out;
}

const none: ReadonlySet<keyof Schema> = new Set();

/** Keywords that OpenAPI 2 lacks, or whose meaning clients would get wrong there. */
function hiddenIn(schema: Schema, hasDefaults: boolean): ReadonlySet<keyof Schema> {
  const { nullable, type } = schema;
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const hidden = new Set<keyof Schema>(['allOf', 'anyOf', 'not', 'nullable', 'oneOf']);
  if (nullable || !hasDefaults) hidden.add('default');
  if (nullable || isOpen) hidden.add('items').add('properties');
  const isBareList = type === 'array' && (!schema.items || isOpen);
  if (nullable || isBareList || (isOpen && type === 'object')) hidden.add('type');
  return hidden;
}

/** Required fields; OpenAPI 2 does not require what may be null. */
function requiredIn(schema: Schema, { form }: Place): readonly string[] {
  const { additionalProperties: values, nullable, properties = {}, required = [] } = schema;
  if (form === 'v3') return required;
  const showsFields = !nullable && !schema['x-kubernetes-preserve-unknown-fields'];
  if (typeof values === 'object' && values.nullable) return [];
  const mayBeNull = (name: string) => Object.hasOwn(properties, name) && properties[name]!.nullable;
  return showsFields ? required.filter((name) => !mayBeNull(name)) : required;
}

function publishedKeyword(schema: Schema, name: keyof Schema, place: Place): unknown {
  const one = (inner: Schema): JsonObject => published(inner, place);
  switch (name) {
    case 'properties':
      return Object.keys(schema.properties!).length === 0 ? undefined : publishedMap(schema.properties!, one);
    case 'items':
      return Array.isArray(schema.items) ? schema.items.map(one) : one(schema.items!);
    case 'additionalProperties':
      return typeof schema.additionalProperties === 'object'
        ? one(schema.additionalProperties)
        : schema.additionalProperties;
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return schema[name]!.map(one);
    case 'not':
      return one(schema.not!);
    case 'required': {
      const required = requiredIn(schema, place);
      return required.length ? required : undefined;
    }
    case 'default':
    case 'example':
      return schema[name] ?? undefined;
    default:
      return saysNothing(schema[name]) ? undefined : schema[name];
  }
}

/** Keywords with such a value are not written by Kubernetes. */
const saysNothing = (value: unknown): boolean =>
  !(value || value === 0) || (Array.isArray(value) && value.length === 0);

function publishedMap(
  schemas: Readonly<Record<string, Schema>>,
  one: (schema: Schema) => JsonObject,
): JsonObject {
  const out: JsonObject = {};
  for (const name of Object.keys(schemas)) setKey(out, name, one(schemas[name]!));
  return out;
}

/** An embedded resource has the fields of a whole one. */
function embed(out: JsonObject, meta: PublishedMeta): void {
  out.properties = { ...(out.properties as JsonObject | undefined), ...meta };
  const required = (out.required as string[] | undefined) ?? [];
  out.required = [...required, ...['kind', 'apiVersion'].filter((name) => !required.includes(name))];
}
