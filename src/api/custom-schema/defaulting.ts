/**
 * Defaults: a field with a default gets it when it is missing, or null and may not be. Parents are not made for the sake
 * of a field in them.
 */
import { cloneJson, isJsonObject, type JsonObject, setKey } from '../text/object.ts';
import type { SchemaNode } from './schema-node.ts';

export function applyDefaults(value: unknown, node: SchemaNode): void {
  if (!node.defaultsBelow) return;
  if (Array.isArray(value)) defaultItems(value, node);
  else if (isJsonObject(value)) defaultFields(value, node);
}

function defaultFields(object: JsonObject, node: SchemaNode): void {
  for (const [name, property] of node.properties) {
    if (!property.defaultsBelow) continue;
    const value = Object.hasOwn(object, name) ? object[name] : undefined;
    if (property.default !== undefined && isMissing(value, property))
      setKey(object, name, cloneJson(property.default));
    if (Object.hasOwn(object, name)) applyDefaults(object[name], property);
  }
  const { additional } = node;
  if (!additional?.defaultsBelow) return;
  for (const name of Object.keys(object)) {
    if (node.properties.has(name)) continue;
    if (object[name] === null && additional.default !== undefined && !additional.nullable)
      setKey(object, name, cloneJson(additional.default));
    applyDefaults(object[name], additional);
  }
}

function defaultItems(list: unknown[], { items }: SchemaNode): void {
  if (!items?.defaultsBelow) return;
  for (let i = 0; i < list.length; i++) {
    if (list[i] === null && items.default !== undefined && !items.nullable)
      list[i] = cloneJson(items.default);
    applyDefaults(list[i], items);
  }
}

const isMissing = (value: unknown, node: SchemaNode): boolean =>
  value === undefined || (value === null && !node.nullable);
