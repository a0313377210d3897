/**
 * Ownership: maintains `metadata.managedFields` for every write that is not an apply. It is computed from what the
 * client sent, with defaults, before admission: fields that the server itself sets have no owner.
 */

import { ownershipModel } from '../../api/custom-schema/ownership-model.ts';
import { invalid as invalidObject, StatusError } from '../../api/errors/errors.ts';
import { type FieldError, tooLong, tooMany } from '../../api/errors/field-error.ts';
import type { ManagedFieldsEntry, ObjectMeta } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { normalized } from '../../api/model/encode.ts';
import { ManagedText, replacing, setEntries, setManaged, writingSets } from '../../api/model/managed-text.ts';
import type { Model } from '../../api/model/model.ts';
import { type FieldType, structOf } from '../../api/ownership/field-type.ts';
import { compareField, compareWritten } from '../../api/ownership/field-walk.ts';
import { withoutSameEntries } from '../../api/ownership/long-maps.ts';
import {
  entriesMax,
  memoized,
  ownable,
  reconciledEntries,
  updatedEntries,
} from '../../api/ownership/managed-fields.ts';
import { createdText } from '../../api/ownership/ownership-text.ts';
import { type ApiObject, cloneJson, isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { type FieldSet, fieldSetText, isEmptySet } from '../../api/values/field-set.ts';
import { type Managed, type Manager, readManaged } from '../../api/values/managed-entry.ts';
import { Memo } from '../../memo.ts';
import { optimized } from '../../switches.ts';
import { givenInPasses, isLong } from '../../time-slices.ts';
import type { Input } from '../input.ts';
import { managerErrors } from '../manager-name.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import { subresourceOf, type Target } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import type { Writing } from '../writing.ts';
import { answeredAs } from './conversion.ts';

/** Longest subresource in an entry. */
const subresourceBytesMax = 256;

const isUntracked = (request: Request, { kind }: Target): boolean =>
  kind.storage.untracked === true && request.isOwn;

export const managerOf = (
  request: Request,
  { kind, part }: Target,
  operation: Manager['operation'],
): Manager => ({
  manager: request.fieldManager,
  operation,
  apiVersion: kind.apiVersion,
  subresource: subresourceOf(part) ?? '',
});

/** The normalized form of an empty object of a model. */
const zeroObjects = new Memo((model: Model) => normalized(model, {}));

export const zeroObject = (kind: Kind): JsonObject => zeroObjects.of(kind.model);

/** Sets the managed fields of an object that is about to be created. */
export type TrackCreate = (writing: Writing, request: Request, target: Target, object: ApiObject) => void;

export const trackCreate: TrackCreate = ({ registry, managedFields }, request, target, object) => {
  const meta = object.metadata;
  const base = (meta.managedFields && readSent(target, meta.name ?? '', meta.managedFields)) ?? [];
  setEntries(meta, base);
  if (managedFields !== 'all' || isUntracked(request, target)) return;
  const { kind } = target;
  const now = registry.now();
  if (base.length === 0) {
    const set = optimized
      ? createdText(
          ownershipModel(kind.model),
          object as unknown as JsonObject,
          kind.changes.main.resets.roots,
        )
      : fieldSetText(ownedByCreator(kind, object));
    if (set !== '{}')
      setManaged(meta, ManagedText.ofCreator(request.fieldManager, kind.apiVersion, now, set));
    return;
  }
  const at = memoized((apiVersion) => {
    const version = versionOf(registry, kind, apiVersion);
    if (!version) return undefined;
    const there = converted(request, kind, version, { ...object, metadata: withoutManaged(meta) }, undefined);
    return { changed: ownedByCreator(version, there), removed: {} };
  });
  setEntries(meta, updatedEntries(base, managerOf(request, target, 'Update'), now, at));
};

const withoutManaged = ({ managedFields: _, ...metadata }: ObjectMeta): ObjectMeta => metadata;

/** The fields that a create owns: those of the object beyond what an empty object has. */
export function ownedByCreator(kind: Kind, object: ApiObject, part = 'main'): FieldSet {
  const { roots, keep } = kind.changes[part]!.resets;
  const { changed } = compareWritten(
    structOf(ownershipModel(kind.model)),
    zeroObject(kind),
    object as unknown as JsonObject,
    roots,
  );
  return ownable(keep(changed));
}

/** Sets the managed fields of an object that is about to replace a stored one. */
export type Track = (
  writing: Writing,
  request: Request,
  target: Target,
  object: ApiObject,
  /** The stored object, in the version of the target. */
  old: ApiObject,
  current: Entry,
) => void | Promise<void>;

export const trackUpdate: Track = (...change) => track(...change, undefined);

/** Like `track`, for changes of the metadata only: nothing else is compared. */
export const trackMetadata: Track = (...change) => track(...change, 'metadata');

function track(
  { registry, managedFields }: Writing,
  request: Request,
  target: Target,
  object: ApiObject,
  old: ApiObject,
  current: Entry,
  /** The only top-level field that may have changed; undefined: any. */
  only: string | undefined,
): void | Promise<void> {
  const meta = object.metadata;
  const { part } = target;
  const sent = part === 'main' && !request.internal ? meta.managedFields : undefined;
  // managedFields itself is not compared, and is the same in every version.
  meta.managedFields = undefined;
  const stored = current.managed;
  const base = sent ? baseOf(target, sent, stored) : stored;
  const tracked = part !== 'whole' && managedFields !== 'off' && !isUntracked(request, target);
  const finish = (managed: ManagedText | undefined): void =>
    setManaged(meta, managed && replacing(stored, managed));
  if (!base || !tracked) return finish(base);
  const work = updatedOrLost(registry, request, target, object, old, base, only, isLong(current.length));
  const managed = givenInPasses(work, current.length);
  return managed instanceof Promise ? managed.then(finish) : finish(managed);
}

/**
 * The updated entries; none when a webhook cannot convert the object to a version in which fields are owned, as in
 * Kubernetes.
 */
function* updatedOrLost(...change: Parameters<typeof updated>): Generator<void, ManagedText | undefined> {
  try {
    return yield* updated(...change);
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

/** Computes the updated entries; pauses after each pass over the object or its field sets. */
function* updated(
  registry: Registry,
  request: Request,
  target: Target,
  object: ApiObject,
  old: ApiObject,
  base: ManagedText,
  only: string | undefined,
  isLongObject: boolean,
): Generator<void, ManagedText | undefined> {
  const { kind, part } = target;
  const reset = kind.changes[part]!.resets;
  const [before, after] = isLongObject
    ? yield* withoutSameEntries(ownershipModel(kind.model), old as never, object as never)
    : [old as unknown as JsonObject, object as unknown as JsonObject];
  const changesAt = memoized((apiVersion) => {
    const version = versionOf(registry, kind, apiVersion);
    if (!version) return undefined;
    const to = (value: ApiObject): JsonObject =>
      converted(request, kind, version, value, old) as unknown as JsonObject;
    const type = structOf(ownershipModel(version.model));
    const [a, b] = version === kind ? [before, after] : [to(old), to(object)];
    const { changed, removed } = only
      ? compareField(type, only, a, b)
      : compareWritten(type, a, b, reset.roots);
    return { changed: reset.keep(changed), removed: reset.keep(removed) };
  });
  const { changed, removed } = changesAt(kind.apiVersion)!;
  if (isEmptySet(changed) && isEmptySet(removed)) return base;
  yield;
  const known = isLongObject ? yield* base.reading() : base.entries;
  yield;
  // The types of custom kinds change with their definitions: a field may have become atomic.
  const typeAt = (apiVersion: string): FieldType | undefined => {
    const version = versionOf(registry, kind, apiVersion);
    return version && structOf(ownershipModel(version.model));
  };
  const entries = kind.custom ? reconciledEntries(known, typeAt) : known;
  const now = updatedEntries(entries, managerOf(request, target, 'Update'), registry.now(), changesAt);
  if (now === known) return base;
  yield;
  if (isLongObject) yield* writingSets(now);
  return now.length ? ManagedText.of(now) : undefined;
}

/** For changes that have computed the entries themselves. */
export const trackedAlready = (): void => {};

/** The entries that an update starts from: those the client sent, unless they are invalid. */
function baseOf(
  target: Target,
  sent: readonly ManagedFieldsEntry[],
  stored: ManagedText | undefined,
): ManagedText | undefined {
  // Most clients send back what they read.
  if (stored && JSON.stringify(sent) === stored.text) return stored;
  const entries = readSent(target, target.name, sent);
  if (!entries) return stored;
  return entries.length ? ManagedText.of(entries) : undefined;
}

/** The entries that a client sent; empty for `[{}]`; undefined when they are invalid. */
function readSent(
  { kind }: Target,
  name: string,
  sent: readonly ManagedFieldsEntry[],
): readonly Managed[] | undefined {
  if (sent.length === 0 || (sent.length === 1 && Object.keys(sent[0]!).length === 0)) return [];
  checkCount(kind, name, sent.length);
  const entries = readManaged(sent);
  const errors = entries?.flatMap((entry, i) => entryErrors(entry, `metadata.managedFields[${i}]`)) ?? [];
  if (errors.length) throw invalidObject(kind, name, errors);
  return entries;
}

/** Throws when an object would have too many entries. */
export function checkCount(kind: Kind, name: string, count: number): void {
  if (count > entriesMax)
    throw invalidObject(kind, name, [tooMany('metadata.managedFields', count, entriesMax)]);
}

/** As `checkCount`, for a long body that was not decoded yet: that would take longer than all else. */
export function checkSentCount(kind: Kind, { value, bytes }: Input): void {
  if (bytes === undefined || !isJsonObject(value) || !isJsonObject(value.metadata)) return;
  const { name, managedFields } = value.metadata;
  if (Array.isArray(managedFields))
    checkCount(kind, typeof name === 'string' ? name : '', managedFields.length);
}

const entryErrors = ({ manager, subresource = '' }: Managed, path: string): FieldError[] => [
  ...managerErrors(`${path}.manager`, manager),
  ...(Buffer.byteLength(subresource) > subresourceBytesMax
    ? [tooLong(`${path}.subresource`, subresourceBytesMax)]
    : []),
];

/** The version of a kind with this apiVersion; undefined when it has none. */
export function versionOf(registry: Registry, kind: Kind, apiVersion: string): Kind | undefined {
  if (kind.apiVersion === apiVersion) return kind;
  for (const version of registry.kinds.versions(kind.storage.id))
    if (version.apiVersion === apiVersion) return version;
  return undefined;
}

/**
 * An object in another version of its kind. Custom objects get no defaults there: a field that was just removed would
 * come back under its name in the other version.
 */
export function converted(
  request: Request,
  from: Kind,
  to: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
): ApiObject {
  if (from === to) return object;
  if (to.custom) {
    const there = from.conversion ? answeredAs(request, to, object) : (cloneJson(object) as ApiObject);
    to.pruneApplied!(there);
    return { ...there, apiVersion: to.apiVersion };
  }
  const { metadata } = object;
  const stored = from.stored
    ? from.stored.toStored(
        structuredClone({ ...object, metadata: { ...metadata } }),
        old && storedForm(from, old),
      )
    : object;
  return to.stored ? { ...to.stored.fromStored(stored), metadata: stored.metadata } : stored;
}

const storedForm = (from: Kind, old: ApiObject): ApiObject =>
  from.stored ? from.stored.toStored(structuredClone(old), undefined) : old;
