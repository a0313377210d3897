/** How objects of a custom kind are owned and merged, read off the schema when it is asked for. */
import type { Topology } from './schema.ts';
import { isMetaField, type SchemaNode } from './schemanode.ts';

class NodeTopology implements Topology {
  readonly #members = new Map<string, Topology>();
  #items: Topology | undefined;

  constructor(
    readonly type: Topology['type'],
    private readonly node: SchemaNode | undefined,
  ) {}

  member(name: string): Topology | undefined {
    if (this.type !== 'struct') return undefined;
    const known = this.#members.get(name);
    if (known) return known;
    const made = this.#memberOf(name);
    if (made) this.#members.set(name, made);
    return made;
  }

  get memberNames(): readonly string[] {
    return this.type === 'struct' ? [...this.node!.properties.keys()] : [];
  }

  get items(): Topology | undefined {
    if (!this.#items && this.type === 'map') this.#items = topologyOf(this.node!.additional!);
    if (!this.#items && (this.type === 'keyed' || this.type === 'set'))
      this.#items = this.node!.items ? topologyOf(this.node!.items) : deduced;
    return this.#items;
  }

  get keys(): Topology['keys'] {
    if (this.type !== 'keyed') return [];
    const properties = this.node!.items?.properties;
    return this.node!.listKeys.map((name) => ({ name, preset: properties?.get(name)?.default }));
  }

  #memberOf(name: string): Topology | undefined {
    const { properties, embedded, preserves } = this.node!;
    const property = properties.get(name);
    if (embedded && isMetaField(name)) return name === 'metadata' ? deduced : leaf;
    if (property) return topologyOf(property);
    return preserves ? deduced : undefined;
  }
}

const leaf: Topology = new NodeTopology('leaf', undefined);
const deduced: Topology = new NodeTopology('deduced', undefined);

export function topologyOf(node: SchemaNode): Topology {
  const { schema } = node;
  switch (schema.type) {
    case 'object':
      if (schema['x-kubernetes-map-type'] === 'atomic') return leaf;
      if (node.additional) return new NodeTopology('map', node);
      if (node.properties.size === 0 && !node.embedded)
        return node.preserves ? deduced : node.hasAdditional ? leaf : new NodeTopology('struct', node);
      return new NodeTopology('struct', node);
    case 'array':
      if (node.listType === 'set') return new NodeTopology('set', node);
      return node.listType === 'map' ? new NodeTopology('keyed', node) : leaf;
    default:
      return !schema.type && node.preserves ? deduced : leaf;
  }
}
