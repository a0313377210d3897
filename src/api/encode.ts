/**
 * Encoding: from the working form to the one JSON text that is stored, read, listed and watched. Fields stand
 * in wire order, map keys are sorted, unset fields are left out or written as the table says. The same object
 * always gives the same text, so equal text means an equal object.
 *
 * Every write of every client comes by here. So a model has a writer of its own: a function that asks for each
 * field by name, generated from the table when the model is first written.
 */
import type { Field, Model } from './model.ts';
import type { JsonObject } from './object.ts';

export const encodeObject = (model: Model, object: JsonObject): string => writerOf(model)(object);

/** The object in canonical form: wire order, sorted maps, nothing that means "unset" but is not written so. */
export const normalized = (model: Model, object: JsonObject): JsonObject =>
  JSON.parse(encodeObject(model, object)) as JsonObject;

/** Whether two objects would be written alike, found out without writing them. */
export function writtenAlike(model: Model, a: JsonObject, b: JsonObject): boolean {
  for (const name of Object.keys(a)) {
    const field = model.fields.get(name);
    if (field && !fieldAlike(field, a[name], b[name])) return false;
  }
  for (const name of Object.keys(b)) {
    const field = a[name] === undefined ? model.fields.get(name) : undefined;
    if (field && !fieldAlike(field, undefined, b[name])) return false;
  }
  return true;
}

export function fieldAlike(field: Field, a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const set = a !== undefined && a !== null && b !== undefined && b !== null;
  if (set && field.type === 'model') return writtenAlike(field.model, a as JsonObject, b as JsonObject);
  if (set && field.type === 'array') {
    const [items, others] = [a as unknown[], b as unknown[]];
    return (
      items.length === others.length && items.every((item, i) => fieldAlike(field.items!, item, others[i]))
    );
  }
  if (set && field.type === 'map') {
    const [map, other] = [a as JsonObject, b as JsonObject];
    const names = Object.keys(map);
    return (
      names.length === Object.keys(other).length &&
      names.every((name) => Object.hasOwn(other, name) && fieldAlike(field.values!, map[name], other[name]))
    );
  }
  const write = fieldWriter(field);
  return write(a) === write(b);
}

/** Writes an object, or the value of a field. */
type Writer<Value> = (value: Value) => string;

const writers = new WeakMap<Model, Writer<JsonObject>>();

function writerOf(model: Model): Writer<JsonObject> {
  let writer = writers.get(model);
  if (!writer) {
    writer = generated(model);
    writers.set(model, writer);
  }
  return writer;
}

/**
 *   let text = '', value;
 *   if ((value = object.name) !== undefined && (value = name(value)) !== '')
 *     text += (text === '' ? '{"name":' : ',"name":') + value;
 *   …
 */
function generated(model: Model): Writer<JsonObject> {
  const steps = model.order.map((field, i) => {
    const name = JSON.stringify(field.name);
    const [first, next] = [`{${name}:`, `,${name}:`].map((text) => JSON.stringify(text));
    const isSet = field.empty === undefined ? `(value = object[${name}]) !== undefined` : 'true';
    const value = field.empty === undefined ? 'value' : `object[${name}]`;
    return `if (${isSet} && (value = write${i}(${value})) !== '') text += (text === '' ? ${first} : ${next}) + value;`;
  });
  const source = `return (object) => { let text = '', value; ${steps.join('\n')} return text === '' ? '{}' : text + '}'; };`;
  const names = model.order.map((_, i) => `write${i}`);
  return new Function(...names, source)(...model.order.map(fieldWriter)) as Writer<JsonObject>;
}

/** What is written for a field; '' when it is left out. */
function fieldWriter(field: Field): Writer<unknown> {
  const unset = unsetText(field);
  const write = valueWriter(field);
  if (field.type === 'model' && !field.ptr && field.empty !== 'zero')
    return (value) => {
      const text = isUnset(value) ? '' : write(value);
      return text === '{}' ? '' : text || unset;
    };
  if (field.ptr || field.type === 'model' || field.type === 'raw')
    return (value) => (isUnset(value) ? unset : write(value));
  if (field.type === 'array' || field.type === 'map')
    return (value) => (isUnset(value) || isEmpty(value) ? unset : write(value));
  return (value) => (isUnset(value) || value === '' || value === 0 || value === false ? unset : write(value));
}

const isUnset = (value: unknown): value is undefined | null => value === undefined || value === null;

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  for (const name in value as JsonObject) if (Object.hasOwn(value as JsonObject, name)) return false;
  return true;
}

/** What is written for a value that is there, be it of a field, in a list or in a map. */
function valueWriter(field: Field): Writer<unknown> {
  switch (field.type) {
    case 'model': {
      // Models may contain themselves, and many are never written.
      let write: Writer<JsonObject> | undefined;
      return (value) => {
        write ??= writerOf(field.model);
        return write((value ?? {}) as JsonObject);
      };
    }
    case 'array': {
      const write = valueWriter(field.items!);
      return (value) => listText((value ?? []) as unknown[], write);
    }
    case 'map': {
      const write = valueWriter(field.values!);
      return (value) => mapText(value as JsonObject, write);
    }
    case 'raw':
      return (value) => JSON.stringify(value);
    default:
      return scalarText;
  }
}

function listText(items: readonly unknown[], write: Writer<unknown>): string {
  let text = '[';
  for (let i = 0; i < items.length; i++) text += i === 0 ? write(items[i]) : `,${write(items[i])}`;
  return `${text}]`;
}

function mapText(map: JsonObject, write: Writer<unknown>): string {
  let text = '{';
  for (const name of sorted(Object.keys(map)))
    text += `${text === '{' ? '' : ','}${stringText(name)}:${write(map[name])}`;
  return `${text}}`;
}

/** Most maps are short, and in order already. */
function sorted(names: string[]): string[] {
  for (let i = 1; i < names.length; i++) if (names[i - 1]! > names[i]!) return names.sort();
  return names;
}

function scalarText(value: unknown): string {
  if (typeof value === 'string') return stringText(value);
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  return JSON.stringify(value) ?? 'null';
}

/** Strings up to this long are looked through here, which is quicker than to call for it. */
const shortMax = 64;

function stringText(value: string): string {
  const { length } = value;
  if (length > shortMax) return JSON.stringify(value);
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i);
    const plain = code >= 0x20 && code < 0x7f && code !== 0x22 && code !== 0x5c;
    if (!plain) return JSON.stringify(value);
  }
  return `"${value}"`;
}

/**
 * What an unset field looks like. Lists are written `[]` where a Go server may write null: a client that
 * requires a list refuses null.
 */
function unsetText(field: Field): string {
  if (field.empty === undefined) return '';
  if (field.type === 'array') return '[]';
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
