/**
 * Decoding: from any JSON value to the working form of a model. Type errors have Go's messages, because clients show
 * them; unknown fields are dropped and reported; quantities and times get their canonical form; nulls and empty
 * values that mean "unset" are removed, so other code checks for undefined only. Struct values that are always
 * written (`metadata`, `spec`, `status`…) always exist afterwards.
 *
 * An int64 beyond 2^53 is a bigint at run time, although its type says number: code that calculates with one that is not
 * bounded by validation makes it a number first.
 */
import { isInt64 } from '../text/exact-json.ts';
import { isJsonObject, isSorted, type JsonObject, setKey } from '../text/object.ts';
import { canonicalQuantity } from '../values/quantity.ts';
import { parseMicroTime, parseTime } from '../values/time.ts';
import { base64ErrorAt, base64Of } from './base64.ts';
import { goCollection, goPath } from './go-path.ts';
import { goTextType } from './go-type-names.ts';
import type { Field, Model } from './model.ts';

/** Unknown fields reported for one object; further ones are dropped silently. */
const findingsMax = 100;

export class DecodeError extends Error {
  /** `path`: that of the field in the message, without indexes. */
  constructor(
    message: string,
    readonly path = '',
  ) {
    super(message);
    this.name = 'DecodeError';
  }
}

/** Decodes a whole object. Paths of unknown fields are added to `unknown`, in document order. */
export function decodeObject(model: Model, value: unknown, unknown: string[] = []): JsonObject {
  if (!isJsonObject(value))
    throw new DecodeError(
      `json: cannot unmarshal ${jsonType(value)} into Go value of type ${goModel(model)}`,
    );
  try {
    return decodeModel(model, value, '', unknown);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    // The metadata of custom objects is decoded on its own in Kubernetes, so its path begins there.
    if (model.definition.open) error.message = error.message.replace(/(field \w+\.)metadata\./, '$1');
    else if (error.path)
      error.message = error.message.replace(`.${error.path} `, `.${goPath(model, error.path)} `);
    throw error;
  }
}

function decodeModel(model: Model, value: JsonObject, path: string, unknown: string[]): JsonObject {
  const out: JsonObject = {};
  for (const name of Object.keys(value)) {
    const field = model.fields.get(name);
    const fieldPath = path ? `${path}.${name}` : name;
    if (!field && model.definition.open) {
      setKey(out, name, checkRaw(value[name]));
      continue;
    }
    if (!field) {
      if (unknown.length < findingsMax) unknown.push(fieldPath);
      continue;
    }
    const decoded = decodeField(field, value[name], fieldPath, model, unknown);
    if (decoded !== undefined && !field.off) out[name] = decoded;
  }
  for (const field of structFields(model))
    if (out[field.name] === undefined) out[field.name] = decodeModel(field.model, {}, '', unknown);
  return out;
}

const structsOf = new WeakMap<Model, readonly Field[]>();

/** The struct fields that are written even when unset. */
function structFields(model: Model): readonly Field[] {
  let fields = structsOf.get(model);
  if (!fields) {
    fields = model.order.filter((field) => field.type === 'model' && field.empty === 'zero');
    structsOf.set(model, fields);
  }
  return fields;
}

/** A field's value, or undefined when it is unset. */
function decodeField(field: Field, value: unknown, path: string, owner: Model, unknown: string[]): unknown {
  if (value === null || value === undefined) return undefined;
  if (field.type === 'map' && isJsonObject(value))
    return decodeMap(field.values!, value, path, owner, unknown) ?? (field.ptr ? {} : undefined);
  const decoded = decodeValue(field, value, path, owner, unknown);
  if (field.ptr) return decoded;
  if (decoded === '' || decoded === 0 || decoded === false) return undefined;
  if (Array.isArray(decoded)) return decoded.length || field.keepsEmpty ? decoded : undefined;
  return decoded;
}

