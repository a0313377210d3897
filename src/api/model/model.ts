/**
 * Models: the types of all objects, compiled from field tables.
 *
 * A table is data (`kinds/<group>/*.fields.json`); a Model is the same data linked for fast use: fields by name, in
 * wire order, references resolved. Decoding, pruning, patches, protobuf and encoding all use it, so a type is defined
 * once. Models are compiled on first use, because a start needs few of them.
 *
 * The models of the built-in tables are compiled once per process and never change. A kind that is added at run time
 * has its own models (`modelsOf`). Only the kind refers to them, so they are collected with it.
 */

import { fieldTables } from '../generated/field-tables.ts';
import type { Schema } from './json-schema.ts';

/** One field as the tables write it. The `legend` in each table explains every key. */
export interface FieldDefinition {
  type?:
    | 'string'
    | 'integer'
    | 'number'
    | 'boolean'
    | 'object'
    | 'array'
    | 'map'
    | 'quantity'
    | 'int-or-string';
  format?: string;
  ref?: string;
  items?: FieldDefinition;
  values?: FieldDefinition;
  ptr?: boolean;
  /** Null is a value of its own, and not the same as unset. */
  keepsNull?: boolean;
  empty?: 'null' | 'zero';
  /** An unset list is written null. Others are written `[]`, because clients that require a list refuse null. */
  nullList?: boolean;
  raw?: boolean;
  /** What a raw value may be: a model, and `boolean`, `array of` a model or `array of string`. */
  union?: string[];
  micro?: boolean;
  off?: boolean;
  /** Never written, because the gate of the field is off in this minor. */
  unwritten?: boolean;
  only11?: boolean;
  since11?: boolean;
  enum?: string[];
  known?: string[];
  gate?: string;
  default?: unknown;
  listType?: 'atomic' | 'set' | 'map';
  listKeys?: string[];
  mapType?: 'atomic' | 'granular';
  patchStrategy?: string;
  patchMergeKey?: string;
  /** How the list is merged is not written down in the documents of this minor, although it is merged so. */
  unlisted?: boolean;
  pb?: (number | string)[];
  /** Description of the field; those of the built-in tables are in a separate file. */
  description?: string;
}

/** What documents show of a custom kind beyond the few fields of its model. */
interface CustomModel {
  /** The kind's schema; undefined for the model of its lists. */
  readonly schema: Schema | undefined;
  /** The name of the model of its lists. */
  readonly listKind: string;
  /** Paths of fields that can be selected by, such as `spec.color`. */
  readonly selectableFields: readonly string[];
}

export interface ModelDefinition {
  gvk?: string;
  required?: string[];
  order: string[];
  mapType?: 'atomic';
  /** Which fields exclude each other, as documents show it. */
  unions?: readonly object[];
  fields: Record<string, FieldDefinition>;
  /** Objects may have further fields, of any value, which are kept as they are. */
  open?: boolean;
  /** What models of custom kinds have in addition. */
  custom?: CustomModel;
  description?: string;
}

export interface FieldTableFile {
  apiVersion: string;
  models: Record<string, ModelDefinition>;
}

export type FieldType =
  | 'string'
  | 'time'
  | 'microtime'
  | 'bytes'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'quantity'
  | 'int-or-string'
  | 'raw'
  | 'union'
  | 'array'
  | 'map'
  | 'model';

/** One field, ready to use. `items` (arrays) and `values` (maps) are fields without a name. */
export class Field {
  readonly type: FieldType;
  readonly items: Field | undefined;
  readonly values: Field | undefined;
  /** Unset and zero are distinct for this field. */
  readonly ptr: boolean;
  /** How an unset field is written; undefined means it is left out. */
  readonly empty: 'null' | 'zero' | undefined;
  /** An empty list is distinct from none: it clears the field. */
  readonly keepsEmpty: boolean;
  /** Dropped silently on write, because its feature gate is off. */
  readonly off: boolean;
  readonly int32: boolean;
  /** Strategic merge: the list is merged rather than replaced, by this key when it holds objects. */
  readonly mergeList: boolean;
  readonly mergeKey: string | undefined;
  readonly retainKeys: boolean;
  /** Strategic merge: the object is replaced rather than merged. */
  readonly replaced: boolean;
  /** Protobuf field number; several numbers when the field sits in embedded messages. */
  readonly pb: readonly number[];
  #model: Model | undefined;

  constructor(
    readonly name: string,
    readonly definition: FieldDefinition,
    private readonly file: string,
    private readonly models: Models = builtinModels,
  ) {
    this.type = fieldType(definition);
    this.items = definition.items && new Field('', definition.items, file, models);
    this.values = definition.values && new Field('', definition.values, file, models);
    this.ptr = definition.ptr === true;
    this.empty = definition.empty;
    this.keepsEmpty = definition.items?.ref === 'ManagedFieldsEntry';
    this.off = definition.off === true;
    this.int32 = definition.format === 'int32';
    const strategy = definition.patchStrategy?.split(',') ?? [];
    this.mergeList = strategy.includes('merge');
    this.retainKeys = strategy.includes('retainKeys');
    this.replaced = strategy.includes('replace');
    this.mergeKey = definition.patchMergeKey;
    this.pb = (definition.pb ?? []).filter((part): part is number => typeof part === 'number');
  }

