/**
 * Schemas: models as OpenAPI types. Versions 2 and 3 differ in where definitions are, in how a reference gets a
 * description of its own, and in whether a value may have several types.
 */

import { publishedSchema } from '../../../api/custom-schema/publication.ts';
import type { ChosenMinor } from '../../../api/kind/chosen-minor.ts';
import type { Descriptions } from '../../../api/model/descriptions.ts';
import type { Schema as CustomSchema } from '../../../api/model/json-schema.ts';
import {
  builtinModels,
  type Field,
  type FieldDefinition,
  type FieldType,
  type Model,
} from '../../../api/model/model.ts';
import type { JsonObject } from '../../../api/text/object.ts';
import {
  definitionName,
  type GroupVersionKind,
  groupVersionKind,
  splitApiVersion,
  type ValueName,
  valueNames,
} from '../model-names.ts';

export interface Schema {
  $ref?: string;
  description?: string;
  type?: string;
  uniqueItems?: boolean;
  format?: string;
  default?: unknown;
  enum?: readonly string[];
  required?: readonly string[];
  items?: Schema;
  /** True only in custom schemas. */
  additionalProperties?: Schema | true;
  properties?: Record<string, Schema>;
  allOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  [extension: `x-${string}`]: unknown;
}

export type Dialect = 'v2' | 'v3';

const places: Record<Dialect, string> = { v2: '#/definitions/', v3: '#/components/schemas/' };

/** Values of several or any types: OpenAPI names them without describing their content. */
const anyJson = {
  JSON: {},
  JSONSchemaPropsOrArray: {},
  JSONSchemaPropsOrBool: {},
  JSONSchemaPropsOrStringArray: {},
};

