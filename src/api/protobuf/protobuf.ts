/**
 * Request bodies in protobuf (`application/vnd.kubernetes.protobuf`), decoded to the JSON value that the same
 * object would have had as JSON. client-go sends them for every typed write.
 *
 * The field numbers are in the field tables. A decode table is made from a model's fields on first use: an array of
 * decoders by field number. Senders write every field that is not a pointer, also when it is empty, so empty texts,
 * zeros and falses are dropped unless the field distinguishes unset from zero (`ptr`).
 */

import type { Field, Model } from '../model/model.ts';
import { JsonError, readJson } from '../text/json.ts';
import { type JsonObject, setKey } from '../text/object.ts';
import { formatTime } from '../values/time.ts';
import { BYTES, FIXED64, ProtobufError, Reader, VARINT } from './protobuf-reader.ts';

export { ProtobufError };

/** Nesting depth. */
const messageDepthMax = 100;
/** Range of RFC 3339 times, in seconds: years 1 to 9999. The first second is Go's unset time. */
const secondsMin = -62_135_596_800;
const secondsMax = 253_402_300_799;
const nanosMax = 999_999_999;

const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

export interface ProtobufObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** The fields of the object without kind and apiVersion, which are in the envelope. */
  readonly value: JsonObject;
}

/** Decodes a body: the envelope names the kind, `modelFor` finds its model. */
export function decodeProtobuf(
  bytes: Buffer,
  modelFor: (apiVersion: string, kind: string) => Model | undefined,
): ProtobufObject {
  if (MAGIC.compare(bytes, 0, Math.min(MAGIC.length, bytes.length)) !== 0) {
    throw new ProtobufError(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  }
  const reader = new Reader(bytes, MAGIC.length);
  const [, typeMeta, raw, contentEncoding, contentType] = readParts(reader, reader.end, UNKNOWN, 0);
  if (contentEncoding) throw new ProtobufError('the contentEncoding of a protobuf body must be empty');
  if (contentType) throw new ProtobufError('the contentType of a protobuf body must be empty');
  const [, apiVersion = '', kind = ''] = (typeMeta ?? []) as string[];
  const model = modelFor(apiVersion, kind);
  if (!model) {
    const version = JSON.stringify(apiVersion);
    throw new ProtobufError(`no kind ${JSON.stringify(kind)} is registered for version ${version}`);
  }
  const value: JsonObject = {};
  const range = raw as Range | undefined;
  reader.at = range?.start ?? 0;
  readMessage(reader, range?.end ?? 0, tableOf(model), value, 0);
  return { apiVersion, kind, value };
}

/** How one value is decoded: a field, a list item or a map value. */
interface Value {
  readonly wire: number;
  /** Undefined: the value is present but unset, such as a Time without seconds. */
  read(reader: Reader, depth: number): unknown;
  /** The zero value, for unset values in lists and maps. */
  zero(): unknown;
}

/** The decoder of one field number of a message, and its wire type. */
type FieldEntry = { readonly name: string; readonly wire: number } & (
  | { readonly shape: 'single'; readonly value: Value; readonly ptr: boolean }
  /** Numbers may also be packed: all in one length-delimited value. */
  | { readonly shape: 'list'; readonly value: Value }
  /** Each entry is a message {1 key, 2 value}. */
  | { readonly shape: 'map'; readonly value: Value; readonly parts: Parts }
  /** The fields of an embedded message belong to the parent object. */
  | { readonly shape: 'message' | 'embedded'; readonly table: () => Table }
);

/** A message of a model: its fields by number. */
interface Table {
  readonly name: string;
  readonly entries: readonly (FieldEntry | undefined)[];
}

function readMessage(reader: Reader, end: number, table: Table, out: JsonObject, depth: number): void {
  if (depth > messageDepthMax) throw new ProtobufError('proto: exceeded max depth');
  const outer = reader.end;
  reader.end = end;
  while (reader.at < end) {
    const tag = reader.tag(table.name);
    const entry = table.entries[tag >>> 3];
    if (!entry) reader.skip(tag, table.name);
    else if ((tag & 7) === entry.wire) readField(reader, entry, out, depth);
    else if (entry.shape === 'list' && (tag & 7) === BYTES)
      readPacked(reader, entry.value, listIn(out, entry), depth);
    else throw wrongWire(tag, table.name, entry.name);
  }
  reader.end = outer;
}

function wrongWire(tag: number, message: string, field: string): ProtobufError {
  return new ProtobufError(`proto: ${message}: wrong wireType = ${tag & 7} for field ${field}`);
}

/** A field may be repeated: lists grow, messages merge, of all others the last one counts. */
function readField(reader: Reader, entry: FieldEntry, out: JsonObject, depth: number): void {
  const { name } = entry;
  switch (entry.shape) {
    case 'single': {
      const read = entry.value.read(reader, depth);
      const unset = read === undefined || (!entry.ptr && (read === '' || read === 0 || read === false));
      if (!unset) out[name] = read;
      else if (out[name] !== undefined) delete out[name];
      return;
    }
    case 'list':
      reader.countItem();
      listIn(out, entry).push(entry.value.read(reader, depth) ?? entry.value.zero());
      return;
    case 'map': {
      reader.countItem();
      const [, key, read] = readParts(reader, reader.length(), entry.parts, depth);
      setKey(objectIn(out, entry), (key as string | undefined) ?? '', read ?? entry.value.zero());
      return;
    }
    case 'message':
      readMessage(reader, reader.length(), entry.table(), objectIn(out, entry), depth + 1);
      return;
    case 'embedded':
      readMessage(reader, reader.length(), entry.table(), out, depth + 1);
  }
}

const listIn = (out: JsonObject, { name }: FieldEntry): unknown[] => (out[name] ??= []) as unknown[];
const objectIn = (out: JsonObject, { name }: FieldEntry): JsonObject => (out[name] ??= {}) as JsonObject;

function readPacked(reader: Reader, value: Value, list: unknown[], depth: number): void {
  const outer = reader.end;
  reader.end = reader.length();
  while (reader.at < reader.end) {
    reader.countItem();
    list.push(value.read(reader, depth));
  }
  reader.end = outer;
}

/** A small message that is not in the field tables: its values by field number. */
interface Parts {
  readonly name: string;
  readonly values: readonly (Value | undefined)[];
}

/** Values by field number; empty when none is present. */
function readParts(reader: Reader, end: number, parts: Parts, depth: number): unknown[] {
  const found: unknown[] = [];
  const outer = reader.end;
  reader.end = end;
  while (reader.at < end) {
    const tag = reader.tag(parts.name);
    const value = parts.values[tag >>> 3];
    if (!value) reader.skip(tag, parts.name);
    else if ((tag & 7) === value.wire) found[tag >>> 3] = value.read(reader, depth);
    else throw wrongWire(tag, parts.name, String(tag >>> 3));
  }
  reader.end = outer;
  return found;
}

const TEXT: Value = { wire: BYTES, zero: () => '', read: (reader) => reader.text() };

const BOOLEAN: Value = {
  wire: VARINT,
  zero: () => false,
  read: (reader) => reader.varint() !== 0 || reader.high !== 0,
};

/** Negative numbers are written with 64 bits; the lower half is enough. */
const INT32: Value = { wire: VARINT, zero: () => 0, read: (reader) => reader.varint() | 0 };

/** Beyond 2^53 it is a bigint, as when it is read from JSON. */
const INT64: Value = {
  wire: VARINT,
  zero: () => 0,
  read: (reader) => {
    const low = reader.varint();
    const number = (reader.high | 0) * 0x1_0000_0000 + low;
    if (Number.isSafeInteger(number)) return number;
    return BigInt.asIntN(64, (BigInt(reader.high) << 32n) | BigInt(low));
  },
};

interface Range {
  readonly start: number;
  readonly end: number;
}

/** A view of the bytes, without a copy. */
const RANGE: Value = {
  wire: BYTES,
  zero: () => undefined,
  read: (reader): Range => {
    const end = reader.length();
    const start = reader.at;
    reader.at = end;
    return { start, end };
  },
};

const BASE64: Value = {
  wire: BYTES,
  zero: () => '',
  read: (reader) => {
    const end = reader.length();
    const start = reader.at;
    reader.at = end;
    return reader.bytes.toString('base64', start, end);
  },
};

/** A value made from the parts of a small message. */
function small(
  name: string,
  values: Parts['values'],
  zero: unknown,
  make: (parts: unknown[], reader: Reader) => unknown,
): Value {
  const parts: Parts = { name, values };
  return {
    wire: BYTES,
    zero: () => zero,
    read: (reader, depth) => make(readParts(reader, reader.length(), parts, depth), reader),
  };
}

const TIME = small('Time', [undefined, INT64, INT32], null, (parts) => timeText(parts, false));
const MICRO_TIME = small('MicroTime', [undefined, INT64, INT32], null, (parts) => timeText(parts, true));

function timeText(parts: unknown[], micro: boolean): string | undefined {
  if (parts.length === 0) return undefined;
  const [, seconds = 0, nanos = 0] = parts as number[];
  if (seconds < secondsMin || seconds > secondsMax || nanos < 0 || nanos > nanosMax) {
    throw new ProtobufError(
      `proto: ${seconds} seconds and ${nanos} nanoseconds are no time between the years 1 and 9999`,
    );
  }
  if (seconds === secondsMin && nanos === 0) return undefined;
  const text = formatTime(seconds * 1000);
  if (!micro) return text;
  return `${text.slice(0, -1)}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z`;
}

const QUANTITY = small('Quantity', [undefined, TEXT], '0', ([, text]) => text || undefined);

const INT_OR_STRING = small(
  'IntOrString',
  [undefined, INT64, INT32, TEXT],
  0,
  ([, type = 0, number = 0, text = '']) => {
    if (type === 0) return number;
    if (type === 1) return text;
    throw new ProtobufError(`proto: IntOrString: unknown type ${type}`);
  },
);

/** RawExtension and FieldsV1: JSON inside protobuf. */
const RAW = small('RawExtension', [undefined, RANGE], null, ([, raw], reader) => {
  const { start, end } = (raw ?? { start: 0, end: 0 }) as Range;
  if (start === end) return undefined;
  try {
    return readJson(reader.bytes.subarray(start, end)).value ?? undefined;
  } catch (error) {
    if (error instanceof JsonError) throw new ProtobufError(`proto: RawExtension: ${error.message}`);
    throw error;
  }
});

const DOUBLE: Value = {
  wire: FIXED64,
  zero: () => 0,
  read: (reader) => {
    const start = reader.at;
    if (start + 8 > reader.end) throw new ProtobufError('unexpected EOF');
    reader.at = start + 8;
    return reader.bytes.readDoubleLE(start);
  },
};

/** A message of two fields, of which one is set: 1 a model and 2 a list, or 1 a boolean and 2 a model. */
function union(field: Field): Value {
  const model = messageValue(() => tableOf(field.model));
  const other = field.definition.union![1]!;
  const name = `${field.model.name}Or${other}`;
  if (other === 'boolean')
    return small(name, [undefined, BOOLEAN, model], false, ([, allows, schema]) => schema ?? allows ?? false);
  const items = other === 'array of string' ? TEXT : model;
  const entries: FieldEntry[] = [
    { shape: 'single', name: 'schema', wire: BYTES, value: model, ptr: true },
    { shape: 'list', name: 'items', wire: BYTES, value: items },
  ];
  const table: Table = { name, entries: [undefined, ...entries] };
  const { wire, read } = messageValue(() => table);
  return {
    wire,
    zero: () => [],
    read: (reader, depth) => {
      const found = read(reader, depth) as JsonObject;
      return found['schema'] ?? found['items'] ?? [];
    },
  };
}

/** The envelope: 1 typeMeta {1 apiVersion, 2 kind}, 2 raw, 3 contentEncoding, 4 contentType. */
const TYPE_META = small('TypeMeta', [undefined, TEXT, TEXT], undefined, (parts) => parts);
const UNKNOWN: Parts = { name: 'Unknown', values: [undefined, TYPE_META, RANGE, TEXT, TEXT] };

/** A list in a message of its own, {1 items}: Verbs, ExtraValue. */
function wrappedList(name: string, items: Value): Value {
  const entry: FieldEntry = { shape: 'list', name: 'items', wire: items.wire, value: items };
  const table: Table = { name, entries: [undefined, entry] };
  const { wire, read } = messageValue(() => table);
  const itemsOf = (message: unknown): unknown => (message as JsonObject)['items'] ?? [];
  return { wire, zero: () => [], read: (reader, depth) => itemsOf(read(reader, depth)) };
}

function messageValue(table: () => Table): Value {
  return {
    wire: BYTES,
    zero: () => ({}),
    read: (reader, depth) => {
      const out: JsonObject = {};
      readMessage(reader, reader.length(), table(), out, depth + 1);
      return out;
    },
  };
}

const tables = new WeakMap<Model, Table>();

function tableOf(model: Model): Table {
  let table = tables.get(model);
  if (!table) {
    const fields = [...model.fields.values()].filter((field) => field.pb.length > 0);
    table = compile(model.name, fields, 0);
    tables.set(model, table);
  }
  return table;
}

/** `level` says which of a field's numbers applies: fields of an embedded message share the first one. */
function compile(name: string, fields: readonly Field[], level: number): Table {
  const entries: (FieldEntry | undefined)[] = [];
  const embedded = new Map<number, Field[]>();
  for (const field of fields) {
    const number = field.pb[level]!;
    const group = embedded.get(number);
    if (field.pb.length === level + 1) entries[number] = entryOf(field);
    else if (group) group.push(field);
    else embedded.set(number, [field]);
  }
  for (const [number, inner] of embedded) {
    const table = compile(name, inner, level + 1);
    entries[number] = { shape: 'embedded', name: String(number), wire: BYTES, table: () => table };
  }
  // Array.from fills the holes: lookups in a sparse array are slow.
  return { name, entries: Array.from(entries) };
}

function entryOf(field: Field): FieldEntry {
  const { name, ptr } = field;
  if (field.type === 'model') {
    return { shape: 'message', name, wire: BYTES, table: () => tableOf(field.model) };
  }
  if (field.type === 'map') {
    const value = valueFor(field.values!, field.name);
    return { shape: 'map', name, wire: BYTES, value, parts: { name, values: [undefined, TEXT, value] } };
  }
  if (field.type === 'array' && String(field.definition.pb!.at(-1)).startsWith('repeated ')) {
    const value = valueFor(field.items!, field.name);
    return { shape: 'list', name, wire: value.wire, value };
  }
  const value = valueFor(field, field.name);
  return { shape: 'single', name, wire: value.wire, value, ptr };
}

function valueFor(field: Field, name: string): Value {
  switch (field.type) {
    case 'string':
      return TEXT;
    case 'boolean':
      return BOOLEAN;
    case 'integer':
      return field.int32 ? INT32 : INT64;
    case 'bytes':
      return BASE64;
    case 'time':
      return TIME;
    case 'microtime':
      return MICRO_TIME;
    case 'quantity':
      return QUANTITY;
    case 'int-or-string':
      return INT_OR_STRING;
    case 'raw':
      return RAW;
    case 'model':
      return messageValue(() => tableOf(field.model));
    case 'array':
      return wrappedList(name, valueFor(field.items!, name));
    case 'number':
      return DOUBLE;
    case 'union':
      return union(field);
    case 'map':
      // Kubernetes' messages have no maps of maps.
      throw new Error(`the field tables give ${name} a type that protobuf has no form for: ${field.type}`);
  }
}
