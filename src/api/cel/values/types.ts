/**
 * Types of CEL expressions, and which of them fit each other.
 *
 * Types that come from a schema know how large their values can be; `cost.ts` works out from that what an expression
 * costs at most.
 */

type SimpleName =
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'bool'
  | 'null'
  | 'timestamp'
  | 'duration'
  | 'dyn'
  /** The type of an expression whose error was reported already; it fits every other type. */
  | 'error';

/** Bytes of a string, entries of a list or map, at most. Absent: not known. */
interface Sized {
  readonly sizeMax?: number;
}

interface SimpleType extends Sized {
  readonly kind: SimpleName;
}
export interface ListType extends Sized {
  readonly kind: 'list';
  readonly item: Type;
}
export interface MapType extends Sized {
  readonly kind: 'map';
  readonly key: Type;
  readonly value: Type;
}
export interface ObjectType extends Sized {
  readonly kind: 'object';
  readonly name: string;
  /** Undefined for a name that is no field. */
  field(name: string): Type | undefined;
}
export interface OptionalType extends Sized {
  readonly kind: 'optional';
  readonly item: Type;
}
/** The type of a type: `type(1)`, `int`. */
interface TypeType extends Sized {
  readonly kind: 'type';
}
/** A type that only functions look into, such as `kubernetes.Quantity`. */
export interface OpaqueType extends Sized {
  readonly kind: 'opaque';
  readonly name: string;
}
/** Stands for any one type in the signature of a function. */
interface ParameterType extends Sized {
  readonly kind: 'parameter';
  readonly name: string;
}

export type Type =
  | SimpleType
  | ListType
  | MapType
  | ObjectType
  | OptionalType
  | TypeType
  | OpaqueType
  | ParameterType;

export const int: Type = { kind: 'int' };
export const uint: Type = { kind: 'uint' };
export const double: Type = { kind: 'double' };
export const string: Type = { kind: 'string' };
export const bytes: Type = { kind: 'bytes' };
export const bool: Type = { kind: 'bool' };
export const nullType: Type = { kind: 'null' };
export const timestamp: Type = { kind: 'timestamp' };
export const duration: Type = { kind: 'duration' };
export const dyn: Type = { kind: 'dyn' };
export const errorType: Type = { kind: 'error' };
export const typeType: Type = { kind: 'type' };
export const list = (item: Type, sizeMax?: number): ListType => ({ kind: 'list', item, ...size(sizeMax) });
export const map = (key: Type, value: Type, sizeMax?: number): MapType => ({
  kind: 'map',
  key,
  value,
  ...size(sizeMax),
});
export const optional = (item: Type): OptionalType => ({ kind: 'optional', item });
export const opaque = (name: string): OpaqueType => ({ kind: 'opaque', name });

/** An object with these fields. */
export function object(name: string, fields: ReadonlyMap<string, Type>): ObjectType {
  return { kind: 'object', name, field: (field) => fields.get(field) };
}

function size(sizeMax: number | undefined): Sized {
  return sizeMax === undefined ? {} : { sizeMax };
}

