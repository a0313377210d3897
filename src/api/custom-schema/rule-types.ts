/**
 * Schemas as types of CEL: how rules see values of a schema, and how large these can be. Values are looked at in place;
 * adapters convert them where an expression reaches.
 */

import { type Adapter, anyJson, JsonList, JsonMap, toJson } from '../cel/json-values.ts';
import { parseDate, parseDuration, parseTimestamp } from '../cel/libraries/times.ts';
import type { Budget } from '../cel/values/budget.ts';
import { bool, double, dyn, int, list, map, string, type Type } from '../cel/values/types.ts';
import { CelError, ItemList, type ListValue, MapValue, type Value } from '../cel/values/values.ts';
import type { Schema } from '../model/json-schema.ts';
import { jsonText } from '../text/json-text.ts';
import { isJsonObject, type JsonObject, withSortedKeys } from '../text/object.ts';
import { itemsOf } from './schema-node.ts';

/** Bytes of a request: what has no bound in the schema is bounded by it. */
export const requestBytesMax = 3 * 1024 * 1024;
const unboundedSize = requestBytesMax - 2;

/** The least bytes that values take as JSON. */
const emptyBytes = 2;
const timeSizeMax = 32;
/** Length of a date with its quotes. */
const dateBytes = 12;

export interface RuleType {
  readonly type: Type;
  readonly adapt: Adapter;
  /** Bytes of the smallest value as JSON. */
  readonly bytesMin: number;
}

const plain = new WeakMap<Schema, RuleType | null>();
const resources = new WeakMap<Schema, RuleType | null>();
let objectsMade = 0;

/** Undefined for what rules cannot see: values without a type, and lists and maps of them. */
export function ruleTypeOf(
  schema: Schema,
  isResource = schema['x-kubernetes-embedded-resource'] === true,
): RuleType | undefined {
  const known = isResource ? resources : plain;
  let made = known.get(schema);
  if (made === undefined) {
    made = makeType(isResource ? withTypeAndName(schema) : schema) ?? null;
    known.set(schema, made);
  }
  return made ?? undefined;
}

/**
 * The schema as rules see it: only the names of the metadata of a resource are visible. As in Kubernetes 1.36, what the
 * schema says of them counts only when it names them all.
 */
export function withTypeAndName(schema: Schema): Schema {
  const text: Schema = { type: 'string' };
  const { kind, apiVersion, metadata } = schema.properties ?? {};
  const { name, generateName } = metadata?.properties ?? {};
  const isText = (one: Schema | undefined): boolean => one?.type === 'string';
  if (metadata?.type === 'object' && [kind, apiVersion, name, generateName].every(isText)) return schema;
  const properties = {
    ...schema.properties,
    apiVersion: text,
    kind: text,
    metadata: { type: 'object', properties: { name: text, generateName: text } },
  };
  return { ...schema, properties };
}

function makeType(schema: Schema): RuleType | undefined {
  if (schema['x-kubernetes-int-or-string']) {
    const { maxLength } = schema;
    const sizeMax = maxLength === undefined ? unboundedSize : bytesOf(maxLength);
    return { type: { ...dyn, sizeMax } as Type, adapt: anyJson, bytesMin: 1 };
  }
  switch (schema.type) {
    case 'array':
      return listType(schema);
    case 'object':
      return typeof schema.additionalProperties === 'object'
        ? mapType(schema, schema.additionalProperties)
        : objectType(schema);
    case 'string':
      return textType(schema);
    case 'integer':
      return { type: { ...int, sizeMax: 0 } as Type, adapt: scalar('integer', toInt), bytesMin: 1 };
    case 'number':
      return { type: { ...double, sizeMax: 0 } as Type, adapt: scalar('number', toDouble), bytesMin: 1 };
    case 'boolean':
      return {
        type: { ...bool, sizeMax: 0 } as Type,
        adapt: scalar('boolean', (json) => (typeof json === 'boolean' ? json : undefined)),
        bytesMin: 4,
      };
    default:
      return undefined;
  }
}

function scalar(name: string, read: (json: unknown) => Value | undefined): Adapter {
  return (json) => {
    if (json === null) return null;
    const value = read(json);
    if (value === undefined) throw new CelError(`invalid data, expected a ${name}`);
    return value;
  };
}

