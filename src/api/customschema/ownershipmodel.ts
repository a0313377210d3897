/**
 * The model by which objects of a custom kind are owned and merged in server-side apply: the fields that the schema
 * names, in the form of the field tables of built-in kinds, so that both go through the same code. The model by which
 * objects are decoded and written is another, which keeps what is in an object as it came.
 */
import { Memo } from '../../memo.ts';
import { type FieldDefinition, type Model, type ModelDefinition, modelsOf } from '../model.ts';
import type { Schema } from './schema.ts';
import { isMetaField, nodeOf, type SchemaNode } from './schemanode.ts';

const models = new Memo((model: Model): Model => {
  const { custom } = model.definition;
  return custom?.schema ? new SchemaTable(model).model(custom.schema) : model;
});

/** Of a built-in kind it is the model itself. */
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
      if (!isMetaField(property) && property !== '__proto__') fields[property] = this.#field(node);
    const models = { ...this.#models, [name]: { order: Object.keys(fields), fields } };
    return modelsOf({ apiVersion: file, models })(name);
  }

  /** Every field is a pointer: it is there when it was sent, whatever its value. */
  #field(node: SchemaNode): FieldDefinition {
    return { ...this.#shape(node), ptr: true, default: node.default };
  }

  #shape(node: SchemaNode): FieldDefinition {
    const { schema } = node;
    if (schema['x-kubernetes-int-or-string']) return { type: 'int-or-string' };
    switch (schema.type) {
      case 'object':
        return this.#object(node);
      case 'array':
        return {
          type: 'array',
          items: node.items ? this.#field(node.items) : { raw: true },
          listType: node.listType as FieldDefinition['listType'],
          listKeys: [...node.listKeys],
        };
      case 'string':
      case 'integer':
      case 'number':
      case 'boolean':
        return { type: schema.type };
      default:
        return { raw: true };
    }
  }

  #object(node: SchemaNode): FieldDefinition {
    const atomic = node.schema['x-kubernetes-map-type'] === 'atomic' ? { mapType: 'atomic' as const } : {};
    if (node.additional) return { type: 'map', values: this.#field(node.additional), ...atomic };
    if (node.hasAdditional) return { type: 'map', values: { raw: true }, mapType: 'atomic' };
    // Unknown fields have the type of their value, and so have the known ones beside them.
    if (node.preserves) return { raw: true };
    const fields: Record<string, FieldDefinition> = {};
    if (node.embedded)
      Object.assign(fields, {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { raw: true },
      });
    for (const [name, property] of node.properties)
      if (name !== '__proto__' && !Object.hasOwn(fields, name)) fields[name] = this.#field(property);
    // Names of properties can be anything, so they are not part of the names of models.
    const ref = `Part${++this.#count}`;
    this.#models[ref] = { order: Object.keys(fields), fields };
    return { ref, ...atomic };
  }
}
