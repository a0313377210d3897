/**
 * The registry: what every verb needs. The verbs themselves are one file each (`create.ts`, `update.ts`,
 * `patch.ts`, `delete.ts`, `list.ts`, `watch.ts`…) and work for all kinds.
 */
import { encodeObject } from '../api/encode.ts';
import { notFound, requestTimeout, tooLarge } from '../api/errors.ts';
import type { ResourceId } from '../api/kind.ts';
import type { KindTable } from '../api/kinds.ts';
import { selfLink } from '../api/meta.ts';
import type { ApiObject, JsonObject } from '../api/object.ts';
import { formatTime } from '../api/time.ts';
import { VALUE_BYTES_MAX } from '../store/engine.ts';
import { DeadlineError, type Store, type Write, type WriteResult } from '../store/store.ts';
import { QuotaAccounts } from './admission/quotaaccounts.ts';
import type { Allocator } from './allocation/allocation.ts';
import { Entry } from './entry.ts';
import { type Finalizing, fullFinalizing } from './finalizing.ts';
import { storeKey } from './key.ts';
import { namespaceExists, removeRemains } from './namespaceremains.ts';
import type { Request } from './request.ts';
import { named, type Place, type Target } from './target.ts';
import { Tokens } from './tokens.ts';
import { Turns } from './turns.ts';
import type { View } from './view.ts';

/** Time and chance, handed in so that a test can decide them. */
export interface Chance {
  /** Milliseconds since 1970. */
  nowMs(): number;
  /** The uid of the next object. */
  uid(): string;
  /** A whole number from 0 up to and without the bound; for name suffixes and the choice among equals. */
  randomBelow(bound: number): number;
}

export class Registry {
  readonly quotas = new QuotaAccounts(this);
  readonly tokens = new Tokens(this);
  readonly turns = new Turns();
  #writeFailure: Error | undefined;
  readonly allocators: ReadonlyMap<ResourceId, Allocator>;

  constructor(
    readonly store: Store,
    readonly view: View,
    readonly kinds: KindTable,
    readonly chance: Chance,
    allocators: readonly Allocator[] = [],
    readonly finalizing: Finalizing = fullFinalizing,
  ) {
    this.allocators = new Map(allocators.map((allocator) => [allocator.id, allocator]));
  }

  /** Now, as objects show it. */
  now(): string {
    return formatTime(this.chance.nowMs());
  }

  /** Waits for something, and gives up with a 504 if it is too late by then. */
  async inTime(waiting: Promise<void>, deadlineMs: number | undefined): Promise<void> {
    await waiting;
    if (deadlineMs !== undefined && deadlineMs < this.chance.nowMs()) throw requestTimeout();
  }

  /** The current state of an object, or a 404. */
  find({ kind, namespace, name }: Place): Entry {
    const entry = this.view.collection(kind).get(namespace, name);
    if (!entry) throw notFound(kind, name);
    return entry;
  }

  /**
   * The bytes to store for an object, which is completed here and nobody else's any more. The resourceVersion is left
   * to the store. `current` is what is stored now, for versions of a kind that cannot say everything. This is the one
   * place that sees every object on its way to the store: who writes it and which part is at hand.
   */
  encode(_request: Request, target: Target, versioned: ApiObject, current?: Entry): Buffer {
    const { storage: kind, stored } = target.kind;
    const object = stored ? stored.toStored(versioned, current?.object()) : versioned;
    const meta = object.metadata;
    if (!meta.uid) throw new Error(`an object without uid cannot be stored: ${kind.resource} ${meta.name}`);
    meta.resourceVersion = undefined;
    meta.managedFields = undefined;
    meta.selfLink = selfLink(kind, meta.namespace ?? '', meta.name ?? '');
    object.kind = kind.kind;
    object.apiVersion = kind.apiVersion;
    return Buffer.from(encodeObject(kind.model, object as unknown as JsonObject), 'utf8');
  }

  /**
   * Writes a value if the object is still at `expected` (0: does not exist), and answers when the view shows it.
   * Undefined: another writer was faster, and the view shows that too.
   */
  async commit(
    { deadlineMs }: Request,
    place: Place,
    value: Buffer | null,
    expected: number,
  ): Promise<number | undefined> {
    // Text can grow: what is escaped in JSON may be shorter in a YAML or protobuf body, and patches add up.
    if (value && value.length > VALUE_BYTES_MAX)
      throw tooLarge(`the object would have ${value.length} bytes, the limit is ${VALUE_BYTES_MAX}`);
    const { kind, namespace, name } = place;
    const key = storeKey(kind.storage.id, namespace, name);
    const result = await this.#write({ key, value, expected, deadlineMs });
    if (result.ok) {
      if (result.revision > this.view.revision) await this.view.reached(result.revision);
      if (value === null) {
        await this.allocators.get(kind.storage.id)?.removed?.(this, place);
        if (kind.storage.id === 'core/namespaces') await removeRemains(this, name, result.revision);
      }
      return result.revision;
    }
    await this.view.caughtUp();
    return undefined;
  }

  /**
   * Removes an object that was just made if its namespace has gone meanwhile, and says whether it had: the namespace was
   * there when the request was let in, and everything that was in it then has been removed.
   */
  async withdrawn(request: Request, place: Place, revision: number): Promise<boolean> {
    if (!place.kind.namespaced || namespaceExists(this, place.namespace)) return false;
    await this.commit(request, place, null, revision);
    return true;
  }

  /** Why the newest write failed, if it was the store that failed. */
  get writeFailure(): Error | undefined {
    return this.#writeFailure;
  }

  async #write(write: Write): Promise<WriteResult> {
    try {
      const result = await this.store.write(write);
      this.#writeFailure = undefined;
      return result;
    } catch (error) {
      if (error instanceof DeadlineError) throw requestTimeout();
      this.#writeFailure = error as Error;
      throw error;
    }
  }

  /**
   * Stores an object of the server's own making as it is, unless there is one of that name. Nobody is asked: what
   * a cluster cannot do without is not subject to admission.
   */
  async plant(request: Request, collection: Target, object: ApiObject): Promise<boolean> {
    const { kind, namespace } = collection;
    Object.assign(object.metadata, {
      ...(kind.namespaced ? { namespace } : {}),
      uid: this.chance.uid(),
      creationTimestamp: this.now(),
    });
    const target = named(collection, object.metadata.name!);
    return (await this.commit(request, target, this.encode(request, target, object), 0)) !== undefined;
  }

  /** The entry of a value just written: the view's own, if nothing newer is there already. */
  entryOf({ kind, namespace, name }: Place, value: Buffer, revision: number): Entry {
    const seen = this.view.collection(kind).get(namespace, name);
    return seen?.revision === revision ? seen : Entry.of(kind, namespace, name, value, revision);
  }
}
