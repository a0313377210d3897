/** Questions about a whole schema: every schema inside of it is visited, also in places that definitions may not use. */
import type { Schema } from '../model/json-schema.ts';

const none: readonly Schema[] = [];

/** The schemas directly inside of a schema. Most have none: a list is made only for others. */
export function innerSchemas(schema: Schema): readonly Schema[] {
  const { items, properties, additionalProperties, allOf, anyOf, oneOf, not } = schema;
  const { additionalItems, patternProperties, definitions, dependencies } = schema;
  if (
    !(items || properties || additionalProperties || allOf || anyOf || oneOf || not) &&
    !(additionalItems || patternProperties || definitions || dependencies)
  )
    return none;
  const inner: Schema[] = Array.isArray(items) ? [...items] : items ? [items as Schema] : [];
  for (const list of [allOf, anyOf, oneOf]) for (const one of list ?? []) inner.push(one);
  if (not) inner.push(not);
  for (const map of [properties, patternProperties, definitions])
    if (map) for (const name of Object.keys(map)) inner.push(map[name]!);
  if (typeof additionalProperties === 'object') inner.push(additionalProperties);
  if (typeof additionalItems === 'object') inner.push(additionalItems);
  for (const needed of Object.values(dependencies ?? {})) if (!Array.isArray(needed)) inner.push(needed);
  return inner;
}

export function someSchema(schema: Schema, test: (schema: Schema) => boolean): boolean {
  if (test(schema)) return true;
  for (const inner of innerSchemas(schema)) if (someSchema(inner, test)) return true;
  return false;
}

/** Whether schemas are nested deeper than that. Does not recurse, so any depth is safe. */
export function isDeeper(schema: Schema, depthMax: number): boolean {
  let level: Schema[] = [schema];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth >= depthMax) return true;
    level = level.flatMap(innerSchemas);
  }
  return false;
}
