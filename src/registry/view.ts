/**
 * The view: every object in memory, fed by the store's change feed and by nothing else. Reads, lists and watches
 * are served from here. A write is visible when its change has come through the feed, whoever wrote it.
 */
import type { Kind, ResourceId } from '../api/kind.ts';
import type { KindTable } from '../api/kinds.ts';
import { type Change, CompactedError, type Store } from '../store/store.ts';
import { Collection } from './collection.ts';
import { Entry } from './entry.ts';
import { type FedView, FeedRecovery, type RecoveryOptions } from './feedrecovery.ts';
import { Filter } from './filter.ts';
import { type KeyParts, parseStoreKey, storeKey } from './key.ts';
import { WatchEvent } from './watchevent.ts';

const loadPageSize = 1000;
const everything = new Filter(undefined, undefined, undefined, undefined);

export interface ViewOptions extends RecoveryOptions {
  /** Told once, when the feed broke and cannot be taken up again: the view is stale for good. */
  readonly onLost?: (error: Error) => void;
}

interface Waiter {
  readonly revision: number;
  readonly done: () => void;
}

export class View {
  readonly #collections = new Map<ResourceId, Collection>();
  readonly #kindOf = new Map<ResourceId, Kind>();
  #revision = 0;
  #compacted = 0;
  /** Revision and time of every change in the window, oldest first. */
  #log: { revision: number; timeMs: number }[] = [];
  #waiters: Waiter[] = [];
  readonly #feed: FeedRecovery;
  #failure: Error | undefined;

  private constructor(
    private readonly store: Store,
    kinds: KindTable,
    private readonly options: ViewOptions,
  ) {
    this.#feed = new FeedRecovery(store, this.#fed(), options);
    for (const kind of kinds.stored()) {
      this.#collections.set(kind.id, new Collection());
      this.#kindOf.set(kind.id, kind);
    }
  }

  /** Loads the state that history begins with, follows the feed, and is ready when it has caught up. */
  static async open(store: Store, kinds: KindTable, options: ViewOptions = {}): Promise<View> {
    for (;;) {
      const view = new View(store, kinds, options);
      try {
        await view.#load();
        return view;
      } catch (error) {
        // Another server compacted the history while it was being read.
        if (!(error instanceof CompactedError)) throw error;
        view.close();
      }
    }
  }

  async #load(): Promise<void> {
    this.#compacted = this.store.compacted;
    this.#revision = this.#compacted;
    let start = '';
    for (let more = true; more; ) {
      const page = await this.store.range({ start, limit: loadPageSize, revision: this.#compacted });
      for (const item of page.items) {
        const entry = this.#entryOf(parseStoreKey(item.key), item.value, item.revision);
        if (entry) this.#collections.get(entry.kind.id)!.load(entry);
      }
      more = page.more;
      const last = page.items.at(-1);
      if (last) start = `${last.key}\u0000`;
    }
    await this.#feed.start();
  }

  #entryOf(parts: KeyParts, value: Buffer, revision: number): Entry | undefined {
    const kind = this.#kindOf.get(parts.id);
    return kind && Entry.of(kind, parts.namespace, parts.name, value, revision);
  }

