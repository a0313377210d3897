/**
 * Random objects made from the field tables: arbitrary ones, full ones, and the same after a round trip through
 * protobuf.
 */
import fc from 'fast-check';
import type { JsonObject } from '../text/object.ts';
import type { Field, Model } from './model.ts';

const arbitraries = new Map<Model, fc.Arbitrary<JsonObject>>();

/** Whether objects of a model can be made from its table: not where a schema is in a schema. */
export function isFlat(model: Model, above: readonly Model[] = []): boolean {
  if (above.includes(model)) return false;
  return [...model.fields.values()].every((field) => {
    const inner = field.items ?? field.values ?? field;
    return inner.type !== 'union' && (inner.type !== 'model' || isFlat(inner.model, [...above, model]));
  });
}

export function arbitraryObject(model: Model): fc.Arbitrary<JsonObject> {
  let arbitrary = arbitraries.get(model);
  if (!arbitrary) {
    const fields = [...model.fields.values()].filter((field) => field.pb.length > 0);
    const record = Object.fromEntries(fields.map((field) => [field.name, arbitraryValue(field)]));
    arbitrary = fc.record(record, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
    arbitraries.set(model, arbitrary);
  }
  return arbitrary;
}

const text = fc.oneof(
  fc.constantFrom('', 'a', '__proto__', 'app.kubernetes.io/name', '🛶 é'),
  fc.string({ unit: 'grapheme' }),
);
const int32 = fc.oneof(fc.constant(0), fc.integer());
const seconds = fc.integer({ min: -62_000_000_000, max: 253_402_300_799 });
const timeOf = (each: number) => `${new Date(each * 1000).toISOString().slice(0, 19)}Z`;

function arbitraryValue(field: Field): fc.Arbitrary<unknown> {
  switch (field.type) {
    case 'model':
      return arbitraryObject(field.model);
    case 'array':
      return fc.array(arbitraryValue(field.items!), { maxLength: 2 });
    case 'map':
      return fc.dictionary(text, arbitraryValue(field.values!), { maxKeys: 3 });
    case 'string':
      return text;
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return field.definition.format === 'int32'
        ? int32
        : fc.oneof(int32, fc.maxSafeInteger(), fc.constantFrom(Number.MAX_SAFE_INTEGER, -1));
    case 'time':
      return fc.oneof(fc.constant(null), seconds.map(timeOf));
    case 'microtime':
      return fc
        .tuple(seconds, fc.nat(999_999))
        .map(([each, micros]) => timeOf(each).replace('Z', `.${String(micros).padStart(6, '0')}Z`));
    case 'quantity':
      return fc.constantFrom('0', '1', '500m', '1Gi', '-2', '1e3');
    case 'int-or-string':
      return fc.oneof(int32, text);
    case 'raw':
      // A round trip, because JSON has no -0.
      return fc
        .dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 })
        .map((value) => JSON.parse(JSON.stringify(value)));
    case 'bytes':
      return fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64'));
    default:
      throw new Error(`no arbitrary for ${field.type}`);
  }
}

/** Every field set, to a value that is not dropped. */
function fullValue(field: Field): unknown {
  if (field.type === 'model') return fullObject(field.model);
  if (field.type === 'array') return [fullValue(field.items!)];
  if (field.type === 'map') return { a: fullValue(field.values!), b: fullValue(field.values!) };
  const values = {
    string: field.name || 'item',
    boolean: true,
    integer: -7,
    time: '2026-11-15T00:06:29Z',
    microtime: '2026-11-15T00:06:29.000123Z',
    quantity: '100m',
    'int-or-string': 'http',
    raw: { 'f:metadata': { 'f:labels': {} } },
    bytes: 'AAH/',
    number: undefined,
    union: undefined,
  };
  return values[field.type];
}

export function fullObject(model: Model): JsonObject {
  const fields = [...model.fields.values()].filter((field) => field.pb.length > 0);
  return Object.fromEntries(fields.map((field) => [field.name, fullValue(field)]));
}

/** Lists in a message of their own, which is written also without items: Verbs. */
const isWrapped = ({ type, definition }: Field): boolean =>
  type === 'array' && !String(definition.pb?.at(-1)).startsWith('repeated ');

/** What is left of an object after the dropping rules. */
export function dropped(model: Model, value: JsonObject): JsonObject {
  const entries = Object.entries(value).flatMap(([name, each]): [string, unknown][] => {
    const field = model.fields.get(name)!;
    if (each === null) return [];
    if (field.type === 'model') return [[name, dropped(field.model, each as JsonObject)]];
    if (field.type === 'array' || field.type === 'map') {
      if (Object.keys(each as object).length === 0) return isWrapped(field) ? [[name, each]] : [];
      if (field.items?.type === 'model')
        return [[name, (each as JsonObject[]).map((item) => dropped(field.items!.model, item))]];
      return [
        [name, field.values?.type === 'model' ? droppedMap(field.values.model, each as JsonObject) : each],
      ];
    }
    if (!field.ptr && (each === '' || each === 0 || each === false)) return [];
    return [[name, each]];
  });
  return Object.fromEntries(entries);
}

const droppedMap = (model: Model, map: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(map).map(([name, value]) => [name, dropped(model, value as JsonObject)]));
