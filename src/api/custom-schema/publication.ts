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

type Form = 'v2' | 'v3';

const intOrString = [{ type: 'integer' }, { type: 'string' }] as const;

/** The model of a kind. Its group, version and kind, and selectable fields, are added by the document. */
export function publishedSchema(schema: Schema, form: Form, meta: PublishedMeta): JsonObject {
  // Clients take named fields for all that there are, so version 2 names none where there may be others.
  if (form === 'v2' && schema['x-kubernetes-preserve-unknown-fields']) return { type: 'object' };
  const out = published(schema, form, meta);
  out.properties = { ...(out.properties as JsonObject | undefined), ...meta };
  return out;
}

function published(schema: Schema, form: Form, meta: PublishedMeta): JsonObject {
  if (form === 'v2' && (schema.nullable || schema['x-kubernetes-preserve-unknown-fields']))
    return opaque(schema);
  const out: JsonObject = {};
  for (const name of Object.keys(schema) as (keyof Schema)[]) {
    const value = publishedKeyword(schema, name, form, meta);
    if (value !== undefined) out[name] = value;
  }
  if (form === 'v3' && schema['x-kubernetes-int-or-string'] && !schema.allOf) out.anyOf ??= intOrString;
  if (schema['x-kubernetes-embedded-resource']) embed(out, meta);
  return out;
}

/** The schema that OpenAPI 2 shows for a node whose values it cannot describe. */
function opaque(schema: Schema): JsonObject {
  const out: JsonObject = {};
  for (const name of Object.keys(schema) as (keyof Schema)[])
    if (name === 'description' || name === 'title' || (name.startsWith('x-kubernetes-') && !schema.nullable))
      out[name] = schema[name];
  return out;
}

function publishedKeyword(schema: Schema, name: keyof Schema, form: Form, meta: PublishedMeta): unknown {
  const one = (inner: Schema): JsonObject => published(inner, form, meta);
  switch (name) {
    case 'properties':
      return publishedMap(schema.properties!, one);
    case 'items':
      return Array.isArray(schema.items) ? schema.items.map(one) : one(schema.items!);
    case 'additionalProperties':
      return typeof schema.additionalProperties === 'object'
        ? one(schema.additionalProperties)
        : schema.additionalProperties;
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return form === 'v3' ? schema[name]!.map(one) : undefined;
    case 'not':
      return form === 'v3' ? one(schema.not!) : undefined;
    default:
      return schema[name] ?? undefined;
  }
}

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
