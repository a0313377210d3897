/** Questions about a whole schema: every schema inside of it is visited, also in places that definitions may not use. */
import type { Schema } from './schema.ts';

/** The schemas directly inside of a schema. */
export function* innerSchemas(schema: Schema): Generator<Schema> {
  const { items, additionalProperties, additionalItems, not } = schema;
  if (Array.isArray(items)) yield* items;
  else if (items) yield items;
  for (const list of [schema.allOf, schema.anyOf, schema.oneOf]) if (list) yield* list;
  if (not) yield not;
  for (const map of [schema.properties, schema.patternProperties, schema.definitions])
    if (map) yield* Object.values(map);
  if (typeof additionalProperties === 'object') yield additionalProperties;
  if (typeof additionalItems === 'object') yield additionalItems;
  for (const needed of Object.values(schema.dependencies ?? {})) if (!Array.isArray(needed)) yield needed;
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
    level = level.flatMap((one) => [...innerSchemas(one)]);
  }
  return false;
}
