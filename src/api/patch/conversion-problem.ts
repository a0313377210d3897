/**
 * What is wrong with an object that does not fit its model, in the words of Kubernetes' converter. Strategic merge
 * patches and applies are converted from maps to structures field by field, not read as JSON, so the words differ from
 * those about a body.
 */
import { decodingProblem } from '../model/decode.ts';
import { goKind } from '../model/go-format.ts';
import { goTextType } from '../model/go-type-names.ts';
import type { Field, Model } from '../model/model.ts';
import { isJsonObject, type JsonObject } from '../text/object.ts';

/** The first problem, in the order of the model's fields; undefined when the object fits. */
export function conversionProblem(model: Model, value: JsonObject): string | undefined {
  for (const field of model.order) {
    const problem = Object.hasOwn(value, field.name)
      ? valueProblem(field, value[field.name], model)
      : undefined;
    if (problem) return problem;
  }
  return undefined;
}

/** `name` is the field's own, also for what is in a list or map. */
function valueProblem(field: Field, value: unknown, owner: Model, name = field.name): string | undefined {
  if (value === null || value === undefined) return undefined;
  const kind = goKind(value);
  switch (field.type) {
    case 'string':
      if (kind === 'string') return undefined;
      // Go can make text of a whole number, though not here.
      return kind === 'int64'
        ? `cannot convert int64 to ${goTextType(owner, name)}`
        : 'unrecognized type: string';
    case 'boolean':
      return kind === 'bool' ? undefined : 'unrecognized type: bool';
    case 'integer':
      return integerProblem(value, field.int32 ? 'int32' : 'int64');
    case 'number':
      return kind === 'int64' || kind === 'float64' ? undefined : 'unrecognized type: float64';
    case 'model':
      return isJsonObject(value)
        ? conversionProblem(field.model, value)
        : `cannot restore struct from: ${kind}`;
    case 'array':
      return Array.isArray(value)
        ? firstProblem(field.items!, value, owner, name)
        : `cannot restore slice from ${kind}`;
    case 'map':
      return isJsonObject(value)
        ? firstProblem(field.values!, Object.values(value), owner, name)
        : `cannot restore map from ${kind}`;
    default:
      return ownProblem(field, value, owner);
  }
}

function firstProblem(
  field: Field,
  values: readonly unknown[],
  owner: Model,
  name: string,
): string | undefined {
  for (const value of values) {
    const problem = valueProblem(field, value, owner, name);
    if (problem) return problem;
  }
  return undefined;
}

/** Numbers that are too large are cut to the lowest bits, see `withWrappedIntegers`. */
function integerProblem(value: unknown, type: string): string | undefined {
  if (typeof value === 'bigint') return undefined;
  if (typeof value !== 'number') return `unrecognized type: ${type}`;
  return Number.isInteger(value) ? undefined : `cannot convert float64 to ${type}`;
}

/** Types that read their JSON by themselves: times, quantities, numbers or texts; and bytes, which are text here. */
function ownProblem(field: Field, value: unknown, owner: Model): string | undefined {
  if (field.type === 'bytes' && typeof value !== 'string')
    return Array.isArray(value) ? 'unrecognized type: uint8' : `cannot restore slice from ${goKind(value)}`;
  return decodingProblem(field, value, owner)
    ?.replace(/^(json: cannot unmarshal .+ into Go) struct field \S+ of type /, '$1 value of type ')
    .replace(/^illegal base64/, 'error decoding from json: $&');
}
