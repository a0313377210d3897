/**
 * Walks over values and their types: which fields a value mentions, what two values differ in, what a value becomes when
 * another is applied to it, and what is left when fields are removed.
 *
 * Here "missing" is undefined, and null is a value. Objects in working form are compared as they would be written
 * (`compareWritten`), everything else as it is.
 */

import { jsonText } from '../text/json-text.ts';
import { isJsonObject, type JsonObject, setKey } from '../text/object.ts';
import { htmlSafe } from '../text/string-text.ts';
import { addPath, type FieldSet, isMember, madeMember, noFields } from '../values/field-set.ts';
import { deduced, type FieldType, isEmptyObject, isWrittenEmpty, typeBelow, typeFor } from './field-type.ts';

/** What a change added or modified, and what it removed. */
export interface Changes {
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/**
 * The path element of an item, its values as Go writes them; undefined when it has no key, or is no item of such a list.
 */
export function itemElement(type: FieldType, item: unknown): string | undefined {
  if (type.name === 'set') return `v:${htmlSafe(jsonText(item))}`;
  if (!isJsonObject(item)) return undefined;
  let text = '';
  for (const { name, preset } of type.keys) {
    const value = Object.hasOwn(item, name) ? (item[name] ?? null) : preset;
    if (value !== undefined) text += `${text === '' ? '' : ','}"${name}":${jsonText(value)}`;
  }
  return text === '' ? undefined : `k:{${htmlSafe(text)}}`;
}

const ownValue = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

const asObject = (value: unknown): JsonObject | undefined => (isJsonObject(value) ? value : undefined);
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

// Fields of a value

/** The fields that an object mentions. */
export const fieldsOf = (type: FieldType, object: JsonObject): FieldSet =>
  contentOf(type, object) ?? noFields;

/** The node of a value: a leaf, or what is in it; undefined when it is a container with nothing in it. */
function contentOf(declared: FieldType, value: unknown): FieldSet | undefined {
  const type = typeFor(declared, value, undefined);
  if (type.name === 'leaf' || value === null || value === undefined) return noFields;
  const out: FieldSet = {};
  // To ask a node with very many children whether it has any takes as long as to list them.
  let isEmpty = true;
  if (type.name === 'struct' || type.name === 'map') {
    const object = asObject(value);
    if (!object) return noFields;
    for (const name of Object.keys(object)) {
      const below = type.under(name);
      if (!below) continue;
      const inner = contentOf(below, object[name]);
      if (!type.isField(name)) out[`f:${name}`] = inner ? madeMember(inner) : noFields;
      else if (inner) out[`f:${name}`] = inner;
      else if (isEmptyValue(object[name])) out[`f:${name}`] = noFields;
      else continue;
      isEmpty = false;
    }
  } else
    for (const item of asList(value)) {
      const element = itemElement(type, item);
      if (element === undefined) continue;
      const inner =
        out[element] !== undefined || type.name === 'set' ? undefined : contentOf(type.items, item);
      out[element] = inner ? madeMember(inner) : noFields;
      isEmpty = false;
    }
  return isEmpty ? undefined : out;
}

/** An object with nothing but empty lists in it is not empty, and yet nothing of it is owned. */
const isEmptyValue = (value: unknown): boolean => isJsonObject(value) && isEmptyObject(value);

/** The set with every struct field that has members below it as a member, too. */
export function named(type: FieldType, set: FieldSet): FieldSet {
  const out: FieldSet = {};
  for (const element in set) {
    const node = set[element]!;
    const below = element === '.' ? undefined : typeBelow(type, element);
    const inner = below ? named(below, node) : node;
    out[element] = below && type.isField(element.slice(2)) ? madeMember(inner) : inner;
  }
  return out;
}

/** The set as today's types allow: where a value is owned as a whole today, the parts of it that were owned become it. */
export function reconciled(type: FieldType, set: FieldSet): FieldSet {
  let out = set;
  for (const element in set) {
    const below = element === '.' ? undefined : typeBelow(type, element);
    if (!below) continue;
    const node = below.name === 'leaf' ? noFields : reconciled(below, set[element]!);
    if (node === set[element] || (below.name === 'leaf' && isEmptyObject(set[element]!))) continue;
    if (out === set) out = { ...set };
    out[element] = node;
  }
  return out;
}

// Differences

/** Fields of the metadata that nobody owns: comparing them would find what is of no use. */
export const metadataNeverOwned: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
]);

