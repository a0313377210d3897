/**
 * The registry: what is stored, and how it is encoded, found and committed. The verbs are one file each (`create.ts`,
 * `update.ts`, `patch.ts`, `delete.ts`, `list.ts`, `watch.ts`…) and work for all kinds; what those that write need beyond
 * the registry is in `writing.ts`.
 */

import { notFound, requestTimeout, tooLarge } from '../api/errors/errors.ts';
import type { Kind, ResourceId } from '../api/kind/kind.ts';
import { selfLink } from '../api/kind/meta.ts';
import type { KindTable } from '../api/kinds/kinds.ts';
import { encodeObject } from '../api/model/encode.ts';
import { managedOf, setManaged } from '../api/model/managed-text.ts';
import type { ApiObject, JsonObject } from '../api/text/object.ts';
import { formatTime } from '../api/values/time.ts';
import {
  DeadlineError,
  type Lock,
  LockLostError,
  OutcomeUnknownError,
  type Store,
  type Write,
  type WriteResult,
} from '../store/store.ts';
import { systemTimers, type Timers } from '../timers.ts';
import type { Removal } from './removal.ts';
import type { Request } from './request.ts';
import { named, type Place, type Target } from './target.ts';
import { Entry } from './view/entry.ts';
import { storeKey } from './view/key.ts';
import type { View } from './view/view.ts';

/** Time and randomness, injected so that tests can control them. */
export interface Sources {
  /** Milliseconds since 1970. */
  nowMs(): number;
  /** A new uid. */
  uid(): string;
  /** A random whole number from 0 up to, and without, the bound; for name suffixes and the choice among equals. */
  randomBelow(bound: number): number;
}

/** The parts of a registry besides store, view, kinds and clock. */
export interface RegistryParts {
  /** Functions that run after objects were removed. */
  readonly removals?: readonly Removal<Registry>[];
  /** Whether objects have `metadata.selfLink`, as in Kubernetes 1.1. Default: yes. */
  readonly selfLinks?: boolean;
  /** Timers on the clock of `sources`. */
  readonly timers?: Timers;
  /** Called with every write that was stored, when the view shows it. */
  readonly onCommit?: (request: Request, revision: number) => void;
}

export class Registry {
  readonly selfLinks: boolean;
  readonly timers: Timers;
  readonly #removals: ReadonlyMap<ResourceId, readonly Removal<Registry>[]>;
  readonly #onCommit: RegistryParts['onCommit'];
  #writeFailure: Error | undefined;

  constructor(
    readonly store: Store,
    readonly view: View,
    readonly kinds: KindTable,
    readonly sources: Sources,
    { removals = [], selfLinks = true, timers = systemTimers, onCommit }: RegistryParts = {},
  ) {
    this.selfLinks = selfLinks;
    this.timers = timers;
    this.#removals = byKind(removals);
    this.#onCommit = onCommit;
  }

  /** The current time, in the format of API objects. */
  now(): string {
    return formatTime(this.sources.nowMs());
  }

  /** Waits for a promise; throws a 504 when the deadline has passed by then. */
  async inTime(waiting: Promise<void>, deadlineMs: number | undefined): Promise<void> {
    await waiting;
    this.assertInTime(deadlineMs);
  }

  /** Throws when the deadline of a request has passed. */
  assertInTime(deadlineMs: number | undefined): void {
    if (deadlineMs !== undefined && deadlineMs < this.sources.nowMs()) throw requestTimeout();
  }

  /** The current state of an object, or a 404. */
  find({ kind, namespace, name }: Place): Entry {
    const entry = this.view.collection(kind).get(namespace, name);
    if (!entry) throw notFound(kind, name);
    return entry;
  }

  /**
   * The bytes to store for an object, without the resourceVersion. The caller hands the object over, as it is
   * completed in place. `current` is the stored object, from which fields are kept that the request's version of the
   * kind lacks. Every object passes here on its way to the store, with request and target at hand.
   */
  encode({ isApply, trace }: Request, target: Target, versioned: ApiObject, current?: Entry): Buffer {
    trace?.end('admission');
    const { storage: kind, stored } = target.kind;
    const object = stored ? stored.toStored(versioned, current?.object()) : versioned;
    const meta = object.metadata;
    if (!meta.uid) throw new Error(`an object without uid cannot be stored: ${kind.resource} ${meta.name}`);
    meta.resourceVersion = undefined;
    meta.selfLink = this.selfLinks ? selfLink(kind, meta.namespace ?? '', meta.name ?? '') : undefined;
    object.kind = kind.kind;
    object.apiVersion = kind.apiVersion;
    // Stored objects are parsed without it, so it stays as it is unless the write has set it.
    if (current && !Object.hasOwn(meta, 'managedFields')) setManaged(meta, current.managed);
    const value = bytesOf(kind, object);
    if (value.length > this.store.valueBytesMax && !isApply && managedOf(meta)) {
      // Too large: rather without managed fields than not at all. An apply is refused, because ownership is its purpose.
      setManaged(meta, undefined);
      return bytesOf(kind, object);
    }
    const managed = current && managedOf(meta);
    if (!managed?.retimed || !current!.holdsRest(value, Buffer.byteLength(managed.text))) return value;
    // Do not write an object of which only the times of managed fields would change.
    setManaged(meta, managed.retimed);
    return bytesOf(kind, object);
  }

