/**
 * Managed fields: who owns which field of an object, and how that changes with a write. Values in, values out; the
 * registry supplies time, versions, and which fields a path does not change.
 */

import { optimized } from '../../switches.ts';
import type { JsonObject } from '../text/object.ts';
import {
  difference,
  type FieldSet,
  intersection,
  isEmptySet,
  noFields,
  sameSet,
  union,
  unionOfAll,
} from '../values/field-set.ts';
import { entryOf, type Managed, type Manager } from '../values/managed-entry.ts';
import type { FieldType } from './field-type.ts';
import {
  type Changes,
  compare,
  fieldsOf,
  merge,
  metadataNeverOwned,
  named,
  reconciled,
  remove,
  sameJson,
} from './field-walk.ts';
import { fieldsOfLong, withoutSameEntries } from './long-maps.ts';

/** Entries of one object. Each is compared with all that a write changes. */
export const entriesMax = 200;
/** Update entries of one object; older ones are merged. */
const updateEntriesMax = 10;
/** The manager of merged entries. */
const ancient = 'ancient-changes';

/** Fields of the metadata that are never owned, because the server sets them, or because they name the object. */
const metadataReset: FieldSet = {
  '.': {},
  ...Object.fromEntries([...metadataNeverOwned].map((name) => [`f:${name}`, {}])),
};

const neverOwned: FieldSet = { 'f:apiVersion': {}, 'f:kind': {}, 'f:metadata': metadataReset };

/** Mostly nothing has to be taken out: looking for that takes a tenth of the time of taking it out. */
export const ownable = (set: FieldSet): FieldSet =>
  optimized && isOwnable(set) ? set : difference(set, neverOwned);

function isOwnable(set: FieldSet): boolean {
  if (set['f:apiVersion'] !== undefined || set['f:kind'] !== undefined) return false;
  const metadata = set['f:metadata'];
  if (metadata === undefined) return true;
  if (isEmptySet(metadata)) return false;
  for (const element in metadata) if (metadataReset[element] !== undefined) return false;
  return true;
}

const isSame = (a: Managed, b: Manager): boolean =>
  a.manager === b.manager &&
  a.operation === b.operation &&
  (a.subresource ?? '') === b.subresource &&
  (a.operation === 'Apply' || a.apiVersion === b.apiVersion);

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Apply before Update, then the oldest first. Times have whole seconds and one form, so their text compares. */
const inOrder = (a: Managed, b: Managed): number =>
  compareText(a.operation, b.operation) ||
  compareText(a.time ?? '', b.time ?? '') ||
  compareText(a.manager, b.manager) ||
  compareText(a.apiVersion, b.apiVersion) ||
  compareText(a.subresource ?? '', b.subresource ?? '');

export const sortedEntries = (entries: readonly Managed[]): Managed[] => [...entries].sort(inOrder);

/** The entries with the sets that today's types allow. The same list when all of them are. */
export function reconciledEntries(
  entries: readonly Managed[],
  typeAt: (apiVersion: string) => FieldType | undefined,
): readonly Managed[] {
  const out = entries.map((entry) => {
    const type = typeAt(entry.apiVersion);
    const set = type ? reconciled(type, entry.fieldsV1) : entry.fieldsV1;
    return set === entry.fieldsV1 ? entry : withSet(entry, set);
  });
  return out.some((entry, i) => entry !== entries[i]) ? out : entries;
}

/** A change in terms of a version; undefined when the kind does not have that version. */
export type ChangesAt = (apiVersion: string) => Changes | undefined;

/** The entries after an update. The same list when no ownership changes. */
export function updatedEntries(
  entries: readonly Managed[],
  who: Manager,
  now: string,
  changesAt: ChangesAt,
): readonly Managed[] {
  const { changed } = changesAt(who.apiVersion)!;
  const mine = ownable(changed);
  let isOld = false;
  let touched = false;
  const out: Managed[] = [];
  for (const entry of entries) {
    const changes = changesAt(entry.apiVersion);
    const own = changes !== undefined && isSame(entry, who);
    const set = changes && without(entry.fieldsV1, own ? noFields : changes.changed, changes.removed);
    isOld ||= own;
    const after = own ? union(set!, mine) : set;
    const time = own && !isEmptySet(mine) ? now : entry.time;
    if (after === entry.fieldsV1 && time === entry.time) out.push(entry);
    else {
      touched = true;
      if (after && !isEmptySet(after)) out.push(withSet(entry, after, time));
    }
  }
  if (!isOld && !isEmptySet(mine)) {
    touched = true;
    out.push(entryOf(who, mine, now));
  }
  return touched ? sortedEntries(capped(out)) : entries;
}

