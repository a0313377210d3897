/**
 * The model by which objects of a custom kind are owned and merged in server-side apply: the fields that the schema
 * names, in the form of the field tables of built-in kinds, so that both go through the same code. The model by which
 * objects are decoded and written is another, which keeps what is in an object as it came.
 */
import { Memo } from '../../memo.ts';
import type { Schema } from '../model/json-schema.ts';
import { type FieldDefinition, type Model, type ModelDefinition, modelsOf } from '../model/model.ts';
import { isMetaField, nodeOf, type SchemaNode } from './schema-node.ts';

const models = new Memo((model: Model): Model => {
  const { custom } = model.definition;
  return custom?.schema ? new SchemaTable(model).model(custom.schema) : model;
});

/** The model by which fields are owned; for a built-in kind it is the model itself. */
export const ownershipModel = (model: Model): Model => models.of(model);

class SchemaTable {
  readonly #models: Record<string, ModelDefinition> = {};
  #count = 0;

  constructor(private readonly kind: Model) {}

  model(schema: Schema): Model {
    const { name, file, definition } = this.kind;
    const root = nodeOf(schema);
    const fields = { ...definition.fields };
    for (const [property, node] of root.properties)
      if (!isMetaField(property) && property !== '__proto__')
        fields[property] = this.#field(node, root.preserves);
    const whole = { order: Object.keys(fields), fields, open: root.preserves };
    return modelsOf({ apiVersion: file, models: { ...this.#models, [name]: whole } })(name);
  }

  /**
   * Every field is a pointer: it is there when it was sent, whatever its value, and null is one.
   *
   * @param open whether a node around this one preserves unknown fields: then fields below it may be unknown, too. What
   * pruning does not keep of them is gone afterwards, and owned nevertheless, as by Kubernetes
   */
  #field(node: SchemaNode, open: boolean): FieldDefinition {
    return {
      ...this.#shape(node, open || node.preserves),
      ptr: true,
      keepsNull: true,
      default: node.default,
    };
  }

  #shape(node: SchemaNode, open: boolean): FieldDefinition {
    const { schema } = node;
    // Its schema has no type, so whatever a client applies fits; validation refuses it.
    if (schema['x-kubernetes-int-or-string']) return { raw: true };
    switch (schema.type) {
      case 'object':
        return this.#object(node, open);
      case 'array':
        return {
          type: 'array',
          items: node.items ? this.#field(node.items, open) : { raw: true },
          listType: node.listType as FieldDefinition['listType'],
          listKeys: [...node.listKeys],
        };
      case 'string':
      case 'integer':
      case 'number':
      case 'boolean':
        // Which format does not matter: with any, a merge takes every scalar.
        return schema.type === 'string' && schema.format
          ? { type: 'string', format: 'scalar' }
          : { type: schema.type };
      default:
        return node.properties.size ? this.#object(node, open) : { raw: true };
    }
  }

  #object(node: SchemaNode, open: boolean): FieldDefinition {
    const atomic = node.schema['x-kubernetes-map-type'] === 'atomic' ? { mapType: 'atomic' as const } : {};
    if (node.additional) return { type: 'map', values: this.#field(node.additional, open), ...atomic };
    const isFree = node.properties.size === 0 && !node.embedded;
    // Fields of which the schema says nothing have the type of their value.
    if (isFree && (node.preserves || node.schema.additionalProperties !== false))
      return { type: 'map', values: { raw: true }, ...atomic };
    const fields: Record<string, FieldDefinition> = {};
    if (node.embedded)
      Object.assign(fields, {
        apiVersion: { type: 'string', ptr: true },
        kind: { type: 'string', ptr: true },
        metadata: { ref: 'core-v1:ObjectMeta', ptr: true },
      });
    for (const [name, property] of node.properties)
      if (name !== '__proto__' && !Object.hasOwn(fields, name)) fields[name] = this.#field(property, open);
    // Names of properties can be anything, so they are not part of the names of models.
    const ref = `Part${++this.#count}`;
    this.#models[ref] = {
      order: Object.keys(fields),
      fields,
      open:
        node.schema.additionalProperties === true || (open && node.schema.additionalProperties === undefined),
    };
    return { ref, ...atomic };
  }
}