/** As messages show it. */
export function typeText(type: Type): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeText(type.item)})`;
    case 'map':
      return `map(${typeText(type.key)}, ${typeText(type.value)})`;
    case 'optional':
      return `optional_type(${typeText(type.item)})`;
    case 'object':
    case 'opaque':
      return type.name;
    case 'parameter':
      return 'dyn';
    case 'error':
      return '!error!';
    default:
      return type.kind;
  }
}

/** The types that the type parameters of one call stand for. Parameters are unique per call: `fresh` renames them. */
export class Substitution {
  readonly #bound: Map<string, Type>;

  constructor(bound: Map<string, Type> = new Map()) {
    this.#bound = bound;
  }

  copy(): Substitution {
    return new Substitution(new Map(this.#bound));
  }

  take(other: Substitution): void {
    for (const [name, type] of other.#bound) this.#bound.set(name, type);
  }

  /** The type with its parameters replaced, as far as they are known. */
  apply(type: Type): Type {
    switch (type.kind) {
      case 'parameter': {
        const bound = this.#bound.get(type.name);
        return bound === undefined ? type : this.apply(bound);
      }
      case 'list':
        return { ...type, item: this.apply(type.item) };
      case 'optional':
        return { ...type, item: this.apply(type.item) };
      case 'map':
        return { ...type, key: this.apply(type.key), value: this.apply(type.value) };
      default:
        return type;
    }
  }

  /** Whether a value of type `from` may stand where `to` is wanted. Binds parameters on both sides. */
  fits(to: Type, from: Type): boolean {
    const wanted = to.kind === 'parameter' ? this.apply(to) : to;
    const given = from.kind === 'parameter' ? this.apply(from) : from;
    if (wanted.kind === 'parameter') return this.#bind(wanted.name, given);
    if (given.kind === 'parameter') return this.#bind(given.name, wanted);
    if (isAnything(wanted) || isAnything(given)) return true;
    if (given.kind === 'null' && wanted.kind !== 'null') return isNullable(wanted);
    if (wanted.kind === 'null' && given.kind !== 'null') return isNullable(given);
    if (wanted.kind === 'list') return given.kind === 'list' && this.fits(wanted.item, given.item);
    if (wanted.kind === 'optional') return given.kind === 'optional' && this.fits(wanted.item, given.item);
    if (wanted.kind === 'map')
      return given.kind === 'map' && this.fits(wanted.key, given.key) && this.fits(wanted.value, given.value);
    if (wanted.kind === 'object' || wanted.kind === 'opaque')
      return given.kind === wanted.kind && given.name === wanted.name;
    return wanted.kind === given.kind;
  }

  #bind(name: string, type: Type): boolean {
    if (type.kind === 'parameter' && type.name === name) return true;
    if (mentions(this.apply(type), name)) return false;
    this.#bound.set(name, type);
    return true;
  }
}

/** The type with parameters that are not known made dyn. */
export function settled(type: Type): Type {
  switch (type.kind) {
    case 'parameter':
      return dyn;
    case 'list':
      return { ...type, item: settled(type.item) };
    case 'optional':
      return { ...type, item: settled(type.item) };
    case 'map':
      return { ...type, key: settled(type.key), value: settled(type.value) };
    default:
      return type;
  }
}

/** A copy of the type whose parameters have names of their own. */
export function fresh(type: Type, mark: string): Type {
  switch (type.kind) {
    case 'parameter':
      return { kind: 'parameter', name: `${type.name}${mark}` };
    case 'list':
      return { ...type, item: fresh(type.item, mark) };
    case 'optional':
      return { ...type, item: fresh(type.item, mark) };
    case 'map':
      return { ...type, key: fresh(type.key, mark), value: fresh(type.value, mark) };
    default:
      return type;
  }
}

/** Whether both are the same type. */
export function sameType(a: Type, b: Type): boolean {
  if (a.kind === 'list') return b.kind === 'list' && sameType(a.item, b.item);
  if (a.kind === 'optional') return b.kind === 'optional' && sameType(a.item, b.item);
  if (a.kind === 'map') return b.kind === 'map' && sameType(a.key, b.key) && sameType(a.value, b.value);
  if (a.kind === 'object' || a.kind === 'opaque' || a.kind === 'parameter')
    return b.kind === a.kind && a.name === b.name;
  return a.kind === b.kind;
}

function isAnything(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'error';
}

function isNullable({ kind }: Type): boolean {
  return (
    kind !== 'int' &&
    kind !== 'uint' &&
    kind !== 'double' &&
    kind !== 'bool' &&
    kind !== 'string' &&
    kind !== 'bytes' &&
    kind !== 'type'
  );
}

/** Whether a type has parameters in it, or one of this name. */
export function mentions(type: Type, parameter?: string): boolean {
  switch (type.kind) {
    case 'parameter':
      return parameter === undefined || type.name === parameter;
    case 'list':
    case 'optional':
      return mentions(type.item, parameter);
    case 'map':
      return mentions(type.key, parameter) || mentions(type.value, parameter);
    default:
      return false;
  }
}
