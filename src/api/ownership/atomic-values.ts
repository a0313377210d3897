/** Finds values that are owned as a whole: an apply that sets one replaces everything in it. */

import { isJsonObject, type JsonObject } from '../text/object.ts';
import { addPath, type FieldSet, fieldPaths } from '../values/field-set.ts';
import { type FieldType, typeFor } from './field-type.ts';
import { itemElement } from './field-walk.ts';

/** The paths of lists and objects in `object` that a merge would replace. */
export function atomicPaths(type: FieldType, object: JsonObject): string[] {
  const found: FieldSet = {};
  visit(type, object, [], found);
  return fieldPaths(found);
}

function visit(declared: FieldType, value: unknown, path: string[], found: FieldSet): void {
  if (!Array.isArray(value) && !isJsonObject(value)) return;
  const type = typeFor(declared, value, undefined);
  if (type.name === 'leaf') return addPath(found, path);
  if (Array.isArray(value)) {
    for (const item of value) {
      const element = itemElement(type, item);
      if (element !== undefined && type.name !== 'set') visit(type.items, item, [...path, element], found);
    }
    return;
  }
  for (const name of Object.keys(value)) {
    const below = type.under(name);
    if (below) visit(below, value[name], [...path, `f:${name}`], found);
  }
}
