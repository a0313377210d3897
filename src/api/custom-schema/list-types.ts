/** Lists that are sets or have keys: no item, or no key, may be there twice. */
import { duplicate, type FieldError, invalid } from '../errors/field-error.ts';
import { jsonText } from '../text/json-text.ts';
import { isJsonObject, type JsonObject, withSortedKeys } from '../text/object.ts';
import { BoundedErrors } from './bounded-errors.ts';
import type { SchemaNode } from './schema-node.ts';
import { ValuePath } from './value-path.ts';

export function listTypeErrors(object: JsonObject, root: SchemaNode): FieldError[] {
  if (!root.listsBelow) return [];
  const walk = new ListWalk();
  walk.value(object, root);
  return walk.errors.list;
}

const itself = (item: unknown): unknown => item;

class ListWalk {
  readonly errors = new BoundedErrors();
  readonly #path = new ValuePath();

  value(value: unknown, node: SchemaNode | undefined): void {
    if (!node?.listsBelow || this.errors.isFull) return;
    if (Array.isArray(value)) this.#list(value, node);
    else if (isJsonObject(value)) this.#object(value, node);
  }

  #object(object: JsonObject, node: SchemaNode): void {
    for (const name of Object.keys(object)) {
      const property = node.properties.get(name);
      this.#path.push(property ? name : { key: name });
      this.value(object[name], property ?? node.additional);
      this.#path.pop();
    }
  }

  #list(list: readonly unknown[], node: SchemaNode): void {
    if (node.listType === 'set') this.#duplicates(list, itself, itself);
    if (node.listType === 'map') this.#keys(list, node.listKeys);
    for (let i = 0; i < list.length && node.items?.listsBelow; i++) {
      this.#path.push(i);
      this.value(list[i], node.items);
      this.#path.pop();
    }
  }

  #keys(list: readonly unknown[], names: readonly string[]): void {
    const strange = list.findIndex((item) => item !== null && !isJsonObject(item));
    if (strange >= 0)
      this.errors.add(
        invalid(this.#item(strange), list[strange], 'must be an object for an array of list-type map'),
      );
    else
      this.#duplicates(
        list,
        (item) => identityOf(item, names),
        (item) => keyOf(item, names),
      );
  }

  /** Reports the second appearance of a value, and no further ones. */
  #duplicates(
    list: readonly unknown[],
    identity: (item: unknown) => unknown,
    shown: (item: unknown) => unknown,
  ): void {
    // Texts and numbers are compared as they are, which is much faster for large lists; others by their JSON.
    const values = new Map<unknown, number>();
    const texts = new Map<unknown, number>();
    for (let i = 0; i < list.length && !this.errors.isFull; i++) {
      const value = identity(list[i]);
      const isPlain = typeof value !== 'object' || value === null;
      const [times, key] = isPlain ? [values, value] : [texts, jsonText(withSortedKeys(value))];
      const count = (times.get(key) ?? 0) + 1;
      times.set(key, count);
      if (count === 2) this.errors.add(duplicate(this.#item(i), shown(list[i])));
    }
  }

  #item(i: number): string {
    return `${this.#path.text()}[${i}]`;
  }
}

/** The identity of an item: the value of its only key, or else all its keys. */
function identityOf(item: unknown, names: readonly string[]): unknown {
  const [name = ''] = names;
  const isSingle = names.length === 1 && isJsonObject(item) && Object.hasOwn(item, name);
  return isSingle ? item[name] : keyOf(item, names);
}

/** The fields that tell items apart; those that are not there are left out. */
function keyOf(item: unknown, names: readonly string[]): JsonObject {
  const key: JsonObject = {};
  if (isJsonObject(item)) for (const name of names) if (Object.hasOwn(item, name)) key[name] = item[name];
  return key;
}
