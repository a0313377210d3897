/**
 * What a minor does not know stays stored: an object that a client of that minor writes gets the fields back that the
 * stored object has and this client could not see.
 */
import type { Field, Model } from '../model/model.ts';
import { isJsonObject, type JsonObject } from '../text/object.ts';

/**
 * Adds to an object what `old` has in fields that `shown` lacks, in place.
 * @param shown the model that the client sees
 * @param whole the model that is stored
 */
export function keepUnseen(shown: Model, whole: Model, object: JsonObject, old: JsonObject): void {
  if (shown === whole) return;
  for (const [name, value] of Object.entries(old)) {
    const stored = whole.fields.get(name);
    if (!stored || value === undefined) continue;
    const seen = shown.fields.get(name);
    if (!seen || seen.off || seen.definition.unwritten) object[name] ??= value;
    else if (object[name] !== undefined) keepIn(seen, stored, object[name], value);
  }
}

function keepIn(seen: Field, stored: Field, value: unknown, old: unknown): void {
  if (seen.type === 'model' && stored.type === 'model') {
    if (isJsonObject(value) && isJsonObject(old)) keepUnseen(seen.model, stored.model, value, old);
  } else if (seen.type === 'map' && stored.type === 'map') {
    if (isJsonObject(value) && isJsonObject(old))
      for (const key of Object.keys(value))
        if (Object.hasOwn(old, key)) keepIn(seen.values!, stored.values!, value[key], old[key]);
  } else if (Array.isArray(value) && Array.isArray(old) && seen.items?.type === 'model')
    for (const [i, item] of value.entries()) {
      const before = counterpart(stored, item, i, old);
      if (before !== undefined) keepIn(seen.items, stored.items!, item, before);
    }
}

/** The item of the stored list that an item was: the one with the same keys, or at the same place in a list without. */
function counterpart(field: Field, item: unknown, i: number, old: readonly unknown[]): unknown {
  const { listKeys, patchMergeKey } = field.definition;
  const keys = listKeys ?? (patchMergeKey === undefined ? undefined : [patchMergeKey]);
  if (!keys) return old[i];
  const isSame = (other: unknown): boolean =>
    keys.every((key) => (other as JsonObject)[key] === (item as JsonObject)[key]);
  return isSame(old[i] ?? {}) ? old[i] : old.find(isSame);
}

/**
 * Adds to an object what `before` has and its way through another version loses, in place.
 * @param visible what is left of `before` after that way
 */
export function keepLost(object: JsonObject, before: JsonObject, visible: JsonObject): void {
  for (const [name, value] of Object.entries(before))
    if (visible[name] === undefined) object[name] ??= value;
    else keepLostIn(object[name], value, visible[name]);
}

function keepLostIn(value: unknown, before: unknown, visible: unknown): void {
  if (Array.isArray(value) && Array.isArray(before) && Array.isArray(visible))
    for (const [i, item] of value.entries()) {
      // Most lists of objects have a name as their key; items of others are found by their place.
      const { name } = (item ?? {}) as { name?: unknown };
      const isSame = (other: { name?: unknown } | undefined): boolean => other?.name === name;
      const at: number = name === undefined || isSame(before[i]) ? i : before.findIndex(isSame);
      if (at in before) keepLostIn(item, before[at], visible[at]);
    }
  else if (isJsonObject(value) && isJsonObject(before) && isJsonObject(visible))
    keepLost(value, before, visible);
}