/** Quantity and int-or-string are text or number; OpenAPI 2 cannot express that. */
const values: Record<Dialect, Record<ValueName, Schema>> = {
  v2: {
    FieldsV1: { type: 'object' },
    IntOrString: { type: 'string', format: 'int-or-string' },
    ...anyJson,
    MicroTime: { type: 'string', format: 'date-time' },
    Patch: { type: 'object' },
    Quantity: { type: 'string' },
    RawExtension: { type: 'object' },
    Time: { type: 'string', format: 'date-time' },
  },
  v3: {
    FieldsV1: { type: 'object' },
    IntOrString: { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
    ...anyJson,
    MicroTime: { type: 'string', format: 'date-time' },
    Patch: { type: 'object' },
    Quantity: { oneOf: [{ type: 'string' }, { type: 'number' }] },
    RawExtension: { type: 'object' },
    Time: { type: 'string', format: 'date-time' },
  },
};

/** Fields of the answer of `/version`: those that are always there, and those since a server can emulate a minor. */
const versionFields =
  'major minor gitVersion gitCommit gitTreeState buildDate goVersion compiler platform'.split(' ');
const emulationFields = [
  'emulationMajor',
  'emulationMinor',
  'minCompatibilityMajor',
  'minCompatibilityMinor',
];
const emulatedFrom = 33;

/** Allowed values listed in a description; a longer list would hide the rest of the text. */
const namedMax = 12;

/** Steps that it takes to describe a model, and each of its fields. */
const modelSteps = 1_000;
const fieldSteps = 100;

/** The definitions of one document. A referenced model is defined, with all models it refers to. */
export class Definitions {
  readonly #schemas = new Map<string, Schema>();
  /** Models that were referred to, and have no schema yet. */
  readonly #referred: { readonly model: Model; readonly schema: Schema }[] = [];
  readonly #names = new Map<Model, string>();
  #hasRenamed = false;

  constructor(
    private readonly dialect: Dialect,
    private readonly descriptions: Descriptions,
    /** The versions in which shared kinds such as DeleteOptions appear in this document. */
    private readonly sharedIn: readonly string[] = ['v1'],
    /** The minor of Kubernetes whose documents they are. */
    private readonly minor?: ChosenMinor,
  ) {}

  get isOfMinor(): boolean {
    return this.minor !== undefined;
  }

  /** What every operation answers with when it fails; documents of a minor of Kubernetes do not say it. */
  failure(): Schema | undefined {
    return this.minor ? undefined : this.model(builtinModels.of('Status'));
  }

  /** What `/version` answers. */
  version(): Schema {
    const name = 'io.k8s.apimachinery.pkg.version.Info';
    const type = 'string';
    const always = { ...(this.dialect === 'v3' ? { default: '' } : {}), type };
    const more = this.minor && this.minor.number < emulatedFrom ? [] : emulationFields;
    this.#schemas.set(name, {
      type: 'object',
      required: versionFields,
      properties: Object.fromEntries([
        ...versionFields.map((field) => [field, always]),
        ...more.map((field) => [field, { type }]),
      ]),
    });
    return { $ref: places[this.dialect] + name };
  }

  /** Whether a model got another name, because a model before it has its own. */
  get hasRenamed(): boolean {
    return this.#hasRenamed;
  }

  /** The models that have definitions, by the names of these; definitions of values belong to none. */
  get models(): ReadonlyMap<string, Model> {
    return new Map([...this.#names].map(([model, name]) => [name, model]));
  }

  /** All definitions by name, sorted. */
  get schemas(): Record<string, Schema> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  model(given: Model): Schema {
    const model = this.#then(given);
    let name = this.#names.get(model);
    if (name === undefined) {
      name = this.#freeName(definitionName(model));
      this.#names.set(model, name);
      // A pod refers to two hundred models, directly or through others: all of them would take a long turn.
      const schema: Schema = {};
      this.#schemas.set(name, schema);
      this.#referred.push({ model, schema });
    }
    return { $ref: places[this.dialect] + name };
  }

  /** Defines what was referred to since the last call; each `yield` reports about how many steps it took. */
  *define(): Generator<number, void> {
    for (let next = this.#referred.pop(); next; next = this.#referred.pop()) {
      Object.assign(next.schema, this.#modelSchema(next.model));
      yield modelSteps + next.model.order.length * fieldSteps;
    }
  }

  /** Built-in models as the minor has them, also where a custom kind refers to one. */
  #then(model: Model): Model {
    const isCustom = model.file.includes('/');
    return (isCustom ? undefined : this.minor?.models.find(model.name, model.file)) ?? model;
  }

  /**
   * Kinds that are added at run time may have models of the same name; the second gets a suffix, as in Kubernetes.
   */
  #freeName(wished: string): string {
    let name = wished;
    for (let number = 2; this.#schemas.has(name); number++) name = `${wished}_v${number}`;
    if (name !== wished) this.#hasRenamed = true;
    return name;
  }

  value(value: ValueName): Schema {
    const name = valueNames[value];
    if (!this.#schemas.has(name))
      this.#schemas.set(name, {
        ...describedBy(this.descriptions.type(value)),
        ...values[this.dialect][value],
      });
    return { $ref: places[this.dialect] + name };
  }

  #modelSchema(model: Model): Schema {
    const { custom } = model.definition;
    if (!custom) return this.#tableSchema(model);
    const { schema, selectableFields } = custom;
    const shown = schema ? this.#customSchema(model, schema) : this.#tableSchema(model);
    const gvk = groupVersionKind(model);
    return {
      ...shown,
      'x-kubernetes-group-version-kind': [gvk],
      ...(selectableFields.length
        ? { 'x-kubernetes-selectable-fields': selectableFields.map((fieldPath) => ({ fieldPath })) }
        : {}),
    };
  }

  #customSchema(model: Model, schema: CustomSchema): Schema {
    const field = (name: string) => this.#fieldSchema(model, model.fields.get(name)!) as JsonObject;
    const meta = { apiVersion: field('apiVersion'), kind: field('kind'), metadata: field('metadata') };
    try {
      return publishedSchema(schema, this.dialect, meta, !this.minor || this.dialect === 'v3') as Schema;
    } catch {
      // A kind that cannot be described gets this placeholder, so that the others stay described.
      return { type: 'object' };
    }
  }

  #tableSchema(model: Model): Schema {
    const { required, mapType, unions } = model.definition;
    const gvks = this.#kindsOf(model);
    const properties: Record<string, Schema> = {};
    const fields = model.order.filter(({ definition }) => !definition.only11);
    for (const field of fields) properties[field.name] = this.#fieldSchema(model, field);
    return {
      ...describedBy(this.descriptions.model(model)),
      type: 'object',
      // In the order of the fields, as Kubernetes has it.
      ...(required?.length
        ? { required: fields.map(({ name }) => name).filter((name) => required.includes(name)) }
        : {}),
      ...(fields.length ? { properties } : {}),
      ...(gvks.length ? { 'x-kubernetes-group-version-kind': gvks } : {}),
      ...(mapType ? { 'x-kubernetes-map-type': mapType } : {}),
      ...(unions ? { 'x-kubernetes-unions': unions } : {}),
    };
  }

  #kindsOf(model: Model): GroupVersionKind[] {
    const gvk = groupVersionKind(model);
    if (!gvk || !sharedKinds.has(model.name)) return gvk ? [gvk] : [];
    return this.sharedIn.map((apiVersion) => {
      const { group, version } = splitApiVersion(apiVersion);
      return { group, kind: model.name, version };
    });
  }

  #fieldSchema(model: Model, field: Field): Schema {
    const plain = this.#typeSchema(field);
    // Documents have had closed sets of values since 1.24.
    const type = this.minor && this.minor.number < 24 ? plain : withEnum(plain, field.definition);
    const more = {
      ...describedBy(withValues(this.descriptions.field(model, field), field.definition)),
      ...this.#defaultOf(model, field),
      ...extensionsOf(field.definition),
    };
    if (type.$ref === undefined || this.dialect === 'v2') return { ...more, ...type };
    // In OpenAPI 3.0 other keys beside a `$ref` are ignored.
    return Object.keys(more).length ? { ...more, allOf: [type] } : type;
  }

  /**
   * Version 2 shows no defaults. Version 3 shows those of the table, and the zero value of a field that is always
   * written.
   */
  #defaultOf({ definition: { custom } }: Model, field: Field): Schema {
    if (this.dialect === 'v2') return {};
    const { definition, empty } = field;
    if (definition.default !== undefined) return { default: definition.default };
    return empty === 'zero' && !custom ? zeroOf(field) : {};
  }

  /** What a list or a map holds. Version 3 shows its zero value, but not that of a custom kind. */
  #innerSchema(field: Field): Schema {
    const type = this.#typeSchema(field);
    const isCustom = field.type === 'model' && field.model.definition.custom !== undefined;
    const zero = this.dialect === 'v3' && !isCustom ? zeroOf(field) : {};
    if (type.$ref === undefined || zero.default === undefined) return { ...zero, ...type };
    return { ...zero, allOf: [type] };
  }

  #typeSchema(field: Field): Schema {
    switch (field.type) {
      case 'model':
        return this.model(field.model);
      case 'array':
        return {
          type: 'array',
          items: holdsAnyValue(field.definition) ? this.value('JSON') : this.#innerSchema(field.items!),
        };
      case 'map':
        return { type: 'object', additionalProperties: this.#innerSchema(field.values!) };
      case 'quantity':
        return this.value('Quantity');
      case 'int-or-string':
        return this.value('IntOrString');
      case 'time':
        return this.value('Time');
      case 'microtime':
        return this.value('MicroTime');
      case 'union':
        return this.value(unionName(field.definition));
      case 'raw':
        if (isAnyValue(field.definition)) return this.value('JSON');
        return this.value(field.definition.pb?.at(-1) === 'FieldsV1' ? 'FieldsV1' : 'RawExtension');
      case 'bytes':
        return { type: 'string', format: 'byte' };
      default:
        return { type: field.type, ...(field.definition.format ? { format: field.definition.format } : {}) };
    }
  }
}

