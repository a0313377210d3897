/**
 * The skeleton of a schema: what walks over objects need to know at each place, looked up by key. Built once, when the
 * first object of the kind is written. Flags tell walks which parts they need not enter.
 */
import type { Schema } from './schema.ts';

const nodes = new WeakMap<Schema, SchemaNode>();

/** The node of a schema inside of another one. Made once, although the schema may be reached from several places. */
export function nodeOf(schema: Schema): SchemaNode {
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
    const below = [...this.properties.values(), this.items, this.additional].filter(
      (node) => node !== undefined,
    );
    this.defaultsBelow = this.default !== undefined || below.some((node) => node.defaultsBelow);
    this.listsBelow = isUnique(this.listType) || below.some((node) => node.listsBelow);
    this.embeddedBelow = this.embedded || below.some((node) => node.embeddedBelow);
    this.keepsAll = this.preserves && !this.embedded && below.length === 0;
  }

  /** The node of an entry; undefined when there is none. */
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
  return new Map(Object.keys(properties).map((name) => [name, nodeOf(properties[name]!)]));
}
