/**
 * Values that CEL expressions compute with.
 *
 * int is a bigint, double a number; what JavaScript has no type for is a class. Lists and maps are interfaces, so that
 * JSON can be looked at in place (`json-values.ts`) instead of being converted first.
 */
import type { Budget } from './budget.ts';
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
  equals(other: ListValue, budget?: Budget): boolean {
    if (this.size !== other.size) return false;
    for (let index = 0; index < this.size; index++)
      if (!equal(this.at(index), other.at(index), budget)) return false;
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

  override concat(other: ListValue): ListValue {
    return new ItemList(this.items.concat(other instanceof ItemList ? other.items : [...other]));
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

  equals(other: MapValue, budget?: Budget): boolean {
    const { size } = this;
    budget?.charge(size * 4);
    if (size !== other.size) return false;
    return this.keys().every((key) => {
      const theirs = other.find(key);
      return theirs !== undefined && equal(this.find(key) as Value, theirs, budget);
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

/** Steps of a comparison of two values inside of others. */
const comparisonCost = 4;

/**
 * Equality; values of different types differ, apart from numbers.
 *
 * @param budget charged for each pair of values, because sizes do not tell how much is inside of them
 */
export function equal(a: Value, b: Value, budget?: Budget): boolean {
  budget?.charge(comparisonCost);
  if (a === b) return true;
  if (a === null || b === null) return false;
  if (typeof a === 'string' || typeof a === 'boolean') return false;
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.ns === b.ns;
  if (a instanceof Duration) return b instanceof Duration && a.ns === b.ns;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0;
  if (a instanceof ListValue) return b instanceof ListValue && a.equals(b, budget);
  if (a instanceof MapValue) return b instanceof MapValue && a.equals(b, budget);
  if (a instanceof TypeName) return b instanceof TypeName && a.text === b.text;
  if (a instanceof Opaque) return b instanceof Opaque && a.type === b.type && a.equals(b);
  if (!(a instanceof Optional) || !(b instanceof Optional)) return false;
  if (a.value === undefined || b.value === undefined) return a.value === b.value;
  return equal(a.value, b.value, budget);
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

const isSurrogate = (unit: number): boolean => unit >= 0xd8_00 && unit <= 0xdf_ff;

/** By code points, as Go orders strings; JavaScript orders by UTF-16 units, where surrogates are not the highest. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    const above = Number(isSurrogate(left)) - Number(isSurrogate(right));
    return above === 0 ? left - right : above;
  }
  return a.length - b.length;
}

/** For the count of costs: characters, bytes or entries; 1 for everything else. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (value instanceof ListValue || value instanceof MapValue) return value.size;
  if (value instanceof Optional && value.value !== undefined) return sizeOf(value.value);
  return 1;
}
