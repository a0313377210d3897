/**
 * The garbage collector: deletes objects whose owners are gone.
 *
 * Two sorts of keys are processed. A *dependent* is processed when it appears or changes, and when one of its owners
 * is deleted: without owners it is deleted, otherwise references to missing owners are removed. An *owner* is
 * processed while it has a garbage collector finalizer: `foregroundDeletion` keeps it until its blocking dependents
 * are gone, `orphan` until their references to it are removed. Owners in a circle would wait for each other for ever,
 * so one that waits for itself stops blocking its own owners.
 *
 * Whether an owner of an unknown kind exists is not known, so its dependents stay, and are processed again when that
 * kind is added.
 */
import type { OwnerReference } from '../api/generated/types.ts';
import type { Kind, ResourceId } from '../api/kind/kind.ts';
import type { ApiObject } from '../api/text/object.ts';
import { composedKey } from '../composed-key.ts';
import type { Registry } from '../registry/registry.ts';
import { targetOf } from '../registry/target.ts';
import { remove } from '../registry/verbs/delete.ts';
import { modify } from '../registry/verbs/modify.ts';
import type { Entry } from '../registry/view/entry.ts';
import { givenInSlices } from '../time-slices.ts';
import { Dependents } from './dependents.ts';
import {
  type Controller,
  ifUnchanged,
  type RunningController,
  running,
  type SharedContext,
} from './shared/controller.ts';
import { observeKinds } from './shared/kind-observation.ts';
import { WorkQueue } from './shared/work-queue.ts';

/** The key of an object: resource, namespace and name, joined by a character that names cannot contain. */
const SEPARATOR = '\u0000';
type Place = string;
const placeOf = (entry: Entry): Place => [entry.kind.id, entry.namespace, entry.name].join(SEPARATOR);

/** What it costs to follow one reference (`time-slices.ts`). */
const lookSteps = 20;

/** Maximum number of remembered deleted owners, when only dependents of observed deletions are collected. */
const deletedOwnersMax = 100_000;

/** `unknown`: an owner that this collector has never seen. */
type OwnerState = 'present' | 'deleting in foreground' | 'gone' | 'unknown kind' | 'unknown';

export const garbageCollector: Controller = {
  name: 'garbagecollector',
  housekeeping: true,
  writer: 'generic-garbage-collector',
  start: (context) => new GarbageCollector(context),
};

class GarbageCollector implements RunningController {
  readonly #context: SharedContext;
  readonly #registry: Registry;
  readonly #queue: WorkQueue;
  readonly #running: RunningController;
  readonly #dependents = new Dependents();
  /** Uids of objects that are being deleted in the foreground. */
  readonly #inForeground = new Set<string>();
  /** Dependents of owners of unknown kinds, by version and kind. */
  readonly #waiting = new Map<string, Set<Place>>();
  /**
   * Uids of objects that were deleted while this collector ran, the newest last; undefined: all missing owners count as
   * deleted.
   */
  readonly #deleted: Set<string> | undefined;