  /**
   * Writes a value if the object is still at revision `expected` (0: it does not exist); resolves when the view shows
   * it. Undefined: another writer was faster, and the view shows that write.
   */
  async commit(
    request: Request,
    place: Place,
    value: Buffer | null,
    expected: number,
    locks?: readonly Lock[],
  ): Promise<number | undefined> {
    // Checked again after encoding: JSON may be longer than a YAML or protobuf body, and patches add up.
    const bytesMax = this.store.valueBytesMax;
    if (value && value.length > bytesMax)
      throw tooLarge(`the object would have ${value.length} bytes, the limit is ${bytesMax}`);
    const { deadlineMs, trace } = request;
    trace?.end(value ? 'encode' : 'admission');
    const { kind, namespace, name } = place;
    const key = storeKey(kind.storage.id, namespace, name);
    const view = this.view.of(kind);
    // Locks are keys of the cluster's own store, and cannot be compared in another one.
    const result =
      view === this.view
        ? await this.#write(this.store, { key, value, expected, deadlineMs, locks, trace })
        : await this.#write(view.store, { key, value, expected, deadlineMs, trace });
    if (result.ok) {
      if (result.revision > view.revision) await view.reached(result.revision);
      const removals = value === null && this.#removals.get(kind.storage.id);
      if (removals) await Promise.all(removals.map((one) => one.removed(this, place, result.revision)));
      this.#onCommit?.(request, result.revision);
      return result.revision;
    }
    await view.caughtUp();
    return undefined;
  }

  /**
   * Takes a lock of this server and waits until the view shows what other servers wrote under it. Undefined in a store
   * that has one server only.
   */
  async enter(name: string, deadlineMs?: number): Promise<Lock | undefined> {
    let lock: Lock | undefined;
    try {
      lock = await this.store.locks?.enter(name, deadlineMs);
      if (lock) await this.view.reached(lock.revision);
      return lock;
    } catch (error) {
      lock?.leave();
      throw isTimeout(error) ? requestTimeout() : error;
    }
  }

  /** The error of the newest write, if the store failed. */
  get writeFailure(): Error | undefined {
    return this.#writeFailure;
  }

  async #write(store: Store, write: Write): Promise<WriteResult> {
    try {
      const result = await store.write(write);
      this.#writeFailure = undefined;
      return result;
    } catch (error) {
      if (isTimeout(error)) throw requestTimeout();
      this.#writeFailure = error as Error;
      throw error;
    }
  }

  /**
   * Creates an object of the server itself, unless it exists. Admission is skipped: the cluster needs these objects.
   */
  async seed(request: Request, collection: Target, object: ApiObject): Promise<boolean> {
    const { kind, namespace } = collection;
    Object.assign(object.metadata, {
      ...(kind.namespaced ? { namespace } : {}),
      uid: this.sources.uid(),
      creationTimestamp: this.now(),
    });
    const target = named(collection, object.metadata.name!);
    return (await this.commit(request, target, this.encode(request, target, object), 0)) !== undefined;
  }

  /** The entry of a value just written: the view's own, unless the view has a newer one already. */
  entryOf({ kind, namespace, name }: Place, value: Buffer, revision: number): Entry {
    const seen = this.view.collection(kind).get(namespace, name);
    return seen?.revision === revision ? seen : Entry.of(kind, namespace, name, value, revision);
  }
}

function byKind(removals: readonly Removal<Registry>[]): Map<ResourceId, Removal<Registry>[]> {
  const byId = new Map<ResourceId, Removal<Registry>[]>();
  for (const removal of removals) byId.set(removal.id, [...(byId.get(removal.id) ?? []), removal]);
  return byId;
}

/** Whether the store did not answer in time: the request may be sent again. */
const isTimeout = (error: unknown): boolean =>
  error instanceof DeadlineError || error instanceof OutcomeUnknownError || error instanceof LockLostError;

const bytesOf = ({ model }: Kind, object: ApiObject): Buffer =>
  Buffer.from(encodeObject(model, object as unknown as JsonObject), 'utf8');