  #take(changes: readonly Change[]): void {
    const touched = new Map<Collection, number>();
    for (const change of changes) {
      const parts = parseStoreKey(change.key);
      const collection = this.#collections.get(parts.id);
      if (collection) {
        if (!touched.has(collection)) touched.set(collection, collection.endNumber);
        const previous = collection.get(parts.namespace, parts.name);
        const entry = change.value === null ? undefined : this.#entryOf(parts, change.value, change.revision);
        if (entry || previous)
          collection.apply(new WatchEvent(change.revision, change.timeMs, entry, previous));
      }
      this.#log.push({ revision: change.revision, timeMs: change.timeMs });
      this.#revision = change.revision;
    }
    for (const [collection, fromNumber] of touched) collection.notify(fromNumber);
    this.#wake();
  }

  /** What keeps the feed going may do to the view, and nobody else. */
  #fed(): FedView {
    const view = this;
    return {
      get revision() {
        return view.#revision;
      },
      reached: (revision) => this.reached(revision),
      take: (changes) => this.#take(changes),
      held: () => this.#held(),
      skipping: (to) => this.#skipping(to),
      skipped: (to) => this.#skipped(to),
      lost: (error) => this.#lost(error),
    };
  }

  *#held(): Iterable<readonly [key: string, entry: Entry]> {
    for (const collection of this.#collections.values())
      for (const entry of collection.select(everything).entries)
        yield [storeKey(entry.kind.id, entry.namespace, entry.name), entry];
  }

  #skipping(to: number): void {
    const from = this.#revision;
    // Changes up to there are told under other revisions than they had, so nobody may begin among them.
    this.#compacted = to;
    for (const collection of this.#collections.values())
      collection.expire(({ after }) => after > from && after < to);
  }

  #skipped(to: number): void {
    this.#revision = to;
    for (const collection of this.#collections.values()) collection.notify(collection.startNumber);
    this.#wake();
  }

  #lost(error: Error): void {
    this.#failure = error;
    for (const waiter of this.#waiters.splice(0)) waiter.done();
    // Clients come back, and are told why there is nothing to watch.
    for (const collection of this.#collections.values()) collection.expire(({ patient }) => patient);
    this.options.onLost?.(error);
  }

  #wake(): void {
    if (this.#waiters.length === 0) return;
    const waiting: Waiter[] = [];
    for (const waiter of this.#waiters)
      if (waiter.revision <= this.#revision) waiter.done();
      else waiting.push(waiter);
    this.#waiters = waiting;
  }

  /** The newest revision seen here. */
  get revision(): number {
    return this.#revision;
  }

  /** Events after this revision are still known. */
  get compacted(): number {
    return this.#compacted;
  }

  /** How many changes are in the window. */
  get changeCount(): number {
    return this.#log.length;
  }

  /** Why the feed is lost, if it is; the view is stale then. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Throws when the view is stale for good: what it shows may not be told to anybody. */
  assertFed(): void {
    if (this.#failure) throw this.#failure;
  }

  /** The objects of a kind, whichever of its versions is meant. */
  collection(of: Kind | ResourceId): Collection {
    const id = typeof of === 'string' ? of : of.storage.id;
    const collection = this.#collections.get(id);
    if (!collection) throw new Error(`there is no collection ${id}`);
    return collection;
  }

  /**
   * Resolves when a revision has arrived, or at once when it is here; rejects when the feed is lost. While a feed that
   * broke is taken up again, it waits.
   */
  reached(revision: number, signal?: AbortSignal): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (revision <= this.#revision) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        revision,
        done: () => (this.#failure ? reject(this.#failure) : resolve()),
      };
      this.#waiters.push(waiter);
      signal?.addEventListener(
        'abort',
        () => {
          this.#waiters = this.#waiters.filter((other) => other !== waiter);
          resolve();
        },
        { once: true },
      );
    });
  }

  /** Resolves when all that was written before this call, by anybody, is here; undefined when it is already. */
  caughtUp(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure);
    const revision = this.store.revision();
    if (typeof revision === 'number') return revision <= this.#revision ? undefined : this.reached(revision);
    return revision.then((known) => this.reached(known));
  }

  /** The newest revision that is too old to keep, if any, given how old and how many changes may be kept. */
  revisionToForget(olderThanMs: number, countMax: number): number | undefined {
    const surplus = this.#log.length - countMax;
    let index = Math.max(surplus, 0);
    while (index < this.#log.length && this.#log[index]!.timeMs < olderThanMs) index++;
    return this.#log[index - 1]?.revision;
  }

  /** Drops events up to and including a revision. */
  forget(revision: number): void {
    this.#compacted = Math.max(this.#compacted, revision);
    const keepFrom = this.#log.findIndex((change) => change.revision > revision);
    this.#log = keepFrom < 0 ? [] : this.#log.slice(keepFrom);
    for (const collection of this.#collections.values()) collection.forget(revision);
  }

  close(): void {
    this.#feed.close();
  }
}
