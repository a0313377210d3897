/**
 * Values that CEL expressions compute with.
 *
 * int is a bigint, double a number; what JavaScript has no type for is a class. Lists and maps are interfaces, so that
 * JSON can be looked at in place (`jsonvalues.ts`) instead of being converted first.
 */
import type { Type } from './types.ts';

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint
  | Uint8Array
  | Timestamp
  | Duration
  | Optional
  | TypeName
  | Opaque
  | ListValue
  | MapValue;

/** An error at run time. `&&`, `||`, `all` and `exists` hide it when another operand decides. */
export class CelError extends Error {
  override readonly name: string = 'CelError';
}

/** No function takes values of these types. Kubernetes words it in a way of its own. */
export class NoSuchOverload extends CelError {
  override readonly name = 'NoSuchOverload';
  constructor() {
    super('no such overload');
  }
}

export class Uint {
  constructor(readonly value: bigint) {}
}

/** Nanoseconds since 1970. */
export class Timestamp {
  constructor(readonly ns: bigint) {}
}

export class Duration {
  constructor(readonly ns: bigint) {}
}

export class Optional {
  static readonly none = new Optional(undefined);
  constructor(readonly value: Value | undefined) {}
}

export class TypeName {
  constructor(readonly text: string) {}
}

/** A value that only functions look into. */
export abstract class Opaque {
  abstract readonly type: string;
  abstract equals(other: Opaque): boolean;
}

export abstract class ListValue {
  abstract readonly size: number;
  abstract at(index: number): Value;

  *[Symbol.iterator](): Iterator<Value> {
    for (let index = 0; index < this.size; index++) yield this.at(index);
  }

  /** Lists with keys or set semantics compare in ways of their own. */
  equals(other: ListValue): boolean {
    if (this.size !== other.size) return false;
    for (let index = 0; index < this.size; index++) if (!equal(this.at(index), other.at(index))) return false;
    return true;
  }

  concat(other: ListValue): ListValue {
    return new ItemList([...this, ...other]);
  }
}

export class ItemList extends ListValue {
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    super();
    this.items = items;
  }

  get size(): number {
    return this.items.length;
  }

  at(index: number): Value {
    return this.items[index] as Value;
  }

  override [Symbol.iterator](): Iterator<Value> {
    return this.items[Symbol.iterator]();
  }
}

export abstract class MapValue {
  abstract readonly size: number;
  /** Undefined for a key that is not there. */
  abstract find(key: Value): Value | undefined;
  abstract keys(): readonly Value[];

  /** Name of the type, for `type(x)`. */
  get typeName(): string {
    return 'map';
  }

  equals(other: MapValue): boolean {
    if (this.size !== other.size) return false;
    return this.keys().every((key) => {
      const theirs = other.find(key);
      return theirs !== undefined && equal(this.find(key) as Value, theirs);
    });
  }
}

export class EntryMap extends MapValue {
  readonly #entries: ReadonlyMap<string, readonly [Value, Value]>;

  constructor(entries: ReadonlyMap<string, readonly [Value, Value]>) {
    super();
    this.#entries = entries;
  }

  /** Throws when a key repeats or is no possible key. */
  static of(pairs: Iterable<readonly [Value, Value]>): EntryMap {
    const entries = new Map<string, readonly [Value, Value]>();
    for (const pair of pairs) {
      const text = keyText(pair[0]);
      if (text === undefined) throw new CelError(`unsupported key type: ${typeName(pair[0])}`);
      if (entries.has(text)) throw new CelError(`Failed with repeated key: ${keyShown(pair[0])}`);
      entries.set(text, pair);
    }
    return new EntryMap(entries);
  }

  get size(): number {
    return this.#entries.size;
  }

  find(key: Value): Value | undefined {
    const text = keyText(key);
    return text === undefined ? undefined : this.#entries.get(text)?.[1];
  }

  keys(): readonly Value[] {
    return Array.from(this.#entries.values(), ([key]) => key);
  }
}

/** An object made by an expression, such as `Object{…}`; fields that were not set are not there. */
export class StructValue extends MapValue {
  readonly name: string;
  readonly fields: ReadonlyMap<string, Value>;

  constructor(name: string, fields: ReadonlyMap<string, Value>) {
    super();
    this.name = name;
    this.fields = fields;
  }

  override get typeName(): string {
    return this.name;
  }

  get size(): number {
    return this.fields.size;
  }