const without = (set: FieldSet, changed: FieldSet, removed: FieldSet): FieldSet =>
  difference(difference(set, changed), removed);

const withSet = (entry: Managed, fieldsV1: FieldSet, time = entry.time): Managed =>
  entryOf(entry, fieldsV1, time);

/** At most ten Update entries: the oldest ones of a version are merged into one. */
function capped(entries: Managed[]): Managed[] {
  const updates = entries.filter(({ operation }) => operation === 'Update');
  let surplus = updates.length - updateEntriesMax;
  if (surplus <= 0) return entries;
  const key = (entry: Managed): string => JSON.stringify({ ...entry, time: undefined, fieldsV1: undefined });
  updates.sort((a, b) => compareText(a.time ?? '', b.time ?? '') || compareText(key(a), key(b)));
  /** The oldest of each version, as many as have to be merged. */
  const oldest = new Map<string, Managed[]>();
  for (const entry of updates) {
    if (surplus <= 0) break;
    const some = oldest.get(entry.apiVersion);
    if (!some) {
      oldest.set(entry.apiVersion, [entry]);
      continue;
    }
    some.push(entry);
    surplus--;
  }
  const merging = [...oldest.values()].filter((some) => some.length > 1);
  const gone = new Set(merging.flat());
  return [...entries.filter((entry) => !gone.has(entry)), ...merging.map(mergedEntry)];
}

function mergedEntry(entries: readonly Managed[]): Managed {
  const { apiVersion, time } = entries.at(-1)!;
  const who = { manager: ancient, operation: 'Update', apiVersion, subresource: '' } as const;
  return entryOf(who, unionOfAll(entries.map(({ fieldsV1 }) => fieldsV1)), time);
}

/** A version of the kind: its type, and how objects of the version of the request are converted to it and back. */
interface Version {
  readonly type: FieldType;
  to(object: JsonObject): JsonObject;
  from(object: JsonObject): JsonObject;
}

export interface Application {
  readonly live: JsonObject;
  readonly body: JsonObject;
  /** The entries of `live`. */
  readonly entries: readonly Managed[];
  readonly who: Manager;
  readonly now: string;
  readonly force: boolean;
  /** Undefined when the kind does not have that version. */
  version(apiVersion: string): Version | undefined;
  /** Takes out what this path does not change. */
  keep(set: FieldSet): FieldSet;
  /** Whether each pass over the object is long. */
  readonly isLong?: boolean;
}

/** The fields of one manager that an apply would change. */
export interface Conflict {
  readonly entry: Managed;
  readonly fields: FieldSet;
}

export class ApplyConflict extends Error {
  constructor(readonly conflicts: readonly Conflict[]) {
    super('the apply conflicts with other managers');
    this.name = 'ApplyConflict';
  }
}

export interface Applied {
  readonly merged: JsonObject;
  readonly entries: Managed[];
}