function decodeValue(field: Field, value: unknown, path: string, owner: Model, unknown: string[]): unknown {
  switch (field.type) {
    case 'string':
      if (typeof value === 'string') return value;
      break;
    case 'boolean':
      if (typeof value === 'boolean') return value;
      break;
    case 'integer':
      if (typeof value === 'number' || typeof value === 'bigint')
        return checkInteger(field, value, path, owner);
      break;
    case 'number':
      if (typeof value === 'number' && Number.isFinite(value)) return value;
      if (typeof value === 'bigint') return Number(value);
      break;
    case 'model':
      if (isJsonObject(value)) return decodeModel(field.model, value, path, unknown);
      break;
    case 'array':
      if (Array.isArray(value)) return decodeList(field.items!, value, path, owner, unknown);
      break;
    case 'map':
      if (isJsonObject(value)) return decodeMap(field.values!, value, path, owner, unknown) ?? {};
      break;
    case 'time':
      if (typeof value === 'string') return value === '' ? '' : rethrown(() => parseTime(value));
      break;
    case 'microtime':
      if (typeof value === 'string') return value === '' ? '' : rethrown(() => parseMicroTime(value));
      break;
    case 'quantity':
      return decodeQuantity(value);
    case 'int-or-string':
      return decodeIntOrString(value);
    case 'bytes':
      if (typeof value === 'string') return checkBase64(value);
      if (Array.isArray(value)) return bytesOf(value, path, owner);
      break;
    case 'raw':
      return checkRaw(value);
    case 'union':
      return decodeUnion(field, value, path, owner);
  }
  throw mismatch(field, jsonType(value), path, owner);
}

/** What is wrong with the value of a single field; undefined when it fits. */
export function decodingProblem(field: Field, value: unknown, owner: Model): string | undefined {
  try {
    decodeValue(field, value, field.name || 'value', owner, []);
    return undefined;
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
}

/** An element of a list or map, where null means the zero value. */
function decodeItem(field: Field, value: unknown, path: string, owner: Model, unknown: string[]): unknown {
  if (value !== null) return decodeValue(field, value, path, owner, unknown);
  if (field.type === 'model') return decodeModel(field.model, {}, path, unknown);
  return zeroValue(field);
}

function decodeList(
  items: Field,
  value: readonly unknown[],
  path: string,
  owner: Model,
  unknown: string[],
): unknown[] {
  // Only the paths of unknown fields show the index.
  if (items.type === 'string' || items.type === 'raw')
    return value.map((item) => decodeItem(items, item, path, owner, unknown));
  return value.map((item, i) => decodeItem(items, item, `${path}[${i}]`, owner, unknown));
}

/**
 * The keys are in order, so that errors show maps as Go does. Undefined for an empty map: to ask a map with very many keys
 * whether it has any takes as long as to list them.
 */
function decodeMap(
  values: Field,
  value: JsonObject,
  path: string,
  owner: Model,
  unknown: string[],
): JsonObject | undefined {
  const names = Object.keys(value);
  if (names.length === 0) return undefined;
  const out: JsonObject = {};
  for (const name of isSorted(names) ? names : names.sort()) {
    // Go's errors name fields but not map keys; unknown fields are only reported in structs.
    const itemPath = values.type === 'model' ? `${path}.${name}` : path;
    setKey(out, name, decodeItem(values, value[name], itemPath, owner, unknown));
  }
  return out;
}

function decodeQuantity(value: unknown): string {
  if (Number.isNaN(value)) throw new DecodeError('a quantity with so many digits must be given as a string');
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return rethrown(() => canonicalQuantity(value));
  throw new DecodeError(
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  );
}

function decodeIntOrString(value: unknown): number | string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && isInt32(value)) return value;
  const shown = typeof value === 'number' || typeof value === 'bigint' ? `number ${value}` : jsonType(value);
  throw new DecodeError(`json: cannot unmarshal ${shown} into Go value of type int32`);
}

const isInt32 = (value: number): boolean => (value | 0) === value;

function checkInteger(field: Field, value: number | bigint, path: string, owner: Model): number | bigint {
  if (typeof value === 'bigint') {
    if (!field.int32 && isInt64(value)) return value;
  } else if (field.int32 ? isInt32(value) : Number.isSafeInteger(value)) return value === 0 ? 0 : value;
  throw mismatch(field, `number ${value}`, path, owner);
}