function toInt(json: unknown): Value | undefined {
  if (typeof json === 'bigint') return json;
  return typeof json === 'number' && Number.isInteger(json) ? BigInt(json) : undefined;
}

function toDouble(json: unknown): Value | undefined {
  return typeof json === 'number' || typeof json === 'bigint' ? Number(json) : undefined;
}

const toText = (json: unknown): Value | undefined => (typeof json === 'string' ? json : undefined);

const fromText =
  (read: (text: string) => Value | undefined) =>
  (json: unknown): Value | undefined =>
    typeof json === 'string' ? read(json) : undefined;

function textType(schema: Schema): RuleType {
  const sized = (kind: 'timestamp' | 'duration' | 'bytes', sizeMax: number): Type => ({ kind, sizeMax });
  switch (schema.format) {
    case 'date-time':
      return {
        type: sized('timestamp', timeSizeMax),
        adapt: scalar('date-time', fromText(parseTimestamp)),
        bytesMin: 21,
      };
    case 'date':
      return {
        type: sized('timestamp', dateBytes),
        adapt: scalar('date', fromText(parseDate)),
        bytesMin: dateBytes,
      };
    case 'duration':
      return {
        type: sized('duration', timeSizeMax),
        adapt: scalar('duration', fromText(parseDuration)),
        bytesMin: 3,
      };
    case 'byte': {
      const decode = (text: string): Value => new Uint8Array(Buffer.from(text, 'base64'));
      return {
        type: sized('bytes', Math.max(0, Number(schema.maxLength ?? unboundedSize))),
        adapt: scalar('byte', fromText(decode)),
        bytesMin: emptyBytes,
      };
    }
    default:
      return {
        type: { ...string, sizeMax: textSizeMax(schema) } as Type,
        adapt: scalar('string', toText),
        bytesMin: emptyBytes,
      };
  }
}

/** A character takes up to four bytes. */
const bytesOf = (maxLength: number | bigint): number => Math.max(0, Number(maxLength)) * 4;

function textSizeMax(schema: Schema): number {
  if (schema.maxLength !== undefined) return bytesOf(schema.maxLength);
  if (!schema.enum?.length) return unboundedSize;
  return Math.max(...schema.enum.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0)));
}

function listType(schema: Schema): RuleType | undefined {
  const items = itemsOf(schema);
  const item = items && ruleTypeOf(items);
  if (item === undefined) return undefined;
  const sizeMax = Number(schema.maxItems ?? Math.floor(unboundedSize / (item.bytesMin + 1)));
  const make = listMaker(schema, item.adapt);
  const adapt = scalar('array', (json) => (Array.isArray(json) ? make(json) : undefined));
  return { type: list(item.type, Math.max(0, sizeMax)), adapt, bytesMin: emptyBytes };
}

function listMaker(schema: Schema, item: Adapter): (json: readonly unknown[]) => Value {
  if (schema['x-kubernetes-list-type'] === 'set') return (json) => new SetList(json, item);
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] === 'map' && keys) return (json) => new KeyedList(json, item, keys);
  return (json) => new JsonList(json, item);
}

function mapType(schema: Schema, values: Schema): RuleType | undefined {
  const value = ruleTypeOf(values);
  if (value === undefined) return undefined;
  const sizeMax = Number(schema.maxProperties ?? Math.floor(unboundedSize / (value.bytesMin + 6)));
  const adapt = scalar('object', (json) => (isJsonObject(json) ? new JsonMap(json, value.adapt) : undefined));
  return {
    // As by Kubernetes, keys count as empty.
    type: map({ ...string, sizeMax: 0 } as Type, value.type, Math.max(0, sizeMax)),
    adapt,
    bytesMin: emptyBytes,
  };
}

/** A field as rules see it; its name in JSON may differ. */
interface Field {
  readonly name: string;
  readonly type: RuleType;
}