/** Compares objects as they are. */
export const compare = (type: FieldType, old: JsonObject, object: JsonObject): Changes =>
  new Comparison(false, undefined).of(type, old, object);

/** Compares objects as they are written, without the fields of the root that are in `except`. */
export const compareWritten = (
  type: FieldType,
  old: JsonObject,
  object: JsonObject,
  except?: ReadonlySet<string>,
): Changes => new Comparison(true, except).of(type, old, object);

/** Compares one field of the root as it is written. */
export const compareField = (type: FieldType, name: string, old: JsonObject, object: JsonObject): Changes =>
  new Comparison(true, undefined).ofField(type, name, old, object);

const rawObject = typeFor(deduced, {}, {});

class Comparison {
  readonly #changed: FieldSet = {};
  readonly #removed: FieldSet = {};
  readonly #path: string[] = [];

  constructor(
    private readonly asWritten: boolean,
    private readonly except: ReadonlySet<string> | undefined,
  ) {}

  of(type: FieldType, old: JsonObject, object: JsonObject): Changes {
    this.#objects(type, old, object);
    return { changed: this.#changed, removed: this.#removed };
  }

  ofField(type: FieldType, name: string, old: JsonObject, object: JsonObject): Changes {
    this.#member(type, name, old, object);
    return { changed: this.#changed, removed: this.#removed };
  }

  #step(element: string, type: FieldType, a: unknown, b: unknown): void {
    if (a === b) return;
    this.#path.push(element);
    const met = typeFor(type, a, b);
    this.#values(met, a, b);
    // Raw JSON of which one is an object, and the other a list or a scalar: the object's fields come or go, too.
    if (type.name === 'deduced' && met.name === 'leaf') this.#objects(rawObject, asObject(a), asObject(b));
    this.#path.pop();
  }

  #values(type: FieldType, a: unknown, b: unknown): void {
    if (type.name === 'leaf' || (this.#isBare(type, a) && this.#isBare(type, b))) {
      if (a === undefined) addPath(this.#changed, this.#path);
      else if (b === undefined) addPath(this.#removed, this.#path);
      else if (!this.#isSameText(type, a, b)) addPath(this.#changed, this.#path);
      return;
    }
    if (type.name === 'struct' || type.name === 'map') this.#objects(type, asObject(a), asObject(b));
    else this.#lists(type, asList(a), asList(b));
    if (a === undefined) addPath(this.#changed, this.#path);
    if (b === undefined) addPath(this.#removed, this.#path);
  }

  #isSameText(type: FieldType, a: unknown, b: unknown): boolean {
    if (!this.asWritten || a === null || b === null) return sameJson(a, b);
    // Empty containers are written as the same text.
    return type.name === 'leaf' ? type.encodesEqual(a, b) : true;
  }

  /** Whether a container is missing, null or empty. */
  #isBare(type: FieldType, value: unknown): boolean {
    if (value === undefined || value === null) return true;
    if (Array.isArray(value)) return value.length === 0;
    if (!isJsonObject(value)) return false;
    return type.name === 'struct' && this.asWritten ? isWrittenEmpty(type, value) : isEmptyObject(value);
  }

  #objects(type: FieldType, a: JsonObject | undefined, b: JsonObject | undefined): void {
    const isStruct = type.name === 'struct';
    const except = this.asWritten ? this.#exceptions() : undefined;
    if (a)
      for (const name of Object.keys(a)) {
        if (except?.has(name)) continue;
        const value = a[name];
        const other = b && ownValue(b, name);
        if (
          value === other ||
          (this.asWritten && this.#path.length === 0 && type.isSameText(name, value, other))
        )
          continue;
        if (isStruct) this.#member(type, name, a, b);
        else this.#step(`f:${name}`, type.items, value, other);
      }
    if (b)
      for (const name of Object.keys(b)) {
        if ((a && Object.hasOwn(a, name)) || except?.has(name)) continue;
        if (isStruct) this.#member(type, name, a, b);
        else this.#step(`f:${name}`, type.items, undefined, b[name]);
      }
    if (!isStruct || !this.asWritten || (a && b)) return;
    // In a new or a removed struct, fields that are always written are there, too.
    const there = a ?? b;
    for (const member of type.always)
      if (!there || !Object.hasOwn(there, member.name))
        this.#step(member.element, member.type, a ? member.unset : undefined, b ? member.unset : undefined);
  }

  #exceptions(): ReadonlySet<string> | undefined {
    if (this.#path.length === 0) return this.except;
    return this.#path.length === 1 && this.#path[0] === 'f:metadata' ? metadataNeverOwned : undefined;
  }

  #member(type: FieldType, name: string, a: JsonObject | undefined, b: JsonObject | undefined): void {
    const member = type.members.get(name);
    if (!member && type.isOpen)
      this.#step(`f:${name}`, type.under(name)!, a && ownValue(a, name), b && ownValue(b, name));
    if (!member || member.skipped) return;
    const value = (object: JsonObject | undefined): unknown => {
      if (!object) return undefined;
      const own = ownValue(object, name);
      return this.asWritten ? member.written(own) : own;
    };
    this.#step(member.element, member.type, value(a), value(b));
  }

  #lists(type: FieldType, before: readonly unknown[], after: readonly unknown[]): void {
    const [a, b] = withoutSame(type, before, after);
    const old = grouped(type, a);
    const now = grouped(type, b);
    for (const [element, items] of old) {
      const others = now.get(element);
      if (items.length === 1 && (others === undefined || others.length === 1))
        this.#step(element, type.items, items[0], others?.[0]);
      else this.#runs(element, type, items, others);
    }
    for (const [element, items] of now) {
      if (old.has(element)) continue;
      if (items.length === 1) this.#step(element, type.items, undefined, items[0]);
      else this.#runs(element, type, undefined, items);
    }
  }

  /** Items that stand in a list more than once: they are compared together, and owned without their content. */
  #runs(element: string, type: FieldType, a: unknown[] | undefined, b: unknown[] | undefined): void {
    this.#path.push(element);
    if (a && b && a.length > 1 && b.length > 1) {
      if (!sameJson(a, b)) addPath(this.#changed, this.#path);
    } else {
      for (const [items, set, isNew] of [
        [a, this.#removed, false],
        [b, this.#changed, true],
      ] as const) {
        if (!items) continue;
        if (items.length > 1) addPath(set, this.#path);
        else if (isNew) this.#values(type.items, undefined, items[0]);
        else this.#values(type.items, items[0], undefined);
      }
    }
    this.#path.pop();
  }
}

/** Items in which two lists may differ for this to be looked for. */
const differentMax = 16;

/**
 * Two lists without the items that are the same at their beginnings and ends: mostly, few items of a list change, and path
 * elements are made only of these. Not when such an item stands in a list again.
 */
function withoutSame(
  type: FieldType,
  a: readonly unknown[],
  b: readonly unknown[],
): readonly [readonly unknown[], readonly unknown[]] {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && sameJson(a[start], b[start])) start++;
  let end = 0;
  while (end < shorter - start && sameJson(a[a.length - 1 - end], b[b.length - 1 - end])) end++;
  const different = a.length + b.length - 2 * (start + end);
  if (start + end === 0 || different > differentMax) return [a, b];
  const parts = [a.slice(start, a.length - end), b.slice(start, b.length - end)] as const;
  const keys = new Set([...parts[0], ...parts[1]].map((item) => firstKey(type, item)));
  const isAgain = (item: unknown, i: number): boolean =>
    (i < start || i >= a.length - end) && keys.has(firstKey(type, item));
  return different > 0 && a.some(isAgain) ? [a, b] : parts;
}

/** A part of an item's path element: items with the same element have the same. */
function firstKey(type: FieldType, item: unknown): unknown {
  if (type.name === 'set' || !isJsonObject(item)) return typeof item === 'object' ? undefined : item;
  const [key] = type.keys;
  const value = key && (Object.hasOwn(item, key.name) ? (item[key.name] ?? null) : key.preset);
  return typeof value === 'object' ? undefined : value;
}

function grouped(type: FieldType, items: readonly unknown[]): Map<string, unknown[]> {
  const groups = new Map<string, unknown[]>();
  for (const item of items) {
    const element = itemElement(type, item);
    if (element === undefined) continue;
    const group = groups.get(element);
    if (group) group.push(item);
    else groups.set(element, [item]);
  }
  return groups;
}

/** Equality of JSON values. A key whose value is undefined is no key. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  let count = 0;
  for (const name of Object.keys(a)) {
    if (a[name] === undefined) continue;
    if (!sameJson(a[name], ownValue(b, name))) return false;
    count++;
  }
  for (const name of Object.keys(b)) if (b[name] !== undefined) count--;
  return count === 0;
}

// Merging

/** The object that results when another is applied to it; it shares what is not changed. */
export const merge = (type: FieldType, live: JsonObject, body: JsonObject): JsonObject =>
  mergeObjects(type, live, body) ?? {};

function mergeValues(declared: FieldType, live: unknown, body: unknown): unknown {
  if (body === undefined) return live;
  const type = typeFor(declared, live, body);
  if (type.name === 'leaf') return body;
  if (Array.isArray(body) || Array.isArray(live)) {
    const [ours, theirs] = [asList(live), asList(body)];
    return ours.length || theirs.length ? mergeLists(type, ours, theirs) : body;
  }
  return mergeObjects(type, asObject(live) ?? {}, asObject(body) ?? {}) ?? body;
}

/** What is not changed is shared with `live`. Undefined when both are empty. */
function mergeObjects(type: FieldType, live: JsonObject, body: JsonObject): JsonObject | undefined {
  const names = Object.keys(body);
  if (names.length === 0) return isEmptyObject(live) ? undefined : live;
  let out = live;
  for (const name of names) {
    const below = type.under(name);
    const ours = ownValue(live, name);
    const merged = below ? mergeValues(below, ours, body[name]) : (body[name] ?? ours);
    if (merged === undefined || merged === ours) continue;
    if (out === live) {
      out = {};
      for (const key of Object.keys(live)) setKey(out, key, live[key]);
    }
    setKey(out, name, merged);
  }
  return out;
}

/**
 * The items of both lists: shared ones in the order of the body, items of `live` alone before the shared item that
 * follows them.
 */
function mergeLists(type: FieldType, live: readonly unknown[], body: readonly unknown[]): unknown[] {
  const ours = grouped(type, live);
  const theirs = grouped(type, body);
  const liveElements = live.map((item) => itemElement(type, item)!);
  const bodyElements = [...theirs.keys()];
  const shared = bodyElements.filter((element) => ours.has(element));
  const out: unknown[] = [];
  let next = 0;
  const emit = (element: string): void => {
    const before = ours.get(element);
    // Where an item was in the list more than once, only that of the body remains.
    const single = before?.length === 1 ? before[0] : undefined;
    out.push(mergeValues(type.items, single, theirs.get(element)![0]));
    if (element === shared[next]) next++;
  };
  for (let i = 0, j = 0; i < live.length || j < bodyElements.length; ) {
    const element = liveElements[i];
    if (element !== undefined && element === bodyElements[j]) {
      emit(element);
      i++;
      j++;
    } else if (element !== undefined && !theirs.has(element)) {
      out.push(live[i]);
      i++;
    } else if (element !== undefined && element !== shared[next]) i++;
    else {
      emit(bodyElements[j]!);
      j++;
    }
  }
  return out;
}

// Removing

/** The value without the fields of a set. A container that is left without content becomes null. */
export function remove(declared: FieldType, value: unknown, set: FieldSet): unknown {
  const type = typeFor(declared, value, undefined);
  if (Array.isArray(value) && (type.name === 'keyed' || type.name === 'set')) {
    const out: unknown[] = [];
    for (const item of value) {
      const element = itemElement(type, item);
      const node = element === undefined ? undefined : set[element];
      if (!node) out.push(item);
      else if (!isMember(node)) out.push(remove(type.items, item, node));
    }
    return out.length ? out : null;
  }
  if (!isJsonObject(value) || (type.name !== 'struct' && type.name !== 'map')) return value;
  const out: JsonObject = {};
  for (const name of Object.keys(value)) {
    const node = set[`f:${name}`];
    const below = type.under(name);
    if (!node || !below) setKey(out, name, value[name]);
    else if (!isMember(node)) setKey(out, name, remove(below, value[name], node));
  }
  return isEmptyObject(out) ? null : out;
}
