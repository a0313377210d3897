/** Changes: what differs between an object and its stored state. */
import { isSameField } from '../../model/encoded-equality.ts';
import type { Model } from '../../model/model.ts';
import type { JsonObject } from '../../text/object.ts';

/**
 * Names of the fields that would be encoded differently, in wire order. Unlike a semantic comparison it treats `{}`
 * and an absent selector, or `""` and an absent class, as different, as clients do.
 */
export function changedFields(model: Model, object: object, old: object): string[] {
  const [now, before] = [object as JsonObject, old as JsonObject];
  return model.order
    .filter((field) => !isSameField(field, now[field.name], before[field.name]))
    .map(({ name }) => name);
}
