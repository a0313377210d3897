/**
 * Strategic merge patch: a merge patch that uses the model. Lists that the model marks as mergeable are merged
 * element by element, scalars as sets and maps by their merge key; directives (`$patch`, `$retainKeys`,
 * `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`) express what a merge cannot.
 *
 * Rules, order of elements and error messages are Kubernetes'. The patch is never changed, because it may be applied
 * again to a newer object; the result shares nothing with original and patch.
 */

import { cannotApply, invalidValue, PatchError, undecodable } from '../errors/patch-error.ts';
import { cannotUnmarshal, goFormat, goFormatText, goKind, goType } from '../model/go-format.ts';
import type { Field, Model } from '../model/model.ts';
import { cloneJson, isJsonObject, type JsonObject, setKey } from '../text/object.ts';

const PATCH = '$patch';
const RETAIN_KEYS = '$retainKeys';
const SET_ORDER = '$setElementOrder';
const DELETE_SCALARS = '$deleteFromPrimitiveList';

/** Finds the field of a key in the map being merged; undefined where the model has none. */
type Schema = (key: string) => Field | undefined;

export function applyStrategicMerge(model: Model, original: object, patch: unknown): JsonObject {
  const copy = cloneJson(original) as JsonObject;
  if (patch === null) return copy;
  if (!isJsonObject(patch))
    throw undecodable(cannotUnmarshal(patch, 'value of type map[string]interface {}'));
  return new StrategicMerge(patch).mergeMap(modelSchema(model), copy, patch);
}

const modelSchema =
  (model: Model): Schema =>
  (key) =>
    model.fields.get(key);

const noSchema: Schema = () => undefined;

/** The nested fields of a field. Fields unknown to the model are plain maps and atomic lists; decoding drops them. */
function schemaBelow(field: Field | undefined): Schema {
  if (field?.type === 'model') return modelSchema(field.model);
  if (field?.type === 'map') return () => field.values;
  return noSchema;
}

class StrategicMerge {
  /** The error quotes the whole patch when a value in it has the wrong type. */
  constructor(private readonly wholePatch: JsonObject) {}

  /** Merges into `original`, which is a private copy, and returns the result. */
  mergeMap(schema: Schema, original: JsonObject, patch: JsonObject): JsonObject {
    if (Object.hasOwn(patch, PATCH)) return this.#replaceMap(schema, patch);
    retainKeys(original, patch);
    // Listing the keys of a patch with very many takes as long as merging them.
    const keys = Object.keys(patch);
    const directives = keys.filter(isDirective);
    const ordered = this.#mergeOrdered(schema, original, patch, directives);
    deleteScalars(original, patch, directives);
    for (const key of keys) {
      if (isDirective(key) || ordered.has(key)) continue;
      this.#mergeMember(schema(key), original, key, patch[key]);
    }
    return original;
  }

