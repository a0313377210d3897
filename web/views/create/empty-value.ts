/** Values of forms: what a new field begins with, and changes of a value at a path. */
import type { Json } from '../../core/objects.ts';
import type { KindSchema, Path, Schema } from '../../core/schema.ts';

/** Maximum depth of objects that are added automatically; deeper ones are added by hand. */
const depthMax = 6;

/** An object with its required fields; undefined for a plain value, which the user fills in. */
export function emptyValue(schemas: KindSchema, schema: Schema, depth = 0): Json {
  const { properties, items, required = [], additionalProperties } = schemas.resolve(schema);
  if (items) return depth < depthMax ? [emptyValue(schemas, items, depth + 1)] : [];
  if (properties) {
    const value: Record<string, Json> = {};
    if (depth < depthMax)
      for (const name of required)
        if (properties[name]) value[name] = emptyValue(schemas, properties[name], depth + 1);
    return value;
  }
  return additionalProperties ? {} : undefined;
}

/** A copy with another value at a path; undefined removes the field. */
export function withValue(whole: Json, [step, ...rest]: Path, value: Json): Json {
  if (step === undefined) return value;
  if (Array.isArray(whole))
    return whole.map((item, at) => (at === step ? withValue(item, rest, value) : item));
  return { ...whole, [step]: withValue(whole?.[step], rest, value) };
}

/**
 * The value without fields that were not filled in, and without objects that are empty because of that. Empty text that
 * is also in `written` was written on purpose and stays.
 */
export function filled(value: Json, written?: Json): Json {
  if (Array.isArray(value))
    return value.map((item, at) => filled(item, written?.[at])).filter((item) => item !== undefined);
  if (value === null || typeof value !== 'object') return value === '' && written !== '' ? undefined : value;
  const entries = Object.entries(value).map(([name, each]) => [name, filled(each, written?.[name])] as const);
  const kept = entries.filter(([, each]) => each !== undefined);
  return kept.length === 0 && entries.length > 0 ? undefined : Object.fromEntries(kept);
}

/** What was written into a text that began as `blank(begun)`: without null, and without empty texts that were in `begun`. */
export function written(value: Json, begun: Json): Json {
  if (Array.isArray(value)) return value.map((item, at) => written(item, begun?.[at]));
  if (value === null || typeof value !== 'object') return value ?? undefined;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      const isBlank = each === '' && begun && Object.hasOwn(begun, name) && !begun[name];
      return [name, isBlank ? undefined : written(each, begun?.[name])];
    }),
  );
}

/** The value with empty text for fields that are to be filled in. */
export function blank(value: Json): Json {
  if (Array.isArray(value)) return value.map(blank);
  if (value === null || typeof value !== 'object') return value ?? '';
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, blank(each)]));
}

/** A path as the server writes it in messages. */
export const fieldText = (path: Path): string =>
  path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text ? `${text}.${step}` : step),
    '',
  );
