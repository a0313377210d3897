/** A value that fits a schema: of objects the required fields, of plain values the simplest that is allowed. */
import type { Json } from '../../core/objects.ts';
import type { KindSchema, Schema } from '../../core/schema.ts';

/** Deeper objects are left empty. */
const depthMax = 8;

export function sampleValue(schemas: KindSchema, schema: Schema, name: string, depth = 0): Json {
  const found = schemas.resolve(schema);
  const { type, properties, items, required = [], additionalProperties, minimum, minLength = 0 } = found;
  if (found.default !== undefined && typeof found.default !== 'object') return found.default;
  if (found.enum?.length) return found.enum[0];
  if (items) return depth < depthMax ? [sampleValue(schemas, items, name, depth + 1)] : [];
  if (properties)
    return Object.fromEntries(
      (depth < depthMax ? required : [])
        .filter((field) => properties[field])
        .map((field) => [field, sampleValue(schemas, properties[field]!, field, depth + 1)]),
    );
  if (additionalProperties || type === 'object') return {};
  if (type === 'boolean') return false;
  if (type === 'integer' || type === 'number') return minimum ?? 1;
  if (found['x-kubernetes-int-or-string']) return 1;
  if (found.format === 'date-time') return '2030-01-01T00:00:00Z';
  if (found.format === 'uri') return 'https://example.com';
  return 'example'.padEnd(minLength, 'x');
}
