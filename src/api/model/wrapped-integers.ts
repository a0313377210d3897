/**
 * Integers that do not fit their fields. Kubernetes converts an applied object as Go converts numbers, so of one that is
 * too large the lowest bits remain; numbers with a fraction are refused. Floating point fields take the nearest number.
 */

import { isJsonObject, type JsonObject, setKey } from '../text/object.ts';
import type { Field, Model } from './model.ts';

const int64Min = -(2n ** 63n);

/** The object with such integers replaced. */
export function withWrappedIntegers(model: Model, object: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const name of Object.keys(object)) {
    const field = model.fields.get(name);
    setKey(out, name, field ? wrappedValue(field, object[name]) : object[name]);
  }
  return out;
}

function wrappedValue(field: Field, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = field.type === 'union' ? field : field.items;
    return items ? value.map((item) => wrappedValue(items, item)) : value;
  }
  if (isJsonObject(value)) {
    if (field.type === 'model' || field.type === 'union') return withWrappedIntegers(field.model, value);
    const { values } = field;
    if (field.type !== 'map' || !values) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, wrappedValue(values, inner)]),
    );
  }
  if (field.type === 'number' && typeof value === 'bigint') return Number(value);
  return field.type === 'integer' ? wrappedInteger(value, field.int32 ? 32 : 64) : value;
}

function wrappedInteger(value: unknown, bits: 32 | 64): unknown {
  if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isInteger(value))) return value;
  const whole = BigInt(value);
  // What is too large for 64 bits becomes the smallest number of these.
  const wrapped = BigInt.asIntN(bits, BigInt.asIntN(64, whole) === whole ? whole : int64Min);
  return Number.isSafeInteger(Number(wrapped)) ? Number(wrapped) : wrapped;
}
