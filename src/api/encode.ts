/**
 * Encoding: from the working form to the one JSON text that is stored, read, listed and watched. Fields stand
 * in wire order, map keys are sorted, unset fields are left out or written as the table says. The same object
 * always gives the same text, so equal text means an equal object.
 */
import type { Field, Model } from './model.ts';
import { type JsonObject, setKey } from './object.ts';

export const encodeObject = (model: Model, object: JsonObject): string =>
  JSON.stringify(normalized(model, object));

/** The object in canonical form: wire order, sorted maps, nothing that means "unset" but is not written so. */
export function normalized(model: Model, object: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const field of fieldsToWrite(model, object)) {
    const value = normalizedField(field, object[field.name]);
    if (value !== undefined) out[field.name] = value;
  }
  return out;
}

/**
 * Fields that are set, and those that are written in any case, in wire order. Models have many more fields than
 * objects: it is the object that is gone through.
 */
function fieldsToWrite({ fields, always }: Model, object: JsonObject): Field[] {
  const chosen: Field[] = [];
  for (const name of Object.keys(object)) {
    const field = fields.get(name);
    if (field && field.empty === undefined) insert(chosen, field);
  }
  for (const field of always) insert(chosen, field);
  return chosen;
}

/** Keeps the list in wire order. Most fields come in that order, or nearly. */
function insert(list: Field[], field: Field): void {
  let at = list.length;
  while (at > 0 && list[at - 1]!.position > field.position) at--;
  if (at === list.length) list.push(field);
  else list.splice(at, 0, field);
}

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
  return JSON.stringify(normalizedField(field, a)) === JSON.stringify(normalizedField(field, b));
}

/** A field as it is written; undefined when it is left out. */
function normalizedField(field: Field, value: unknown): unknown {
  if (value === undefined || value === null) return written(field);
  switch (field.type) {
    case 'model': {
      const object = normalized(field.model, value as JsonObject);
      if (field.ptr || field.empty === 'zero') return object;
      return Object.keys(object).length ? object : undefined;
    }
    case 'array': {
      const items = value as unknown[];
      if (items.length === 0 && !field.ptr) return written(field);
      return items.map((item) => normalizedItem(field.items!, item));
    }
    case 'map': {
      const map = value as JsonObject;
      const names = Object.keys(map);
      if (names.length === 0 && !field.ptr) return written(field);
      return sortedMap(field.values!, map, names);
    }
    case 'raw':
      return value;
    default:
      if (!field.ptr && (value === '' || value === 0 || value === false)) return written(field);
      return value;
  }
}

const normalizedItem = (field: Field, value: unknown): unknown => {
  if (field.type === 'model') return normalized(field.model, (value ?? {}) as JsonObject);
  if (field.type === 'array')
    return ((value ?? []) as unknown[]).map((item) => normalizedItem(field.items!, item));
  if (field.type === 'map')
    return sortedMap(field.values!, value as JsonObject, Object.keys(value as JsonObject));
  return value;
};

function sortedMap(values: Field, map: JsonObject, names: string[]): JsonObject {
  const out: JsonObject = {};
  for (const name of names.sort()) setKey(out, name, normalizedItem(values, map[name]));
  return out;
}

/**
 * What an unset field looks like. Lists are written `[]` where a Go server may write null: a client that
 * requires a list refuses null.
 */
function written(field: Field): unknown {
  if (field.empty === undefined) return undefined;
  switch (field.type) {
    case 'array':
      return [];
    case 'map':
      return field.empty === 'zero' ? {} : null;
    case 'model':
      return field.empty === 'zero' ? normalized(field.model, {}) : null;
    case 'integer':
    case 'number':
    case 'int-or-string':
      return field.empty === 'zero' ? 0 : null;
    case 'boolean':
      return field.empty === 'zero' ? false : null;
    case 'quantity':
      return field.empty === 'zero' ? '0' : null;
    case 'string':
      return field.empty === 'zero' ? '' : null;
    default:
      return null;
  }
}
