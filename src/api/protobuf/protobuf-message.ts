/**
 * Objects as protobuf messages (`application/vnd.kubernetes.protobuf`), written from the same field tables as they are
 * decoded (`protobuf.ts`).
 *
 * Fields are in the order of their numbers and map keys are sorted, so equal objects give equal bytes. Unset fields are
 * left out; Go's servers write empty ones, and every decoder reads both the same way. `kind` and `apiVersion` are not
 * in a message but in the envelope around it.
 */

import type { Field, Model } from '../model/model.ts';
import { jsonText } from '../text/json-text.ts';
import { isJsonObject, type JsonObject } from '../text/object.ts';
import { keptText } from '../values/field-set.ts';
import { MessageWriter } from './protobuf-writer.ts';

/** The message of an object, without an envelope. */
export const encodeMessage = (model: Model, object: JsonObject): Buffer =>
  encodeWithin(model, object, () => none, none);

const none = Buffer.alloc(0);

/** The message of an object between two parts of an envelope; the first depends on its length. */
export function encodeWithin(
  model: Model,
  object: JsonObject,
  head: (length: number) => Uint8Array,
  end: Uint8Array,
): Buffer {
  try {
    out.bytes(end);
    writerOf(model)(object);
    out.bytes(head(out.length - end.length));
    return out.take();
  } catch (error) {
    out.reset();
    throw error;
  }
}

/** Memory for a message that was made elsewhere. */
export const messageMemory = (bytes: number): Buffer => out.memory(bytes);

// Wire types.
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;

const out = new MessageWriter();

/** Writes the fields of an object. */
type ObjectWriter = (object: JsonObject) => void;

/** How one value is written: a field, a list item or a map value. */
interface Value {
  readonly wire: number;
  write(value: unknown): void;
  /** A zero is left out where unset and zero are the same. */
  isZero?(value: unknown): boolean;
}

/** A value with its length in front, if its wire type has one. */
function writeSized({ wire, write }: Value, value: unknown): void {
  if (wire !== BYTES) return write(value);
  const before = out.length;
  write(value);
  out.varint(out.length - before);
}

const tagOf = (number: number, wire: number): number => number * 8 + wire;

const writers = new WeakMap<Model, ObjectWriter>();

function writerOf(model: Model): ObjectWriter {
  let writer = writers.get(model);
  if (!writer) {
    writer = compile(
      [...model.fields.values()].filter((field) => field.pb.length > 0),
      0,
    );
    writers.set(model, writer);
  }
  return writer;
}

/** `level` says which of a field's numbers applies: fields of an embedded message share the first one. */
function compile(fields: readonly Field[], level: number): ObjectWriter {
  const byNumber = new Map<number, Field[]>();
  for (const field of fields) {
    const number = field.pb[level]!;
    const group = byNumber.get(number);
    if (group) group.push(field);
    else byNumber.set(number, [field]);
  }
  // From the last to the first: messages are written from their end.
  const parts = [...byNumber]
    .sort(([a], [b]) => b - a)
    .map(([number, group]) =>
      group[0]!.pb.length === level + 1
        ? fieldWriter(group[0]!, number)
        : embeddedWriter(compile(group, level + 1), number),
    );
  return (object) => {
    for (const write of parts) write(object);
  };
}

/** The fields of an embedded message belong to the parent object. */
function embeddedWriter(write: ObjectWriter, number: number): ObjectWriter {
  const tag = tagOf(number, BYTES);
  return (object) => {
    const before = out.length;
    write(object);
    if (out.length === before) return;
    out.varint(out.length - before);
    out.varint(tag);
  };
}

function fieldWriter(field: Field, number: number): ObjectWriter {
  const { name } = field;
  if (field.type === 'map') return mapWriter(name, number, valueFor(field.values!));
  if (field.type === 'array' && isRepeated(field)) return listWriter(name, number, valueFor(field.items!));
  const value = valueFor(field);
  const tag = tagOf(number, value.wire);
  const isZero = field.ptr ? undefined : value.isZero;
  return (object) => {
    const set = object[name];
    if (set === undefined || set === null || isZero?.(set)) return;
    writeSized(value, set);
    out.varint(tag);
  };
}

/** Other lists are in a message of their own: Verbs, ExtraValue. */
const isRepeated = ({ definition }: Field): boolean => String(definition.pb?.at(-1)).startsWith('repeated ');

function listWriter(name: string, number: number, value: Value): ObjectWriter {
  const tag = tagOf(number, value.wire);
  return (object) => {
    const items = object[name];
    if (!Array.isArray(items)) return;
    for (let i = items.length - 1; i >= 0; i--) {
      writeSized(value, items[i]);
      out.varint(tag);
    }
  };
}

const keyTag = tagOf(1, BYTES);