  find(key: Value): Value | undefined {
    return typeof key === 'string' ? this.fields.get(key) : undefined;
  }

  keys(): readonly Value[] {
    return [...this.fields.keys()];
  }
}

/** Numbers that are equal are the same key, whatever their type. */
function keyText(key: Value): string | undefined {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'boolean') return `b${key}`;
  if (typeof key === 'bigint') return `n${key}`;
  if (key instanceof Uint) return `n${key.value}`;
  if (typeof key === 'number' && Number.isInteger(key)) return `n${BigInt(key)}`;
  return undefined;
}

/** A key in messages: `no such key: a`. */
export function keyShown(key: Value): string {
  if (key instanceof Uint) return String(key.value);
  return typeof key === 'object' ? typeName(key) : String(key);
}

/** The name that `type(x)` has and that errors of conversion show. */
export function typeName(value: Value): string {
  if (value === null) return 'null_type';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'string':
      return 'string';
  }
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Optional) return 'optional_type';
  if (value instanceof TypeName) return 'type';
  if (value instanceof ListValue) return 'list';
  if (value instanceof MapValue) return value.typeName;
  return value.type;
}

/** Whether a value may be an argument of this type. What is inside of lists and maps is not looked at. */
export function isOfType(value: Value, type: Type): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'error':
    case 'parameter':
      return true;
    case 'int':
      return typeof value === 'bigint';
    case 'uint':
      return value instanceof Uint;
    case 'double':
      return typeof value === 'number';
    case 'string':
      return typeof value === 'string';
    case 'bytes':
      return value instanceof Uint8Array;
    case 'bool':
      return typeof value === 'boolean';
    case 'null':
      return value === null;
    case 'timestamp':
      return value instanceof Timestamp;
    case 'duration':
      return value instanceof Duration;
    case 'list':
      return value instanceof ListValue;
    case 'map':
      return value instanceof MapValue;
    case 'object':
      return value instanceof MapValue;
    case 'optional':
      return value instanceof Optional;
    case 'type':
      return value instanceof TypeName;
    case 'opaque':
      return value instanceof Opaque && value.type === type.name;
  }
}

/** Equality; values of different types differ, apart from numbers. */
export function equal(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  if (typeof a === 'string' || typeof a === 'boolean') return false;
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.ns === b.ns;
  if (a instanceof Duration) return b instanceof Duration && a.ns === b.ns;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0;
  if (a instanceof ListValue) return b instanceof ListValue && a.equals(b);
  if (a instanceof MapValue) return b instanceof MapValue && a.equals(b);
  if (a instanceof TypeName) return b instanceof TypeName && a.text === b.text;
  if (a instanceof Opaque) return b instanceof Opaque && a.type === b.type && a.equals(b);
  if (!(a instanceof Optional) || !(b instanceof Optional)) return false;
  if (a.value === undefined || b.value === undefined) return a.value === b.value;
  return equal(a.value, b.value);
}

export type NumberValue = bigint | number | Uint;

export function isNumber(value: Value): value is NumberValue {
  return typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint;
}

/** Negative, zero or positive; NaN when one of them is no number. */
export function compareNumbers(a: NumberValue, b: NumberValue): number {
  const left = a instanceof Uint ? a.value : a;
  const right = b instanceof Uint ? b.value : b;
  if (left < right) return -1;
  if (left > right) return 1;
  // biome-ignore lint/suspicious/noDoubleEquals: only `==` compares a bigint with a number by value.
  return left == right ? 0 : Number.NaN;
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    const difference = (a[index] as number) - (b[index] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const surrogates = /[\ud800-\udfff]/;

/** Whether each character is one UTF-16 unit, so that positions and lengths of JavaScript are those of CEL. */
export const isFlat = (text: string): boolean => !surrogates.test(text);

/** By code points, as Go orders strings; JavaScript orders by UTF-16 units. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  if (isFlat(a) || isFlat(b)) {
    if (isFlat(a) && isFlat(b)) return a < b ? -1 : 1;
  }
  const left = Array.from(a);
  const right = Array.from(b);
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index++) {
    const difference =
      ((left[index] as string).codePointAt(0) ?? 0) - ((right[index] as string).codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** For the count of costs: characters, bytes or entries; 1 for everything else. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (value instanceof ListValue || value instanceof MapValue) return value.size;
  if (value instanceof Optional && value.value !== undefined) return sizeOf(value.value);
  return 1;
}