/** Unknown fields of the model are dropped without a report, as by Go's decoders of such types. */
function decodeUnion(field: Field, value: unknown, path: string, owner: Model): unknown {
  const other = field.definition.union![1]!;
  if (isJsonObject(value)) return decodeModel(field.model, value, path, []);
  if (other === 'boolean' && typeof value === 'boolean') return value;
  if (Array.isArray(value) && other === 'array of string' && value.every((item) => typeof item === 'string'))
    return value;
  if (Array.isArray(value) && other === `array of ${field.model.name}` && value.every(isJsonObject))
    return value.map((item, i) => decodeModel(field.model, item, `${path}[${i}]`, []));
  throw mismatch(field, jsonType(value), path, owner);
}

/** A raw value is stored as it is, so it must hold nothing that JSON cannot. */
function checkRaw(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new DecodeError(
      `json: cannot unmarshal ${Number.isNaN(value) ? 'number with so many digits' : 'number out of range'} into Go value of type float64`,
    );
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) checkRaw(inner);
  return value;
}

function checkBase64(value: string): string {
  const text = base64Of(value);
  if (text === undefined) throw new DecodeError(`illegal base64 data at input byte ${base64ErrorAt(value)}`);
  return text;
}

/** Go takes a list of numbers for bytes, too. */
function bytesOf(list: readonly unknown[], path: string, owner: Model): string {
  const bytes = list.map((item) => item ?? 0);
  const wrong = bytes.find((item) => !Number.isInteger(item) || Number(item) < 0 || Number(item) > 255);
  if (wrong === undefined) return Buffer.from(bytes as number[]).toString('base64');
  const shown = typeof wrong === 'number' ? `number ${wrong}` : jsonType(wrong);
  throw wrongType(shown, path.replace(/\[\d+\]/g, ''), owner, 'uint8');
}

function zeroValue(field: Field): unknown {
  switch (field.type) {
    case 'array':
      return [];
    case 'map':
      return {};
    case 'integer':
    case 'number':
    case 'int-or-string':
      return 0;
    case 'boolean':
      return false;
    case 'quantity':
      return '0';
    case 'raw':
      return null;
    default:
      return '';
  }
}

function rethrown<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new DecodeError((error as Error).message);
  }
}

function mismatch(field: Field, shown: string, path: string, owner: Model): DecodeError {
  // Go's errors name the fields on the path, but not list indexes.
  const fields = path.replace(/\[\d+\]/g, '');
  // Metadata of custom objects is read by itself.
  if (owner.definition.custom && fields === 'metadata')
    return new DecodeError(`json: cannot unmarshal ${shown} into Go value of type ${goType(field)}`);
  const type = goCollection(field, owner) ?? goType(field, goTextType(owner, fields));
  return wrongType(shown, fields, owner, type);
}

const wrongType = (shown: string, fields: string, owner: Model, type: string): DecodeError =>
  new DecodeError(
    `json: cannot unmarshal ${shown} into Go struct field ${owner.name}.${fields} of type ${type}`,
    fields,
  );

export function jsonType(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  if (typeof value === 'bigint') return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

const goModel = ({ file, name }: Model): string => {
  const end = file.lastIndexOf('/');
  // A table may hold a part of a group: `networking-v1-ingress`.
  return `${end < 0 ? file.split('-')[1] : file.slice(end + 1)}.${name}`;
};

/** The Go name of a field's type, as error messages show it. */
function goType(field: Field, text = 'string'): string {
  switch (field.type) {
    case 'array':
      return `[]${goType(field.items!, text)}`;
    case 'map':
      return `map[string]${goType(field.values!, text)}`;
    case 'model':
    case 'union':
      return goModel(field.model);
    case 'boolean':
      return 'bool';
    case 'integer':
      return field.int32 ? 'int32' : 'int64';
    case 'number':
      return 'float64';
    case 'bytes':
      return '[]uint8';
    case 'quantity':
      return 'resource.Quantity';
    case 'string':
      return text;
    default:
      return 'string';
  }
}
