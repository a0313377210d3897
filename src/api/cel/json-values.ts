/** JSON as CEL values: looked at in place, converted where an expression reaches. And CEL values as JSON. */
import { type JsonObject, setKey } from '../text/object.ts';
import { durationText, timestampText } from './libraries/times.ts';
import {
  CelError,
  Duration,
  ListValue,
  MapValue,
  Optional,
  Timestamp,
  typeName,
  Uint,
  type Value,
} from './values/values.ts';

/** Makes a value of the JSON at one place. */
export type Adapter = (json: unknown) => Value;

/** JSON without a schema: whole numbers are ints. */
export const anyJson: Adapter = (json) => {
  switch (typeof json) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return json;
    case 'number':
      return Number.isSafeInteger(json) ? BigInt(json) : json;
    case 'object':
      if (json === null) return null;
      return Array.isArray(json) ? new JsonList(json, anyJson) : new JsonMap(json as JsonObject, anyJson);
    default:
      return null;
  }
};

export class JsonList extends ListValue {
  readonly json: readonly unknown[];
  readonly #item: Adapter;

  constructor(json: readonly unknown[], item: Adapter) {
    super();
    this.json = json;
    this.#item = item;
  }

  get size(): number {
    return this.json.length;
  }

  at(index: number): Value {
    return this.#item(this.json[index]);
  }
}

export class JsonMap extends MapValue {
  readonly #json: JsonObject;
  readonly #value: Adapter;

  constructor(json: JsonObject, value: Adapter) {
    super();
    this.#json = json;
    this.#value = value;
  }

  get size(): number {
    return Object.keys(this.#json).length;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#json, key)) return undefined;
    const json = this.#json[key];
    return json === undefined ? undefined : this.#value(json);
  }

  keys(): readonly Value[] {
    return Object.keys(this.#json);
  }
}

/** Converts a value to JSON. Throws a CelError for values that JSON cannot represent. */
export function toJson(value: Value): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (value instanceof Uint) return toJson(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value);
  if (value instanceof ListValue) return Array.from(value, toJson);
  if (value instanceof MapValue) {
    const out: JsonObject = {};
    for (const key of value.keys()) setKey(out, jsonKey(key), toJson(value.find(key) as Value));
    return out;
  }
  throw new CelError(`${typeName(value)} cannot be converted to JSON`);
}

function jsonKey(key: Value): string {
  if (typeof key === 'string') return key;
  if (typeof key === 'bigint' || typeof key === 'boolean') return String(key);
  throw new CelError(`${typeName(key)} cannot be a key of JSON`);
}
