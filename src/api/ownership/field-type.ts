/**
 * Field types: what can be owned in a value, worked out once per model. A scalar or an atomic value is owned as a whole;
 * of structs, maps, keyed lists and sets, each field, entry or item is owned by itself.
 */
import { isSameField } from '../model/encoded-equality.ts';
import type { Field, Model } from '../model/model.ts';
import { jsonText } from '../text/json-text.ts';
import { isJsonObject, type JsonObject } from '../text/object.ts';

/** `deduced` values (raw JSON) have the type that the value has: objects are maps, everything else is a leaf. */
type TypeName = 'leaf' | 'struct' | 'map' | 'keyed' | 'set' | 'deduced';

/** A key of the items in a keyed list. */
interface Key {
  readonly name: string;
  /** The value for items without the key; undefined: no default. */
  readonly preset: string | number | boolean | undefined;
}

export class FieldType {
  #members: ReadonlyMap<string, Member> | undefined;
  #always: readonly Member[] | undefined;
  #items: FieldType | undefined;
  #keys: readonly Key[] | undefined;

  constructor(
    readonly name: TypeName,
    /** The model of a struct; undefined for other types. */
    readonly model: Model | undefined,
    /** The field of the entries of a map or of the items of a list; for a leaf, its own field. */
    private readonly itemField: Field | undefined,
    private readonly keyNames: readonly string[] = [],
  ) {}

  /** Whether a struct may have fields that its model does not name; they are entries with the type of their value. */
  get isOpen(): boolean {
    return this.model?.definition.open === true;
  }

  /** The type of what an object has under a name; undefined when it may not be there. */
  under(name: string): FieldType | undefined {
    if (this.name !== 'struct') return this.items;
    return this.members.get(name)?.type ?? (this.isOpen ? deduced : undefined);
  }

  /** Whether that is a field of a struct: other than entries, fields are no members of a set for what is in them. */
  isField(name: string): boolean {
    return this.name === 'struct' && this.members.has(name);
  }

  /** The fields of a struct. Found on first use, because models may be recursive. */
  get members(): ReadonlyMap<string, Member> {
    this.#members ??= new Map(this.model!.order.map((field) => [field.name, new Member(field, this.model!)]));
    return this.#members;
  }

  /** The fields of a struct that are written also when they are unset. */
  get always(): readonly Member[] {
    this.#always ??= [...this.members.values()].filter((member) => member.unset !== undefined);
    return this.#always;
  }

  /** The type of entries and items. */
  get items(): FieldType {
    this.#items ??= this.itemField ? typeOf(this.itemField) : deduced;
    return this.#items;
  }

  /** Whether two values of a leaf are written as the same text. */
  encodesEqual(a: unknown, b: unknown): boolean {
    return this.itemField ? isSameField(this.itemField, a, b) : jsonText(a) === jsonText(b);
  }

  /** Whether two values of a field of a struct are written as the same text: most writes change one part of an object, and no other is walked. */
  isSameText(name: string, a: unknown, b: unknown): boolean {
    const member = this.members.get(name);
    return member !== undefined && isSameField(member.field, a, b);
  }

  get keys(): readonly Key[] {
    this.#keys ??= [...this.keyNames].sort().map((name) => ({
      name,
      // Items that are owned as a whole have keys with defaults, too.
      preset: this.itemField?.type === 'model' ? presetOf(this.itemField.model, name) : undefined,
    }));
    return this.#keys;
  }
}

const emptyList: readonly unknown[] = Object.freeze([]);
const emptyObject: JsonObject = Object.freeze({});

/** A field of a struct. */
export class Member {
  readonly name: string;
  /** Its path element. */
  readonly element: string;
  /** How an unset field is written; undefined: it is left out. */
  readonly unset: unknown;
  /** Whether the field is not compared, because it is about ownership itself. */
  readonly skipped: boolean;
  #type: FieldType | undefined;

  constructor(
    readonly field: Field,
    model: Model,
  ) {
    this.name = field.name;
    this.element = `f:${field.name}`;
    this.unset = unsetValue(field);
    this.skipped = field.name === 'managedFields' && model.name === 'ObjectMeta';
  }

  get type(): FieldType {
    this.#type ??= typeOf(this.field);
    return this.#type;
  }

