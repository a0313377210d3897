/**
 * Walks over objects with long maps, such as 40,000 labels, for which one walk takes a large part of a turn of the event
 * loop: these let others in between. Two states of such an object are compared without what they have in common.
 */
import type { Model } from '../model/model.ts';
import { isJsonObject, type JsonObject, setKey } from '../text/object.ts';
import { type FieldSet, noFields } from '../values/field-set.ts';
import type { FieldType } from './field-type.ts';
import { fieldsOf } from './field-walk.ts';

/** Maps with fewer keys are left as they are. */
const longKeys = 1_000;

/** Entries of a long map in one part. */
const longPart = 8_000;

type Pair = readonly [JsonObject, JsonObject];

/**
 * What differs in these two differs in the objects, and nothing else does. Maps of texts are shortened, at whatever depth
 * of models; one entry that is the same remains, so that a map that is not empty does not become so. Yields after each
 * pass over a long map.
 */
export function* withoutSameEntries(model: Model, a: JsonObject, b: JsonObject): Generator<void, Pair> {
  let pair: Pair = [a, b];
  for (const field of model.order) {
    const { name, type, values } = field;
    const [mine, theirs] = [a[name], b[name]];
    if (mine === theirs || !isJsonObject(mine) || !isJsonObject(theirs)) continue;
    let parts: Pair | undefined;
    if (type === 'model') parts = yield* withoutSameEntries(field.model, mine, theirs);
    else if (type === 'map' && (values!.type === 'string' || values!.type === 'bytes'))
      parts = yield* differing(mine, theirs);
    if (!parts || (parts[0] === mine && parts[1] === theirs)) continue;
    if (pair[0] === a) pair = [{ ...a }, { ...b }];
    [pair[0][name], pair[1][name]] = parts;
  }
  return pair;
}

function* differing(a: JsonObject, b: JsonObject): Generator<void, Pair> {
  const names = Object.keys(a);
  if (names.length < longKeys) return [a, b];
  yield;
  const others = Object.keys(b);
  if (others.length < longKeys) return [a, b];
  yield;
  const pair: Pair = [{}, {}];
  let common = 0;
  let same: string | undefined;
  for (const [i, name] of names.entries()) {
    if (i % longPart === longPart - 1) yield;
    const isCommon = Object.hasOwn(b, name);
    if (isCommon) common++;
    if (isCommon && a[name] === b[name]) {
      same = name;
      continue;
    }
    setKey(pair[0], name, a[name]);
    if (isCommon) setKey(pair[1], name, b[name]);
  }
  if (common < others.length)
    for (const name of others) if (!Object.hasOwn(a, name)) setKey(pair[1], name, b[name]);
  if (same !== undefined) for (const part of pair) setKey(part, same, a[same]);
  return pair;
}

/** A long map in an object: where its node is in the set of fields, and its keys. */
interface LongMap {
  readonly place: readonly string[];
  readonly names: readonly string[];
}

/** As `fieldsOf`; yields after each part of a long map of texts, at whatever depth of structs. */
export function* fieldsOfLong(type: FieldType, object: JsonObject): Generator<void, FieldSet> {
  const found: LongMap[] = [];
  const set = fieldsOf(type, yield* withoutLong(type, object, [], found));
  for (const { place, names } of found) {
    const node: FieldSet = {};
    for (const [i, name] of names.entries()) {
      node[`f:${name}`] = noFields;
      if (i % longPart === longPart - 1) yield;
    }
    const parent = place.slice(0, -1).reduce((above, element) => above[element]!, set);
    parent[place.at(-1)!] = node;
  }
  return set;
}

/** The object with one entry in place of those of each long map. */
function* withoutLong(
  type: FieldType,
  object: JsonObject,
  place: readonly string[],
  found: LongMap[],
): Generator<void, JsonObject> {
  let out = object;
  for (const name of Object.keys(object)) {
    const value = object[name];
    const below = type.members.get(name)?.type;
    if (!below || !isJsonObject(value)) continue;
    let short = value;
    if (below.name === 'struct') short = yield* withoutLong(below, value, [...place, `f:${name}`], found);
    else if (below.name === 'map' && below.items.name === 'leaf') {
      const names = Object.keys(value);
      if (names.length < longKeys) continue;
      yield;
      found.push({ place: [...place, `f:${name}`], names });
      short = { [names[0]!]: value[names[0]!] };
    }
    if (short === value) continue;
    if (out === object) out = { ...object };
    out[name] = short;
  }
  return out;
}