  #replaceMap(schema: Schema, patch: JsonObject): JsonObject {
    const directive = patch[PATCH];
    if (directive === 'delete') return {};
    if (directive === 'replace') return this.#takeMembers(schema, patch);
    throw unknownPatchType(directive, patch);
  }

  #mergeMember(field: Field | undefined, original: JsonObject, key: string, value: unknown): void {
    const before = own(original, key);
    if (value === null) delete original[key];
    else if (isJsonObject(before) && isJsonObject(value) && !field?.replaced)
      setKey(original, key, this.mergeMap(schemaBelow(field), before, value));
    else if (Array.isArray(before) && Array.isArray(value) && field?.mergeList)
      setKey(original, key, this.#mergeList(field, before, value));
    else this.#setTaken(original, key, field, value);
  }

  #mergeList(field: Field, original: unknown[], patch: readonly unknown[]): unknown[] {
    if (original.length === 0 && patch.length === 0) return original;
    if (!holdsMaps(original, patch)) return mergeScalars(field, original, patch);
    const key = field.mergeKey;
    if (!key) throw noMergeKey(field);
    return this.#mergeMaps(field.items, key, original as JsonObject[], patch as readonly JsonObject[]);
  }

  #mergeMaps(
    items: Field | undefined,
    mergeKey: string,
    original: readonly JsonObject[],
    patch: readonly JsonObject[],
  ): unknown[] {
    const idOf = idByKey(mergeKey, this.wholePatch);
    const plain: JsonObject[] = [];
    const deleted = new Set<unknown>();
    let replace = false;
    for (const element of patch) {
      if (!Object.hasOwn(element, PATCH)) plain.push(element);
      else if (element[PATCH] === 'replace') replace = true;
      else if (element[PATCH] === 'delete') deleted.add(idOf(element));
      else if (element[PATCH] === 'merge')
        throw misdirected('merging lists cannot yet be specified in the patch');
      else throw unknownPatchType(element[PATCH], element);
    }
    // Every element needs its key, merged or not, because the order is made from the keys.
    const patchPositions = positionsOf(plain, idOf);
    const schema = schemaBelow(items);
    if (replace) return plain.map((element) => this.#takeMembers(schema, element));

    const kept = original.filter((element) => !deleted.has(idOf(element)));
    const positions = positionsOf(kept, idOf);
    const merged = [...kept];
    const places = new Map(positions);
    for (const element of plain) {
      const id = idOf(element);
      const place = places.get(id);
      if (place === undefined) places.set(id, merged.push(this.#takeMembers(schema, element)) - 1);
      else merged[place] = this.mergeMap(schema, merged[place]!, element);
    }
    return inOrder(merged, patchPositions, positions, idOf);
  }

  /** `$setElementOrder`: merges and sorts each list that has one. Returns these lists. */
  #mergeOrdered(
    schema: Schema,
    original: JsonObject,
    patch: JsonObject,
    directives: readonly string[],
  ): Set<string> {
    const done = new Set<string>();
    for (const directive of directives) {
      if (!directive.startsWith(SET_ORDER)) continue;
      const key = listName(directive, SET_ORDER);
      const list = directed(() => this.#mergeOrderedMember(schema(key), original, patch, directive, key));
      if (!list) continue;
      setKey(original, key, list);
      done.add(key);
    }
    return done;
  }

  /** The list that a directive is about, merged and in order, or undefined. */
  #mergeOrderedMember(
    field: Field | undefined,
    original: JsonObject,
    patch: JsonObject,
    directive: string,
    key: string,
  ): unknown[] | undefined {
    const order = asList(patch[directive]);
    const before = own(original, key) ?? undefined;
    const change = own(patch, key);
    // A list that the model does not know is dropped later; there is nothing to put in order.
    if (!field || (before === undefined && change === undefined)) return undefined;
    return this.#mergeOrderedList(
      field,
      before === undefined ? undefined : asList(before),
      change === undefined ? undefined : asList(change),
      order,
    );
  }

  #mergeOrderedList(
    field: Field,
    before: unknown[] | undefined,
    change: readonly unknown[] | undefined,
    order: readonly unknown[],
  ): unknown[] {
    const idOf = this.#identity(field, before ?? [], change ?? []);
    if (change) checkOrder(change, order, idOf);
    // Positions are those before the merge, which changes the list.
    const positions = positionsOf(before ?? [], idOf);
    let merged: unknown[];
    if (before && !change) merged = before;
    else if (before && change && field.mergeList) merged = this.#mergeList(field, before, change);
    else merged = this.#take(field, change) as unknown[];
    return order.length === 0 ? merged : inOrder(merged, positionsOf(order, idOf), positions, idOf);
  }

  /** The identity of a list's elements. */
  #identity(field: Field, ...lists: (readonly unknown[])[]): (element: unknown) => unknown {
    if (field.mergeKey) return idByKey(field.mergeKey, this.wholePatch);
    if (lists.some((list) => list.length > 0) && holdsMaps(...lists)) throw noMergeKey(field);
    return (element) => element;
  }

  #setTaken(target: JsonObject, key: string, field: Field | undefined, value: unknown): void {
    const taken = this.#take(field, value);
    if (taken === undefined) delete target[key];
    else setKey(target, key, taken);
  }

  /**
   * A copy of a patch value that has no counterpart in the original, without nulls and directives. Undefined for a
   * map with `$patch`, because it applies to a value that does not exist; Kubernetes drops it, too.
   */
  #take(field: Field | undefined, value: unknown): unknown {
    this.#checkShape(field, value);
    if (Array.isArray(value))
      return value
        .map((element) => this.#take(field?.items, element))
        .filter((element) => element !== undefined);
    if (!isJsonObject(value)) return value;
    return Object.hasOwn(value, PATCH) ? undefined : this.#takeMembers(schemaBelow(field), value);
  }

  #takeMembers(schema: Schema, patch: JsonObject): JsonObject {
    const taken: JsonObject = {};
    for (const key of Object.keys(patch)) {
      if (patch[key] !== null && !isDirective(key)) this.#setTaken(taken, key, schema(key), patch[key]);
    }
    return taken;
  }

  /** Checks types only as far as the merge needs; scalars are checked by the decoder. */
  #checkShape(field: Field | undefined, value: unknown): void {
    if (value === null || !field) return;
    const kind = goKind(value);
    if (field.type === 'map' && kind !== 'map') throw this.#misshapen(`cannot restore map from ${kind}`);
    if (field.type === 'model' && kind !== 'map')
      throw this.#misshapen(`cannot restore struct from: ${kind}`);
    if (field.type === 'array' && kind !== 'slice')
      throw this.#misshapen(`cannot restore slice from ${kind}`);
  }

  #misshapen(why: string): PatchError {
    return invalidValue(goFormat(this.wholePatch), why);
  }
}