function objectType(schema: Schema): RuleType {
  const fields = new Map<string, Field>();
  const required = new Set(schema.required);
  let bytesMin = emptyBytes;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const type = ruleTypeOf(property);
    if (type === undefined) continue;
    const escaped = escapeName(name);
    if (escaped !== undefined) fields.set(escaped, { name, type });
    if (required.has(name) && (property.default ?? undefined) === undefined)
      bytesMin += Buffer.byteLength(name) + type.bytesMin + 4;
  }
  const name = `selfType${objectsMade++}`;
  return {
    type: {
      kind: 'object',
      name,
      field: (field) => fieldNamed(fields, field)?.type.type,
      sizeMax: 0,
    },
    adapt: scalar('object', (json) => (isJsonObject(json) ? new SchemaObject(json, fields) : undefined)),
    bytesMin,
  };
}

/** Words of the language are known under their plain names, too. */
function fieldNamed(fields: ReadonlyMap<string, Field>, name: string): Field | undefined {
  return fields.get(name) ?? (keywords.has(name) ? fields.get(`__${name}__`) : undefined);
}

class SchemaObject extends MapValue {
  readonly #json: JsonObject;
  readonly #fields: ReadonlyMap<string, Field>;

  constructor(json: JsonObject, fields: ReadonlyMap<string, Field>) {
    super();
    this.#json = json;
    this.#fields = fields;
  }

  get size(): number {
    return this.keys().length;
  }

  find(key: Value): Value | undefined {
    const field = typeof key === 'string' ? fieldNamed(this.#fields, key) : undefined;
    if (field === undefined || !Object.hasOwn(this.#json, field.name)) return undefined;
    const json = this.#json[field.name];
    return json === undefined ? undefined : field.type.adapt(json);
  }

  keys(): readonly Value[] {
    return Array.from(this.#fields.keys()).filter((key) => this.find(key) !== undefined);
  }
}

const keywords = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The name of a field in expressions: names that are no identifiers are escaped; undefined when that is not possible. */
function escapeName(name: string): string | undefined {
  if (keywords.has(name)) return `__${name}__`;
  const escaped = name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
  return identifier.test(escaped) && !/^[-./]/.test(name) ? escaped : undefined;
}

/** The same text for values that are equal. */
function textOf(value: Value): string {
  return jsonText(withSortedKeys(toJson(value)));
}

/** Characters of a text that is made for a comparison, for each step that is charged. */
const charsPerStep = 2;

function chargedText(value: Value, budget: Budget | undefined): string {
  const text = textOf(value);
  budget?.charge(1 + text.length / charsPerStep);
  return text;
}

/** Equal whatever the order; adding keeps each item once. */
class SetList extends JsonList {
  override equals(other: ListValue, budget?: Budget): boolean {
    if (this.size !== other.size) return false;
    const text = (item: Value): string => chargedText(item, budget);
    const mine = new Set(Array.from(this, text));
    return Array.from(other, text).every((theirs) => mine.has(theirs));
  }

  override concat(other: ListValue): ListValue {
    const items = [...this];
    const known = new Set(items.map(textOf));
    for (const item of other) {
      const text = textOf(item);
      if (!known.has(text)) items.push(item);
      known.add(text);
    }
    return new ItemList(items);
  }
}

/** Items are the same by their keys; adding replaces those that are there. */
class KeyedList extends JsonList {
  readonly #keys: readonly string[];

  constructor(json: readonly unknown[], item: Adapter, keys: readonly string[]) {
    super(json, item);
    this.#keys = keys;
  }

  #key(item: Value): string {
    if (!(item instanceof MapValue)) return textOf(item);
    return jsonText(
      this.#keys.map((key) => {
        const value = item.find(escapeName(key) ?? key);
        return value === undefined ? null : toJson(value);
      }),
    );
  }

  override equals(other: ListValue, budget?: Budget): boolean {
    if (this.size !== other.size) return false;
    const text = (item: Value): string => chargedText(item, budget);
    const mine = new Map(Array.from(this, (item) => [this.#key(item), text(item)]));
    return [...other].every((item) => mine.get(this.#key(item)) === text(item));
  }

  override concat(other: ListValue): ListValue {
    const items = new Map(Array.from(this, (item) => [this.#key(item), item]));
    for (const item of other) items.set(this.#key(item), item);
    return new ItemList([...items.values()]);
  }
}