/** Merges what a manager applies into an object. Throws an ApplyConflict. */
export function applied(apply: Application): Applied {
  const work = applying(apply);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** The same with a pause after each pass over the object. */
export function* applying(apply: Application): Generator<void, Applied> {
  const { live, body, who, now, force, keep } = apply;
  const { type } = apply.version(who.apiVersion)!;
  const known = reconciledEntries(
    apply.entries.filter(({ apiVersion }) => apply.version(apiVersion)),
    (apiVersion) => apply.version(apiVersion)?.type,
  );
  const last = known.find((entry) => isSame(entry, who));
  const others = known.filter((entry) => entry !== last);
  yield;
  const set = keep(apply.isLong ? yield* fieldsOfLong(type, body) : fieldsOf(type, body));
  yield;
  let merged = merge(type, live, body);
  yield;
  if (last && !isSubset(last, entryOf(who, set, undefined)))
    merged = yield* pruned(apply, merged, last, [...others, entryOf(who, set, undefined)]);

  const [before, after] =
    apply.isLong && type.model ? yield* withoutSameEntries(type.model, live, merged) : [live, merged];
  const changesAt = memoized((apiVersion) => {
    const { type: of, to } = apply.version(apiVersion)!;
    const [a, b] = apiVersion === who.apiVersion ? [before, after] : [to(live), to(merged)];
    const { changed, removed } = compare(of, a, b);
    return { changed: keep(changed), removed: keep(removed) };
  });
  const conflicts: Conflict[] = [];
  const out: Managed[] = [];
  for (const entry of others) {
    yield;
    const { changed, removed } = changesAt(entry.apiVersion);
    const fields = intersection(entry.fieldsV1, changed);
    if (apply.isLong) yield;
    if (!isEmptySet(fields)) conflicts.push({ entry, fields });
    const rest = without(entry.fieldsV1, fields, removed);
    if (!isEmptySet(rest)) out.push(rest === entry.fieldsV1 ? entry : withSet(entry, rest));
  }
  if (conflicts.length && !force) throw new ApplyConflict(conflicts);
  const mine = ownable(set);
  if (apply.isLong) yield;
  const time = sameJson(before, after) ? last?.time : now;
  if (!isEmptySet(mine))
    out.push(entryOf(who, last && sameSet(last.fieldsV1, mine) ? last.fieldsV1 : mine, time));
  return { merged, entries: sortedEntries(out) };
}

/** Whether all that was applied is applied again: then nothing has to be removed. */
const isSubset = (last: Managed, now: Managed): boolean =>
  last.apiVersion === now.apiVersion && isEmptySet(difference(last.fieldsV1, now.fieldsV1));

/**
 * Removes what the manager applied last time and nobody owns now: first everything it had, then what is owned or was not
 * its own is given back.
 */
function* pruned(
  apply: Application,
  merged: JsonObject,
  last: Managed,
  entries: readonly Managed[],
): Generator<void, JsonObject> {
  const own = apply.version(last.apiVersion)!;
  const owned = new Map<string, FieldSet[]>([[last.apiVersion, [noFields]]]);
  for (const { apiVersion, fieldsV1 } of entries) {
    const sets = owned.get(apiVersion);
    if (sets) sets.push(fieldsV1);
    else owned.set(apiVersion, [fieldsV1]);
  }
  const mergedThere = own.to(merged);
  const had = named(own.type, last.fieldsV1);
  const asObject = (value: unknown): JsonObject => (value ?? {}) as JsonObject;
  let rest = asObject(remove(own.type, mergedThere, had));
  yield;
  for (const [apiVersion, sets] of owned) {
    const { type, to, from } = apply.version(apiVersion)!;
    const isOwn = apiVersion === last.apiVersion;
    const all = isOwn ? mergedThere : to(merged);
    const left = isOwn ? rest : to(own.from(rest));
    const kept = union(named(type, fieldsOf(type, left)), named(type, unionOfAll(sets)));
    yield;
    const there = named(type, fieldsOf(type, all));
    yield;
    const back = asObject(remove(type, all, difference(there, kept)));
    rest = isOwn ? back : own.to(from(back));
    yield;
  }
  const gone = difference(
    named(own.type, fieldsOf(own.type, mergedThere)),
    named(own.type, fieldsOf(own.type, rest)),
  );
  yield;
  return own.from(asObject(remove(own.type, mergedThere, intersection(gone, had))));
}

/** Remembers what a function of a version gave: entries share few versions. */
export function memoized<T>(compute: (apiVersion: string) => T): (apiVersion: string) => T {
  const known = new Map<string, T>();
  return (apiVersion) => {
    if (!known.has(apiVersion)) known.set(apiVersion, compute(apiVersion));
    return known.get(apiVersion)!;
  };
}
