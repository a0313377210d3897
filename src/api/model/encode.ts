/**
 * Encoding: from the working form to the one JSON text that is stored, read, listed and watched. Fields are in wire
 * order, map keys are sorted, unset fields are left out or written as the table says. The same object always gives
 * the same text, so equal text means an equal object.
 *
 * Each model has a writer, created at its first use: a function that loops over the fields, and after some calls generated
 * code (`generated-writer.ts`).
 */

import { parseExact } from '../text/exact-json.ts';
import { jsonText } from '../text/json-text.ts';
import { isSorted, type JsonObject } from '../text/object.ts';
import { stringText } from '../text/string-text.ts';
import { generatedLater, generatedWriter, type Writer } from './generated-writer.ts';
import { ManagedText } from './managed-text.ts';
import type { Field, Model } from './model.ts';

export const encodeObject = (model: Model, object: JsonObject): string => writerOf(model)(object);

/** The object in canonical form: wire order, sorted maps, unset fields as they would be written. */
export const normalized = (model: Model, object: JsonObject): JsonObject =>
  parseExact(encodeObject(model, object)) as JsonObject;

/** The text of a field; '' when it is left out. */
export const fieldText = (field: Field, value: unknown): string => fieldWriter(field)(value);

const writers = new WeakMap<Model, Writer<JsonObject>>();

function writerOf(model: Model): Writer<JsonObject> {
  let writer = writers.get(model);
  if (!writer) {
    const ofFields = model.order.map(fieldWriter);
    const write = generatedLater(walkingWriter(model, ofFields), () => generatedWriter(model, ofFields));
    writer = model.definition.open ? openWriter(model, write) : write;
    writers.set(model, writer);
  }
  return writer;
}

const walkingWriter =
  ({ order }: Model, ofFields: readonly Writer<unknown>[]): Writer<JsonObject> =>
  (object) => {
    const fields: string[] = [];
    order.forEach(({ name }, i) => {
      const text = ofFields[i]!(object[name]);
      if (text !== '') fields.push(`${JSON.stringify(name)}:${text}`);
    });
    return `{${fields.join(',')}}`;
  };

/** Writes the fields of the model, then all others, sorted by name. */
const openWriter =
  (model: Model, write: Writer<JsonObject>): Writer<JsonObject> =>
  (object) => {
    let text = write(object).slice(0, -1);
    for (const name of sorted(Object.keys(object))) {
      if (model.fields.has(name) || object[name] === undefined) continue;
      text += `${text === '{' ? '' : ','}${JSON.stringify(name)}:${jsonText(object[name])}`;
    }
    return `${text}}`;
  };

/** Writes the value of a field; '' when it is left out. */
function fieldWriter(field: Field): Writer<unknown> {
  if (field.definition.unwritten) return () => '';
  const unset = unsetText(field);
  const write = valueWriter(field);
  if (field.definition.keepsNull) return (value) => (value === undefined ? '' : write(value));
  if (field.type === 'model' && !field.ptr && field.empty !== 'zero')
    return (value) => {
      const text = isUnset(value) ? '' : write(value);
      return text === '{}' ? '' : text || unset;
    };
  if (field.ptr || field.type === 'model' || field.type === 'raw' || field.type === 'union')
    return (value) => (isUnset(value) ? unset : write(value));
  if (field.type === 'array')
    return (value) => (isUnset(value) || (Array.isArray(value) && value.length === 0) ? unset : write(value));
  if (field.type === 'map')
    return (value) => {
      const text = isUnset(value) ? '{}' : write(value);
      return text === '{}' ? unset : text;
    };
  return (value) => (isUnset(value) || value === '' || value === 0 || value === false ? unset : write(value));
}

/** Entries from which a map of texts is written by JSON.stringify. */
const nativeMin = 1_000;

const isUnset = (value: unknown): value is undefined | null => value === undefined || value === null;

/** The text of a value that is set: of a field, in a list or in a map. */
function valueWriter(field: Field): Writer<unknown> {
  const write = typeWriter(field);
  return field.definition.keepsNull ? (value) => (value === null ? 'null' : write(value)) : write;
}

function typeWriter(field: Field): Writer<unknown> {
  switch (field.type) {
    case 'model': {
      // Created lazily: models may be recursive, and many are never written.
      let write: Writer<JsonObject> | undefined;
      return (value) => {
        write ??= writerOf(field.model);
        return write((value ?? {}) as JsonObject);
      };
    }
    case 'array': {
      const write = valueWriter(field.items!);
      const list = (value: unknown) => listText((value ?? []) as unknown[], write);
      return field.keepsEmpty ? (value) => (value instanceof ManagedText ? value.text : list(value)) : list;
    }
    case 'map': {
      const write = valueWriter(field.values!);
      const ofTexts = field.values!.type === 'string';
      return (value) => mapText(value as JsonObject, write, ofTexts);
    }
    case 'raw':
      return jsonText;
    case 'union':
      return (value) => unionText(field, value);
    case 'number':
      // Floating point holds large whole numbers as the nearest that it has.
      return (value) => scalarText(typeof value === 'bigint' ? Number(value) : value);
    default:
      return scalarText;
  }
}

function unionText(field: Field, value: unknown): string {
  if (Array.isArray(value)) return listText(value, (item) => unionText(field, item));
  return typeof value === 'object' ? writerOf(field.model)(value as JsonObject) : scalarText(value);
}

function listText(items: readonly unknown[], write: Writer<unknown>): string {
  let text = '[';
  for (let i = 0; i < items.length; i++) text += i === 0 ? write(items[i]) : `,${write(items[i])}`;
  return `${text}]`;
}

function mapText(map: JsonObject, write: Writer<unknown>, ofTexts: boolean): string {
  const names = Object.keys(map);
  // A long text that is put together from pieces is copied once more, and its pieces are collected.
  if (ofTexts && names.length > nativeMin && isSorted(names)) return JSON.stringify(map);
  let text = '';
  for (const name of sorted(names))
    text += `${text === '' ? '{' : ','}${stringText(name)}:${write(map[name])}`;
  return text === '' ? '{}' : `${text}}`;
}

/** Most maps are short, and already sorted. */
const sorted = (names: string[]): string[] => (isSorted(names) ? names : names.sort());

function scalarText(value: unknown): string {
  if (typeof value === 'string') return stringText(value);
  if (typeof value === 'boolean' || typeof value === 'bigint' || Number.isSafeInteger(value))
    return String(value);
  return JSON.stringify(value) ?? 'null';
}

/**
 * The text of an unset field. Most lists are written `[]` where a Go server may write null, because clients that
 * require a list refuse null.
 */
function unsetText(field: Field): string {
  if (field.empty === undefined) return '';
  if (field.type === 'array') return field.definition.nullList ? 'null' : '[]';
  if (field.empty !== 'zero') return 'null';
  switch (field.type) {
    case 'map':
      return '{}';
    case 'model':
      return encodeObject(field.model, {});
    case 'integer':
    case 'number':
    case 'int-or-string':
      return '0';
    case 'boolean':
      return 'false';
    case 'quantity':
      return '"0"';
    case 'string':
      return '""';
    default:
      return 'null';
  }
}