function isDirective(key: string): boolean {
  return (
    key.startsWith('$') &&
    (key === PATCH || key === RETAIN_KEYS || key.startsWith(SET_ORDER) || key.startsWith(DELETE_SCALARS))
  );
}

/** `$retainKeys` lists all keys that remain: others are removed from the original, and refused in the patch. */
function retainKeys(original: JsonObject, patch: JsonObject): void {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return;
  const list = patch[RETAIN_KEYS];
  if (!Array.isArray(list)) throw badFormat('retainKeys');
  const retained = new Set<unknown>(list);
  for (const key of Object.keys(patch)) {
    if (patch[key] !== null && !isDirective(key) && !retained.has(key)) throw badFormat('retainKeys');
  }
  for (const key of Object.keys(original)) if (!retained.has(key)) delete original[key];
}

/** `$deleteFromPrimitiveList`; ignored for a list that does not exist. */
function deleteScalars(original: JsonObject, patch: JsonObject, directives: readonly string[]): void {
  for (const directive of directives) {
    if (!directive.startsWith(DELETE_SCALARS)) continue;
    const key = listName(directive, DELETE_SCALARS);
    const before = own(original, key);
    const unwanted = patch[directive];
    if (unwanted === null) delete original[key];
    if (!Array.isArray(before) || !Array.isArray(unwanted) || before.length + unwanted.length === 0) continue;
    if (directed(() => holdsMaps(before, unwanted))) throw badFormat('primitive list');
    const gone = new Set<unknown>(unwanted);
    setKey(
      original,
      key,
      before.filter((element) => !gone.has(element)),
    );
  }
}

/** The union of two lists of scalars, each value once. */
function mergeScalars(field: Field, original: readonly unknown[], patch: readonly unknown[]): unknown[] {
  if (field.mergeKey) throw badType({}, original[0] ?? patch[0]);
  const idOf = (element: unknown): unknown => element;
  const union = [...new Set([...original, ...patch])];
  return inOrder(union, positionsOf(patch, idOf), positionsOf(original, idOf), idOf);
}

/**
 * The order of a merged list. Elements in `wanted` come in its order, the others in the order of the original. At
 * each step the next wanted element goes first, unless the original has the two candidates the other way round; so a
 * new element comes before those that the patch does not mention.
 */
function inOrder<T>(
  merged: readonly T[],
  wanted: ReadonlyMap<unknown, number>,
  positions: ReadonlyMap<unknown, number>,
  idOf: (element: T) => unknown,
): T[] {
  const at = (element: T, map: ReadonlyMap<unknown, number>): number => map.get(idOf(element)) ?? -1;
  const named = merged.filter((element) => wanted.has(idOf(element)));
  const others = merged.filter((element) => !wanted.has(idOf(element)));
  named.sort((a, b) => at(a, wanted) - at(b, wanted));
  others.sort((a, b) => at(a, positions) - at(b, positions));
  const result: T[] = [];
  let next = 0;
  for (const element of named) {
    const limit = at(element, positions);
    while (
      next < others.length &&
      at(others[next]!, positions) >= 0 &&
      at(others[next]!, positions) < limit
    ) {
      result.push(others[next]!);
      next += 1;
    }
    result.push(element);
  }
  return [...result, ...others.slice(next)];
}

