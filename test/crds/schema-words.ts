/** Words to write schemas of made-up kinds with, and the form of a kind that the tests go through. */

export interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  [keyword: string]: unknown;
}

type Fields = Record<string, Schema>;

export const text = (description: string, more: object = {}): Schema => ({
  type: 'string',
  description,
  ...more,
});
export const name = (description: string): Schema => text(description, { minLength: 1, maxLength: 253 });
export const whole = (description: string, more: object = {}): Schema => ({
  type: 'integer',
  format: 'int32',
  description,
  ...more,
});
export const count = (description: string, more: object = {}): Schema =>
  whole(description, { minimum: 0, ...more });
export const port = (description: string): Schema => whole(description, { minimum: 1, maximum: 65_535 });
export const flag = (description: string, more: object = {}): Schema => ({
  type: 'boolean',
  description,
  ...more,
});
export const choice = (description: string, values: readonly string[], more: object = {}): Schema =>
  text(description, { enum: values, ...more });
export const time = (description: string): Schema => text(description, { format: 'date-time' });
export const span = (description: string, more: object = {}): Schema =>
  text(description, { pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$', maxLength: 32, ...more });
export const amount = (description: string): Schema => ({
  description,
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  pattern: '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?[0-9]+))?$',
  'x-kubernetes-int-or-string': true,
});
export const share = (description: string, more: object = {}): Schema => ({
  description,
  'x-kubernetes-int-or-string': true,
  ...more,
});
export const fields = (
  description: string,
  properties: Fields,
  required: readonly string[] = [],
  more: object = {},
): Schema => ({
  type: 'object',
  description,
  properties,
  ...(required.length && { required }),
  ...more,
});
export const list = (description: string, items: Schema, more: object = {}): Schema => ({
  type: 'array',
  description,
  items,
  ...more,
});
export const set = (description: string, items: Schema = { type: 'string' }, more: object = {}): Schema =>
  list(description, items, { 'x-kubernetes-list-type': 'set', ...more });
export const keyed = (
  description: string,
  keys: readonly string[],
  items: Schema,
  more: object = {},
): Schema =>
  list(description, items, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys, ...more });
export const entries = (
  description: string,
  values: Schema = { type: 'string' },
  more: object = {},
): Schema => ({
  type: 'object',
  description,
  additionalProperties: values,
  ...more,
});
export const free = (description: string): Schema => ({
  type: 'object',
  description,
  'x-kubernetes-preserve-unknown-fields': true,
});
export const rule = (expression: string, message: string): object => ({ rule: expression, message });
export const ruled = (schema: Schema, ...rules: object[]): Schema => ({
  ...schema,
  'x-kubernetes-validations': rules,
});

/** The same object schema without some fields. */
export function without(schema: Schema, ...names: string[]): Schema {
  const properties = Object.fromEntries(
    Object.entries(schema.properties!).filter(([field]) => !names.includes(field)),
  );
  const required = ((schema.required as string[] | undefined) ?? []).filter(
    (field) => !names.includes(field),
  );
  const { required: _required, 'x-kubernetes-validations': _rules, ...rest } = schema;
  return { ...rest, properties, ...(required.length && { required }) };
}

/** The same object schema with more fields. */
export const plus = (schema: Schema, properties: Fields): Schema => ({
  ...schema,
  properties: { ...schema.properties, ...properties },
});

type Json = Record<string, unknown>;

/** A change of the sample that must be refused, with the fields and words of the refusal. */
interface Break {
  /** A merge patch of the spec. */
  readonly spec: Json;
  readonly causes: readonly (readonly [field: string, words: string])[];
}

export interface MadeUpKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope?: 'Cluster' | 'Namespaced';
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Oldest first; objects are stored in the first one until they are migrated to the last one. */
  readonly versions: readonly MadeUpVersion[];
  /** The spec of an object of the last version. */
  readonly sample: Json;
  /** What defaults add to the sample, by JSON pointer from the object. */
  readonly defaults: Readonly<Record<string, unknown>>;
  readonly breaks: readonly Break[];
  /** A spec of the first version, and what it is in the last one, by JSON pointer. */
  readonly older: Json;
  readonly migrated: Readonly<Record<string, unknown>>;
  /** Fields to explain, with words of their descriptions. */
  readonly explained: Readonly<Record<string, string>>;
}

interface MadeUpVersion {
  readonly name: string;
  readonly spec: Schema;
  readonly status: Schema;
  readonly columns?: readonly Json[];
  readonly scale?: Json;
  readonly selectable?: readonly string[];
  readonly deprecated?: boolean;
  /** Fields of objects beside spec and status, and rules about them. */
  readonly root?: Json;
}

/** The definition of a kind, stored in its first version or in another one. */
export function definitionOf(kind: MadeUpKind, stored = kind.versions[0]!): Json {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      scope: kind.scope ?? 'Namespaced',
      names: {
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        kind: kind.kind,
        ...(kind.shortNames && { shortNames: kind.shortNames }),
        ...(kind.categories && { categories: kind.categories }),
      },
      versions: kind.versions.map((version) => versionOf(version, version === stored)),
    },
  };
}

const versionOf = (version: MadeUpVersion, storage: boolean): Json => ({
  name: version.name,
  served: true,
  storage,
  ...(version.deprecated && { deprecated: true }),
  schema: {
    openAPIV3Schema: {
      type: 'object',
      required: ['spec'],
      ...version.root,
      properties: {
        apiVersion: text('The version of the format of this object.'),
        kind: text('What this object is.'),
        metadata: { type: 'object' },
        spec: version.spec,
        status: version.status,
      },
    },
  },
  subresources: { status: {}, ...(version.scale && { scale: version.scale }) },
  ...(version.columns && { additionalPrinterColumns: version.columns }),
  ...(version.selectable && { selectableFields: version.selectable.map((jsonPath) => ({ jsonPath })) }),
});

/** How many fields a schema names, at all depths. */
export function fieldCount(schema: Schema): number {
  const below = [
    ...Object.values(schema.properties ?? {}),
    schema.items as Schema | undefined,
    schema.additionalProperties as Schema | undefined,
  ].filter((inner) => typeof inner === 'object');
  return (
    Object.keys(schema.properties ?? {}).length + below.reduce((sum, inner) => sum + fieldCount(inner), 0)
  );
}
