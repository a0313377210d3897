/**
 * Objects: the working form of everything the API stores. Plain values with own keys only; the metadata that all
 * kinds share is typed, other fields are accessed through the generated types of each kind.
 */
import type { ObjectMeta } from '../generated/types.ts';

export interface ApiObject {
  kind?: string;
  apiVersion?: string;
  metadata: ObjectMeta;
  spec?: unknown;
  status?: unknown;
}

export type JsonObject = Record<string, unknown>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Sets an own key, also `__proto__`. */
export function setKey(object: JsonObject, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

/** A deep copy. Keys stay own keys, also `__proto__`. */
export function cloneJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cloneJson);
  // Instances of classes do not change, so they are shared: managed fields are one (`managed-text.ts`).
  if (!isJsonObject(value) || isInstance(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) setKey(copy, key, cloneJson(value[key]));
  return copy;
}

function isInstance(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null;
}

/** The same value with the keys of all maps in order, as Go writes maps. */
export function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isJsonObject(value)) return value;
  const out: JsonObject = {};
  for (const key of Object.keys(value).sort()) setKey(out, key, withSortedKeys(value[key]));
  return out;
}

export function isSorted(names: readonly string[]): boolean {
  for (let i = 1; i < names.length; i++) if (names[i - 1]! > names[i]!) return false;
  return true;
}

/** Freezes a value and everything in it. */
export function freezeJson(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) freezeJson(inner);
}

/** Whether two JSON values are the same; key order does not matter. Stops at the first difference. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(b))
    return Array.isArray(a) && a.length === b.length && b.every((item, i) => sameJson(a[i], item));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(b);
  return (
    keys.length === Object.keys(a).length &&
    keys.every((key) => Object.hasOwn(a, key) && sameJson(a[key], b[key]))
  );
}

/**
 * Semantic equality, as in Kubernetes' controllers: an absent value, null, '', [] and {} are equal; key order does
 * not matter.
 */
export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isEmpty(a) && isEmpty(b)) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => semanticEqual(item, b[i]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  for (const name of Object.keys(a)) if (!semanticEqual(a[name], ownValue(b, name))) return false;
  for (const name of Object.keys(b)) if (!Object.hasOwn(a, name) && !isEmpty(b[name])) return false;
  return true;
}

const ownValue = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  if (!isJsonObject(value)) return false;
  return Object.keys(value).every((name) => isEmpty(value[name]));
}