  /** The value as it is written: undefined when the field is left out. */
  written(value: unknown): unknown {
    const { field } = this;
    if (value === null && field.definition.keepsNull) return null;
    if (value === undefined || value === null) return this.unset;
    if (field.ptr || field.type === 'raw' || field.type === 'union') return value;
    switch (field.type) {
      case 'model':
        return field.empty === 'zero' || !isWrittenEmpty(structOf(field.model), value as JsonObject)
          ? value
          : this.unset;
      case 'array':
        return (value as unknown[]).length ? value : this.unset;
      case 'map':
        return isEmptyObject(value as JsonObject) ? this.unset : value;
      default:
        return value === '' || value === 0 || value === false ? this.unset : value;
    }
  }
}

function unsetValue(field: Field): unknown {
  if (field.empty === undefined) return undefined;
  if (field.type === 'array') return field.definition.nullList ? null : emptyList;
  if (field.empty !== 'zero') return null;
  switch (field.type) {
    case 'map':
    case 'model':
      return emptyObject;
    case 'integer':
    case 'number':
    case 'int-or-string':
      return 0;
    case 'boolean':
      return false;
    case 'quantity':
      return '0';
    case 'string':
      return '';
    default:
      return null;
  }
}

export function isEmptyObject(object: JsonObject): boolean {
  for (const name in object) if (Object.hasOwn(object, name)) return false;
  return true;
}

/** Whether a struct is written as `{}`. */
export function isWrittenEmpty(type: FieldType, value: JsonObject): boolean {
  if (type.always.length) return false;
  for (const name in value)
    if (Object.hasOwn(value, name)) {
      const member = type.members.get(name);
      if (member ? member.written(value[name]) !== undefined : type.isOpen) return false;
    }
  return true;
}

const leafOf = (field: Field): FieldType => new FieldType('leaf', undefined, field);

const deducedLeaf = new FieldType('leaf', undefined, undefined);
export const deduced = new FieldType('deduced', undefined, undefined);
const deducedMap = new FieldType('map', undefined, undefined);

const structs = new WeakMap<Model, FieldType>();

/** The type of a model's objects. */
export function structOf(model: Model): FieldType {
  let type = structs.get(model);
  if (!type) {
    type = new FieldType('struct', model, undefined);
    structs.set(model, type);
  }
  return type;
}

export function typeOf(field: Field): FieldType {
  const { definition } = field;
  switch (field.type) {
    case 'raw':
    case 'union':
      return deduced;
    case 'array':
      if (definition.listType === 'set') return new FieldType('set', undefined, field.items);
      if (definition.listType === 'map')
        return new FieldType('keyed', undefined, field.items, definition.listKeys);
      return leafOf(field);
    case 'map':
      return definition.mapType === 'atomic' ? leafOf(field) : new FieldType('map', undefined, field.values);
    case 'model':
      return (definition.mapType ?? field.model.definition.mapType) === 'atomic'
        ? leafOf(field)
        : structOf(field.model);
    default:
      return leafOf(field);
  }
}

/** The type of values that meet at a field: raw JSON is a map if one of them is an object and the other, too, or null. */
export function typeFor(type: FieldType, a: unknown, b: unknown): FieldType {
  if (type.name !== 'deduced') return type;
  const fits = (value: unknown): boolean => value === undefined || value === null || isJsonObject(value);
  return fits(a) && fits(b) && (isJsonObject(a) || isJsonObject(b)) ? deducedMap : deducedLeaf;
}

/** The type at an element below a type; undefined when there is no such element. */
export function typeBelow(type: FieldType, element: string): FieldType | undefined {
  switch (type.name) {
    case 'struct':
      return type.under(element.slice(2));
    case 'leaf':
      return undefined;
    case 'deduced':
      return deduced;
    default:
      return type.items;
  }
}

/** The schema's default of a key: its zero value, if nothing else. References to objects are without any. */
function presetOf(model: Model, name: string): Key['preset'] {
  const field = model.fields.get(name);
  if (!field) return undefined;
  const { default: preset } = field.definition;
  if (typeof preset === 'string' || typeof preset === 'number' || typeof preset === 'boolean') return preset;
  if (field.ptr || model.name === 'ObjectReference') return undefined;
  if (field.type === 'integer' || field.type === 'number') return 0;
  return field.type === 'boolean' ? false : '';
}
