/**
 * The skeleton of a schema: what walks over objects need to know at each place, looked up by key. Built once, when the
 * first object of the kind is written. Flags tell walks which parts they need not enter.
 */
import type { Schema } from '../model/json-schema.ts';

const nodes = new WeakMap<Schema, SchemaNode>();

/**
 * A schema that says nothing but a type of scalars, as most do; the same object for all of the type, so that what is made
 * of it is made once. Undefined for others.
 */
export function plainScalar(schema: Schema): Schema | undefined {
  const plain = plainScalars[schema.type ?? ''];
  if (!plain) return undefined;
  for (const name in schema)
    if (name !== 'type' && name !== 'description' && schema[name as keyof Schema] !== undefined)
      return undefined;
  return plain;
}

const plainScalars: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
};

/** The node of a schema inside of another one. Made once, although the schema may be reached from several places. */
export function nodeOf(given: Schema): SchemaNode {
  const schema = plainScalar(given) ?? given;
  let node = nodes.get(schema);
  if (!node) {
    node = new SchemaNode(schema);
    nodes.set(schema, node);
  }
  return node;
}

const none: ReadonlyMap<string, SchemaNode> = new Map();

export class SchemaNode {
  readonly properties: ReadonlyMap<string, SchemaNode>;
  readonly items: SchemaNode | undefined;
  /** The schema of entries without a name of their own. */
  readonly additional: SchemaNode | undefined;
  /** Whether such entries may be there at all; with `additionalProperties: true` they have no schema. */
  readonly hasAdditional: boolean;
  readonly preserves: boolean;
  readonly nullable: boolean;
  readonly default: unknown;
  readonly listType: string | undefined;
  readonly listKeys: readonly string[];
  /** Something at or below this node has a default. */
  readonly defaultsBelow: boolean;
  /** A list at or below this node is a set or has keys. */
  readonly listsBelow: boolean;
  /** This node or one below is an embedded resource. */
  readonly embeddedBelow: boolean;
  /** Nothing below is ever pruned, so the walk can stop here. */
  readonly keepsAll: boolean;

  constructor(
    readonly schema: Schema,
    /** The root of an object, or an embedded one: apiVersion, kind and metadata belong to it. */
    readonly embedded: boolean = schema['x-kubernetes-embedded-resource'] === true,
  ) {
    const { additionalProperties } = schema;
    this.properties = childNodes(schema.properties);
    this.items = itemsOf(schema) && nodeOf(itemsOf(schema)!);
    this.additional = typeof additionalProperties === 'object' ? nodeOf(additionalProperties) : undefined;
    this.hasAdditional = additionalProperties !== undefined;
    this.preserves = schema['x-kubernetes-preserve-unknown-fields'] === true;
    this.nullable = schema.nullable === true;
    this.default = schema.default ?? undefined;
    this.listType = schema['x-kubernetes-list-type'];
    this.listKeys = schema['x-kubernetes-list-map-keys'] ?? [];
    const below = new Set(this.properties.values());
    if (this.items) below.add(this.items);
    if (this.additional) below.add(this.additional);
    const some = (test: (node: SchemaNode) => boolean): boolean => {
      for (const node of below) if (test(node)) return true;
      return false;
    };
    this.defaultsBelow = this.default !== undefined || some((node) => node.defaultsBelow);
    this.listsBelow = isUnique(this.listType) || some((node) => node.listsBelow);
    this.embeddedBelow = this.embedded || some((node) => node.embeddedBelow);
    this.keepsAll = this.preserves && !this.embedded && below.size === 0;
  }

  /** The node of an entry, or undefined. */
  entry(name: string): SchemaNode | undefined {
    return this.properties.get(name) ?? this.additional;
  }
}

const isUnique = (listType: string | undefined): boolean => listType === 'set' || listType === 'map';

/** The schema of items; a list of schemas is refused when the definition is written. */
export const itemsOf = ({ items }: Schema): Schema | undefined => (Array.isArray(items) ? undefined : items);

export const isMetaField = (name: string): boolean =>
  name === 'metadata' || name === 'apiVersion' || name === 'kind';

function childNodes(properties: Schema['properties']): ReadonlyMap<string, SchemaNode> {
  if (!properties) return none;
  const children = new Map<string, SchemaNode>();
  for (const name of Object.keys(properties)) children.set(name, nodeOf(properties[name]!));
  return children;
}