  /** The model of an object field; only for the types `model` and `union`. */
  get model(): Model {
    this.#model ??= this.models.of(this.definition.ref ?? this.definition.union![0]!, this.file);
    return this.#model;
  }
}

export class Model {
  readonly fields: ReadonlyMap<string, Field>;
  /** Whether its objects have a form in protobuf; those of kinds that are added at run time have none. */
  readonly hasMessage: boolean;
  /** Fields in the order they are written; fields missing from the table's order come last. */
  readonly order: readonly Field[];

  constructor(
    readonly name: string,
    /** The name of its table; for one that is added at run time, its version: `example.com/v1`. */
    readonly file: string,
    readonly definition: ModelDefinition,
    /** Resolves the models that this one refers to. */
    readonly models: Models = builtinModels,
  ) {
    const fields = new Map<string, Field>();
    for (const name of Object.keys(definition.fields)) {
      // Every JavaScript object inherits it.
      if (name === '__proto__') throw new Error(`the model ${this.name} has a field called __proto__`);
      fields.set(name, new Field(name, definition.fields[name]!, file, models));
    }
    this.fields = fields;
    this.hasMessage = [...fields.values()].some(({ pb }) => pb.length > 0);
    const ordered = new Set<Field>();
    for (const name of definition.order) {
      const field = fields.get(name);
      if (!field) throw new Error(`the model ${this.name} has no field ${name} to be written`);
      ordered.add(field);
    }
    for (const field of fields.values()) ordered.add(field);
    this.order = [...ordered];
  }
}

/** Models by name, compiled from some tables, with a parent as fallback. */
export class Models {
  readonly #compiled = new Map<string, Model>();

  constructor(
    private readonly files: Readonly<Record<string, FieldTableFile>>,
    private readonly parent?: Models,
  ) {}

  /** Finds a model by name, as `Name` within `file` or as `file:Name`. */
  of(ref: string, file = 'core-v1'): Model {
    const model = this.find(ref, file);
    if (!model) throw new Error(`there is no model ${modelId(ref, file)} in the field tables`);
    return model;
  }

  /** Finds a model; undefined when it does not exist. */
  find(ref: string, file = 'core-v1'): Model | undefined {
    const id = modelId(ref, file);
    const known = this.#compiled.get(id);
    if (known) return known;
    const colon = id.lastIndexOf(':');
    const [where, name] = [id.slice(0, colon), id.slice(colon + 1)];
    const definitions = Object.hasOwn(this.files, where) ? this.files[where]!.models : {};
    if (!Object.hasOwn(definitions, name)) return this.parent?.find(ref, file);
    const model = new Model(name, where, definitions[name]!, this);
    this.#compiled.set(id, model);
    return model;
  }
}

/** The models of the built-in tables. */
export const builtinModels = new Models(fieldTables);

/** Finds a model of the built-in tables by name, as `Name` within `file` or as `file:Name`. */
export const modelOf = (ref: string, file = 'core-v1'): Model => builtinModels.of(ref, file);

/** Finds a model; undefined when it does not exist. */
export const findModel = (ref: string, file = 'core-v1'): Model | undefined => builtinModels.find(ref, file);

/**
 * The models of a table that is added at run time, by name. They may refer to each other, and to built-in ones as
 * `core-v1:ObjectMeta`. A list model is added for a kind that has none.
 *
 * @public for kinds that are defined while the server runs
 */
export function modelsOf(table: FieldTableFile): (name: string) => Model {
  if (!table.apiVersion.includes('/')) throw new Error('a table that comes at run time needs a group');
  const lists: Record<string, ModelDefinition> = {};
  for (const [name, { order, custom }] of Object.entries(table.models))
    if (order[0] === 'kind' && order.includes('metadata'))
      lists[custom?.listKind ?? `${name}List`] = listDefinition(name, custom);
  const models = new Models(
    { [table.apiVersion]: { ...table, models: { ...lists, ...table.models } } },
    builtinModels,
  );
  return (name) => models.of(name, table.apiVersion);
}

const listDefinition = (name: string, custom: CustomModel | undefined): ModelDefinition => ({
  ...(custom
    ? { description: `${custom.listKind} is a list of ${name}`, custom: { ...custom, schema: undefined } }
    : {}),
  required: ['items'],
  order: ['kind', 'apiVersion', 'metadata', 'items'],
  fields: {
    kind: { type: 'string' },
    apiVersion: { type: 'string' },
    metadata: { ref: 'core-v1:ListMeta', empty: 'zero' },
    items: { type: 'array', items: { ref: name }, empty: 'null' },
  },
});

const modelId = (ref: string, file: string): string => (ref.includes(':') ? ref : `${file}:${ref}`);

function fieldType(definition: FieldDefinition): FieldType {
  if (definition.ref) return 'model';
  if (definition.union) return 'union';
  if (definition.raw || definition.type === 'object') return 'raw';
  if (definition.type === 'string') {
    if (definition.format === 'date-time') return definition.micro ? 'microtime' : 'time';
    if (definition.format === 'byte') return 'bytes';
  }
  return definition.type as FieldType;
}