/** Kinds that every version has. */
const sharedKinds: ReadonlySet<string> = new Set(['DeleteOptions', 'WatchEvent']);

const zeros: { readonly [type in FieldType]?: unknown } = {
  string: '',
  integer: 0,
  number: 0,
  boolean: false,
  model: {},
};

/** The zero value as a default; nothing for types that have no zero value in Kubernetes' documents. */
function zeroOf({ type, ptr }: Field): Schema {
  const zero = ptr ? undefined : zeros[type];
  return zero === undefined ? {} : { default: zero };
}

/** A value of any JSON type; other raw fields hold an object. */
const isAnyValue = ({ pb }: FieldDefinition): boolean => pb?.at(-1) === 'JSON';

/** A list of such values, such as the enum of a custom schema. */
const holdsAnyValue = ({ pb }: FieldDefinition): boolean => pb?.at(-1) === 'repeated JSON';

/** The name of a type that is a schema or one of its alternatives, such as a boolean. */
function unionName({ union }: FieldDefinition): ValueName {
  if (union?.includes('boolean')) return 'JSONSchemaPropsOrBool';
  return union?.includes('array of string') ? 'JSONSchemaPropsOrStringArray' : 'JSONSchemaPropsOrArray';
}

const describedBy = (description: string | undefined): Schema => (description ? { description } : {});

/** The enum of a list applies to its items; field tables put it at the list. */
function withEnum(type: Schema, { enum: closed }: FieldDefinition): Schema {
  if (!closed) return type;
  if (type.items) return { ...type, items: { ...type.items, enum: closed } };
  if (typeof type.additionalProperties === 'object')
    return { ...type, additionalProperties: { ...type.additionalProperties, enum: closed } };
  return { ...type, enum: closed };
}

/** Lists the allowed values in the description, because few tools show an enum. */
function withValues(description: string | undefined, definition: FieldDefinition): string | undefined {
  const { enum: closed, known } = definition;
  const named = (closed ?? known)?.filter((value) => value !== '');
  if (!named?.length || named.length > namedMax) return description;
  const values = `${closed ? 'One of' : 'Known values'}: ${named.join(', ')}.`;
  return description ? `${description} ${values}` : values;
}

function extensionsOf(definition: FieldDefinition): Schema {
  const { listKeys, listType, mapType, patchMergeKey, patchStrategy, unlisted } = definition;
  return {
    ...(listKeys && !unlisted ? { 'x-kubernetes-list-map-keys': listKeys } : {}),
    ...(listType && !unlisted ? { 'x-kubernetes-list-type': listType } : {}),
    ...(mapType ? { 'x-kubernetes-map-type': mapType } : {}),
    ...(patchMergeKey ? { 'x-kubernetes-patch-merge-key': patchMergeKey } : {}),
    ...(patchStrategy ? { 'x-kubernetes-patch-strategy': patchStrategy } : {}),
  };
}