/** First position of each element. */
function positionsOf<T>(list: readonly T[], idOf: (element: T) => unknown): Map<unknown, number> {
  const positions = new Map<unknown, number>();
  for (const [position, element] of list.entries()) {
    const id = idOf(element);
    if (!positions.has(id)) positions.set(id, position);
  }
  return positions;
}

/** The elements of the patch must be in the order of `$setElementOrder`; deletions do not count. */
function checkOrder(
  patch: readonly unknown[],
  order: readonly unknown[],
  idOf: (element: unknown) => unknown,
): void {
  if (patch.length === 0 || order.length === 0) return;
  const wanted = patch.filter((element) => !isJsonObject(element) || element[PATCH] !== 'delete');
  let found = 0;
  for (let next = 0; next < order.length && found < wanted.length; next += 1) {
    while (found < wanted.length && hasPatch(wanted[found])) found += 1;
    if (found < wanted.length && idOf(wanted[found]) === idOf(order[next])) found += 1;
  }
  if (found < wanted.length)
    throw failed(
      `The order in patch list:\n${goFormat(patch)}\n doesn't match ${SET_ORDER} list:\n${goFormat(order)}\n`,
    );
}

const hasPatch = (element: unknown): boolean => isJsonObject(element) && Object.hasOwn(element, PATCH);

/** Identifies maps by their merge key. Values are compared with their JSON type: 80 is not "80". */
const idByKey =
  (mergeKey: string, wholePatch: JsonObject) =>
  (element: unknown): unknown => {
    if (!isJsonObject(element)) throw badType({}, element);
    if (!Object.hasOwn(element, mergeKey)) {
      const why = `map: ${goFormat(element)} does not contain declared merge key: ${mergeKey}`;
      throw Object.keys(element).some(isDirective) ? misdirected(why) : failed(why);
    }
    const id = element[mergeKey];
    // Keys are never maps or lists: Kubernetes would crash on comparing them.
    if (typeof id === 'object' && id !== null)
      throw invalidValue(goFormat(wholePatch), `unrecognized type: ${goKind(id)}`);
    return id;
  };

/** All elements of the lists must have one type: maps, or scalars of one type. At least one list has elements. */
function holdsMaps(...lists: (readonly unknown[])[]): boolean {
  let first: string | undefined;
  for (const list of lists) {
    for (const element of list) {
      const kind = typeof element === 'number' || typeof element === 'bigint' ? 'number' : goKind(element);
      // Kubernetes answers this error like a JSON patch that cannot be applied.
      if (kind === 'slice' && first === undefined) throw cannotApply();
      first ??= kind;
      if (kind !== first || kind === 'invalid')
        throw failed(`list element types are not identical: ${goFormat(lists)}`);
    }
  }
  return first === 'map';
}

function listName(directive: string, prefix: string): string {
  if (directive.startsWith(`${prefix}/`)) return directive.slice(prefix.length + 1);
  throw badFormat(prefix === SET_ORDER ? 'setElementOrder list' : 'primitive list');
}

function asList(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw badType([], value);
}

const own = (object: JsonObject, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/** Kubernetes answers errors without a type with a plain 500. */
const failed = (message: string): PatchError => new PatchError(500, message, 'directive');

/** A directive that cannot be followed is the client's mistake, so it gets a 400, unlike in Kubernetes. */
const misdirected = (message: string): PatchError => new PatchError(400, message, 'directive');

/** Carries out a directive of a patch; an error of 500 becomes one of 400, because it is the client's mistake. */
function directed<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof PatchError && error.code === 500 ? misdirected(error.message) : error;
  }
}

const noMergeKey = (field: Field): PatchError =>
  failed(
    `cannot merge lists without merge key for ${field.items?.type === 'model' ? 'struct' : field.items?.type}`,
  );

const badFormat = (what: string): PatchError =>
  new PatchError(400, `invalid patch format of ${what}`, 'directive');

const badType = (expected: unknown, actual: unknown): PatchError =>
  failed(`expected a ${goType(expected)}, but received a ${goType(actual)}`);

const unknownPatchType = (directive: unknown, patch: JsonObject): PatchError =>
  misdirected(`unknown patch type: ${goFormatText(directive)} in map: ${goFormat(patch)}`);
