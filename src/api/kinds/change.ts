/** Changes: what differs between an object and its stored state. */
import { normalized } from '../encode.ts';
import type { Model } from '../model.ts';
import type { JsonObject } from '../object.ts';

/**
 * Names of the fields that would be written differently, in wire order. Unlike a semantic comparison this tells
 * apart what clients can tell apart: a selector `{}` and none, a class `""` and none.
 */
export function changedFields(model: Model, object: object, old: object): string[] {
  const now = normalized(model, object as JsonObject);
  const before = normalized(model, old as JsonObject);
  const names = model.order.map(({ name }) => name);
  return names.filter((name) => JSON.stringify(now[name]) !== JSON.stringify(before[name]));
}