/** Each entry is a message {1 key, 2 value}. */
function mapWriter(name: string, number: number, value: Value): ObjectWriter {
  const tag = tagOf(number, BYTES);
  const valueTag = tagOf(2, value.wire);
  return (object) => {
    const map = object[name];
    if (!isJsonObject(map)) return;
    const keys = Object.keys(map).sort();
    for (let i = keys.length - 1; i >= 0; i--) {
      const before = out.length;
      writeSized(value, map[keys[i]!]);
      out.varint(valueTag);
      writeSized(TEXT, keys[i]);
      out.varint(keyTag);
      out.varint(out.length - before);
      out.varint(tag);
    }
  };
}

const TEXT: Value = {
  wire: BYTES,
  write: (value) => out.text(typeof value === 'string' ? value : ''),
  isZero: (value) => value === '',
};

const BOOLEAN: Value = {
  wire: VARINT,
  write: (value) => out.varint(value === true ? 1 : 0),
  isZero: (value) => value === false,
};

const INTEGER: Value = {
  wire: VARINT,
  write: (value) => {
    if (typeof value === 'bigint') out.bigVarint(value);
    else out.varint(Number(value ?? 0));
  },
  isZero: (value) => value === 0,
};

const DOUBLE: Value = {
  wire: FIXED64,
  write: (value) => out.double(Number(value ?? 0)),
  isZero: (value) => value === 0,
};

const BASE64: Value = {
  wire: BYTES,
  write: (value) => out.bytes(Buffer.from(String(value ?? ''), 'base64')),
  isZero: (value) => value === '',
};

/** Part of a small message: {number value}. */
function writePart(number: number, value: Value, part: unknown): void {
  writeSized(value, part);
  out.varint(tagOf(number, value.wire));
}

/** Time and MicroTime: {1 seconds, 2 nanos}. An unset one in a list or map is empty. */
const TIME: Value = {
  wire: BYTES,
  write: (value) => {
    if (typeof value !== 'string') return;
    const point = value.indexOf('.');
    const nanos = point < 0 ? 0 : Number(value.slice(point + 1, -1).padEnd(9, '0'));
    if (nanos) writePart(2, INTEGER, nanos);
    writePart(1, INTEGER, Date.parse(point < 0 ? value : `${value.slice(0, point)}Z`) / 1000);
  },
};

const QUANTITY: Value = {
  wire: BYTES,
  write: (value) => writePart(1, TEXT, String(value ?? '0')),
  isZero: (value) => value === '',
};

/** {1 type, 2 intVal, 3 strVal}. */
const INT_OR_STRING: Value = {
  wire: BYTES,
  write: (value) => {
    if (typeof value === 'string') writePart(3, TEXT, value);
    else writePart(2, INTEGER, value);
    writePart(1, INTEGER, typeof value === 'string' ? 1 : 0);
  },
  isZero: (value) => value === 0 || value === '',
};

/** The text of sets of managed fields is known. */
const rawText = (value: object | string | number | boolean): string =>
  (typeof value === 'object' ? keptText(value) : undefined) ?? jsonText(value);

/** RawExtension and FieldsV1: JSON inside protobuf. */
const RAW: Value = {
  wire: BYTES,
  write: (value) => {
    if (value !== undefined && value !== null) writePart(1, TEXT, rawText(value));
  },
};

function valueFor(field: Field): Value {
  switch (field.type) {
    case 'string':
      return TEXT;
    case 'boolean':
      return BOOLEAN;
    case 'integer':
      return INTEGER;
    case 'number':
      return DOUBLE;
    case 'bytes':
      return BASE64;
    case 'time':
    case 'microtime':
      return TIME;
    case 'quantity':
      return QUANTITY;
    case 'int-or-string':
      return INT_OR_STRING;
    case 'raw':
      return RAW;
    case 'union':
      return unionValue(field);
    case 'model':
      return messageValue(field);
    case 'array':
      return { wire: BYTES, write: wrappedWriter(field) };
    case 'map':
      throw new Error('Kubernetes’ messages have no maps in lists or maps');
  }
}

/** A model or something else: {1 whether any value is allowed, 2 model}, or {1 model, 2 list}. */
function unionValue(field: Field): Value {
  const model = messageValue(field);
  const other = field.definition.union![1]!;
  if (other === 'boolean')
    return {
      wire: BYTES,
      write: (value) => {
        if (typeof value !== 'boolean') writePart(2, model, value);
        writePart(1, BOOLEAN, value !== false);
      },
    };
  const item = other === 'array of string' ? TEXT : model;
  return {
    wire: BYTES,
    write: (value) => {
      if (!Array.isArray(value)) return writePart(1, model, value);
      for (let i = value.length - 1; i >= 0; i--) writePart(2, item, value[i]);
    },
  };
}

/** Made at its first use: models may be recursive. */
function messageValue(field: Field): Value {
  let write: ObjectWriter | undefined;
  return {
    wire: BYTES,
    write: (value) => {
      write ??= writerOf(field.model);
      if (isJsonObject(value)) write(value);
    },
  };
}

function wrappedWriter(field: Field): (value: unknown) => void {
  const write = listWriter('items', 1, valueFor(field.items!));
  return (items) => write({ items });
}