  constructor(context: SharedContext) {
    const { registry, onError } = context;
    this.#context = context;
    this.#registry = registry;
    this.#deleted = context.settings.collectOnlyDeletedOwners ? new Set() : undefined;
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (place) => this.#look(place),
      onError: (_, error) => onError(error),
    });
    const observation = observeKinds(context, {
      observed: (_, entry, previous) => this.#observed(entry, previous),
      came: (kind) => this.#came(ownerKindName(kind)),
      went: (_, entries) => {
        for (const entry of entries) this.#forgetAll(entry);
      },
    });
    this.#running = running([observation], [this.#queue]);
  }

  get settled(): boolean {
    return this.#running.settled;
  }

  close(): Promise<void> {
    return this.#running.close();
  }

  /** Objects are parsed only when their text contains owner references or a deletion. */
  #observed(entry: Entry | undefined, previous: Entry | undefined): void {
    if (previous) this.#forgetAll(previous);
    if (!entry) {
      if (previous) this.#gone(previous);
      return;
    }
    const place = placeOf(entry);
    const isRead = entry.mayHaveOwners || entry.mayBeMarked;
    const { ownerReferences = [], deletionTimestamp, finalizers } = isRead ? entry.peek().metadata : {};
    this.#dependents.add(place, ownerReferences);
    if (previous?.mayHaveOwners) this.#referencesChanged(previous, ownerReferences);
    if (ownerReferences.length && !this.#areOwnersPresent(ownerReferences, entry)) this.#queue.add(place);
    if (!deletionTimestamp || !finalizers?.some(isCollectors)) return;
    if (finalizers.includes('foregroundDeletion')) this.#inForeground.add(entry.uid);
    this.#queue.add(place);
  }

  /** An owner may wait for a reference that was removed, or does not block it any more. */
  #referencesChanged(previous: Entry, references: readonly OwnerReference[]): void {
    const before = previous.peek().metadata.ownerReferences?.filter(isBlocking) ?? [];
    if (before.length === 0) return;
    const blocked = new Set(references.filter(isBlocking).map(({ uid }) => uid));
    for (const reference of before) {
      if (blocked.has(reference.uid)) continue;
      const owner = this.#owner(reference, previous.namespace);
      if (owner) this.#queue.add(placeOf(owner));
    }
  }

  #came(kind: string): void {
    for (const place of this.#waiting.get(kind) ?? []) this.#queue.add(place);
    this.#waiting.delete(kind);
  }

  #forgetAll(entry: Entry): void {
    if (this.#inForeground.size) this.#inForeground.delete(entry.uid);
    if (!entry.mayHaveOwners) return;
    const place = placeOf(entry);
    const { ownerReferences = [] } = entry.peek().metadata;
    this.#dependents.delete(place, ownerReferences);
    if (this.#waiting.size)
      for (const reference of ownerReferences) forget(this.#waiting, ownerKindName(reference), place);
  }

  /** After a deletion, the object's dependents may have to be deleted, and its owners may be waiting for it. */
  #gone(previous: Entry): void {
    this.#noteDeleted(previous.uid);
    for (const place of this.#dependents.of(previous.uid)) this.#queue.add(place);
    if (!previous.mayHaveOwners) return;
    for (const reference of previous.peek().metadata.ownerReferences ?? []) {
      const owner = this.#owner(reference, previous.namespace);
      if (owner) this.#queue.add(placeOf(owner));
    }
  }

  #noteDeleted(uid: string): void {
    if (!this.#deleted) return;
    this.#deleted.add(uid);
    if (this.#deleted.size > deletedOwnersMax) this.#deleted.delete(this.#deleted.values().next().value!);
  }

  #find(place: Place): Entry | undefined {
    const [id, namespace, name] = place.split(SEPARATOR) as [ResourceId, string, string];
    return this.#registry.view.findCollection(id)?.get(namespace, name);
  }

  /** The object of a reference; undefined when it is gone, even if a new one has the same name. */
  #owner(reference: OwnerReference, namespace: string): Entry | undefined {
    const kind = this.#ownerKind(reference);
    const entry =
      kind &&
      this.#registry.view.collection(kind).get(kind.namespaced ? namespace : '', reference.name ?? '');
    return entry?.uid === reference.uid ? entry : undefined;
  }

  #ownerKind(reference: OwnerReference): Kind | undefined {
    return this.#registry.kinds.kind(reference.apiVersion ?? '', reference.kind ?? '');
  }

  #stateOf(reference: OwnerReference, namespace: string): OwnerState {
    if (!this.#ownerKind(reference)) return 'unknown kind';
    const owner = this.#owner(reference, namespace);
    if (!owner) return this.#deleted?.has(reference.uid ?? '') === false ? 'unknown' : 'gone';
    return this.#inForeground.has(owner.uid) ? 'deleting in foreground' : 'present';
  }

  /**
   * Whether there is nothing to do for a dependent: should one of its owners be deleted later, that is observed, and finds
   * the dependent. Nearly all changes of dependents end here.
   */
  #areOwnersPresent(references: readonly OwnerReference[], { namespace }: Entry): boolean {
    return references.every((reference) => this.#stateOf(reference, namespace) === 'present');
  }

  async #look(place: Place): Promise<void> {
    const entry = this.#find(place);
    if (!entry) return;
    const object = entry.peek();
    const { deletionTimestamp, finalizers, ownerReferences } = object.metadata;
    if (deletionTimestamp && finalizers?.includes('orphan')) return this.#orphan(entry);
    if (deletionTimestamp && finalizers?.includes('foregroundDeletion')) return this.#finishForeground(entry);
    if (ownerReferences?.length && !deletionTimestamp) await this.#collect(entry, object);
  }

  /** Deletes a dependent without owners; otherwise removes references to missing owners. */
  async #collect(entry: Entry, object: ApiObject): Promise<void> {
    const references = object.metadata.ownerReferences!;
    const states = references.map((reference) => this.#stateOf(reference, entry.namespace));
    for (const [i, reference] of references.entries())
      if (states[i] === 'unknown kind') remember(this.#waiting, ownerKindName(reference), placeOf(entry));
    const kept = references.filter((_, i) => keeping.has(states[i]!));
    if (kept.length === references.length) return;
    if (kept.length) {
      const uids = new Set(kept.map(({ uid }) => uid));
      return this.#dropReferences(entry, ({ uid }) => uids.has(uid));
    }
    const inForeground = states.includes('deleting in foreground') && this.#hasBlockingDependents(entry);
    await this.#delete(entry, object, inForeground ? 'Foreground' : undefined);
  }

  async #delete(entry: Entry, object: ApiObject, policy: 'Foreground' | undefined): Promise<void> {
    const { uid, finalizers } = object.metadata;
    const propagationPolicy = policy ?? (finalizers?.some(isCollectors) ? undefined : 'Background');
    await ifUnchanged(
      remove(this.#context.writing, this.#context.request('delete'), targetOf(entry), {
        preconditions: { uid },
        propagationPolicy,
      }),
    );
  }

  #hasBlockingDependents({ uid }: Entry): boolean {
    for (const place of this.#dependents.blocking(uid)) if (this.#find(place)) return true;
    return false;
  }

  async #finishForeground(entry: Entry): Promise<void> {
    for (const place of this.#dependents.of(entry.uid)) this.#queue.add(place);
    if (!this.#hasBlockingDependents(entry)) await this.#dropFinalizer(entry, 'foregroundDeletion');
    else if (await givenInSlices(this.#waitsForItself(entry))) await this.#unblockOwners(entry);
  }

  /** Whether the chain of its blocking dependents, which all wait, leads back to the owner itself. */
  *#waitsForItself({ uid }: Entry): Generator<number, boolean> {
    const seen = new Set<string>();
    const ahead = [uid];
    for (let next = ahead.pop(); next !== undefined; next = ahead.pop())
      for (const place of this.#dependents.blocking(next)) {
        yield lookSteps;
        const dependent = this.#find(place)?.uid;
        if (dependent === undefined || !this.#inForeground.has(dependent)) continue;
        if (dependent === uid) return true;
        if (seen.has(dependent)) continue;
        seen.add(dependent);
        ahead.push(dependent);
      }
    return false;
  }

  async #unblockOwners(entry: Entry): Promise<void> {
    await ifUnchanged(
      modify(this.#context.writing, this.#context.request('update'), targetOf(entry, 'whole'), (current) => {
        const object = current.object();
        for (const reference of object.metadata.ownerReferences ?? [])
          if (reference.blockOwnerDeletion) reference.blockOwnerDeletion = false;
        return object;
      }),
    );
  }

  async #orphan(entry: Entry): Promise<void> {
    for (const place of [...this.#dependents.of(entry.uid)]) {
      const dependent = this.#find(place);
      if (dependent) await this.#dropReferences(dependent, (reference) => reference.uid !== entry.uid);
    }
    await this.#dropFinalizer(entry, 'orphan');
  }

  async #dropReferences(entry: Entry, keep: (reference: OwnerReference) => boolean): Promise<void> {
    await ifUnchanged(
      modify(this.#context.writing, this.#context.request('update'), targetOf(entry, 'whole'), (current) => {
        const object = current.object();
        object.metadata.ownerReferences = object.metadata.ownerReferences?.filter(keep);
        return object;
      }),
    );
  }

  async #dropFinalizer(entry: Entry, finalizer: string): Promise<void> {
    await ifUnchanged(
      modify(this.#context.writing, this.#context.request('update'), targetOf(entry, 'whole'), (current) => {
        const object = current.object();
        object.metadata.finalizers = object.metadata.finalizers?.filter((one) => one !== finalizer);
        return object;
      }),
    );
  }
}

/** States of an owner that keep its dependents. */
const keeping: ReadonlySet<OwnerState> = new Set<OwnerState>(['present', 'unknown kind', 'unknown']);

/** The version and kind in a reference, which users may fill with anything. */
const ownerKindName = ({ apiVersion = '', kind = '' }: Pick<OwnerReference, 'apiVersion' | 'kind'>): string =>
  composedKey(apiVersion, kind);

function remember(places: Map<string, Set<Place>>, key: string, place: Place): void {
  const known = places.get(key);
  if (known) known.add(place);
  else places.set(key, new Set([place]));
}

function forget(places: Map<string, Set<Place>>, key: string | undefined, place: Place): void {
  const known = key === undefined ? undefined : places.get(key);
  if (!known) return;
  known.delete(place);
  if (known.size === 0) places.delete(key!);
}

const isCollectors = (finalizer: string): boolean =>
  finalizer === 'orphan' || finalizer === 'foregroundDeletion';

const isBlocking = ({ blockOwnerDeletion }: OwnerReference): boolean => blockOwnerDeletion === true;
