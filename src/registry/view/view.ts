/**
 * The view: every object in memory, fed by the store's change feed alone. Reads, lists and watches are served from
 * here. A write is visible when its change has come through the feed, whichever server wrote it.
 *
 * It follows the table of kinds: a kind that is added gets a collection with its stored objects (`arrival.ts`) before
 * the table shows it; a kind that is removed loses its collection. Objects of unknown kinds stay in the store.
 */
import { resourceNotFound } from '../../api/errors/errors.ts';
import type { Kind, ResourceId } from '../../api/kind/kind.ts';
import type { KindChange, Prepared } from '../../api/kind/kind-change.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import { type Change, CompactedError, type Store } from '../../store/store.ts';
import { Arrival, applyChange, replayed } from './arrival.ts';
import { Collection } from './collection.ts';
import { Entry } from './entry.ts';
import { type FedView, FeedRecovery, type RecoveryOptions } from './feed-recovery.ts';
import { everything } from './filter.ts';
import { parseStoreKey, storeKey } from './key.ts';
import { withoutSelfLink } from './stamp.ts';
import type { ReadPast } from './stored-event.ts';

const loadPageSize = 1000;

export interface ViewOptions extends RecoveryOptions {
  /** Called once, when the feed broke and could not be restored: the view stays stale. */
  readonly onLost?: (error: Error) => void;
  /** Whether to remove `metadata.selfLink` from stored objects when they are read. */
  readonly dropsSelfLinks?: boolean | undefined;
  /** Which kinds are in the store; default: all. */
  readonly holds?: ((id: ResourceId) => boolean) | undefined;
  /**
   * For a long history: old states are read from the store again when they are asked for, and kinds that are added get
   * their history, too.
   */
  readonly past?: ReadPast | undefined;
}

interface Waiter {
  readonly revision: number;
  readonly done: () => void;
}

export class View {
  readonly #collections = new Map<ResourceId, Collection>();
  readonly #kindOf = new Map<ResourceId, Kind>();
  /** Kinds that are in another store. */
  readonly #elsewhere = new Map<ResourceId, View>();
  /** Kinds that are being loaded. */
  readonly #arrivals = new Map<ResourceId, Arrival>();
  #revision = 0;
  #compacted = 0;
  /** Revision, time and size of every change in the window, oldest first. */
  #log: { revision: number; timeMs: number; bytes: number }[] = [];
  #logBytes = 0;
  /** When the last change was made that is dropped; undefined when that is not known. */
  #forgottenMs: number | undefined;
  #waiters: Waiter[] = [];
  readonly #feed: FeedRecovery;
  #failure: Error | undefined;
  /** The newest question for the newest revision, and what follows from its answer. */
  #asked: Promise<number> | undefined;
  #answered: Promise<void> | undefined;
  #leaveTable: (() => void) | undefined;

  private constructor(
    readonly store: Store,
    private readonly options: ViewOptions,
  ) {
    this.#feed = new FeedRecovery(store, this.#fed(), options);
  }

  /** Loads the state that history begins with, subscribes to the feed, and resolves when the view has caught up. */
  static async open(store: Store, kinds: KindTable, options: ViewOptions = {}): Promise<View> {
    for (;;) {
      const view = new View(store, options);
      try {
        const loaded = view.#load(kinds);
        // Changes of the table wait until the present kinds are loaded.
        view.#leaveTable = kinds.prepareWith((change) => loaded.then(() => view.#prepare(change)));
        await loaded;
        return view;
      } catch (error) {
        view.close();
        // Another server compacted the history while it was being read.
        if (!(error instanceof CompactedError)) throw error;
      }
    }
  }

  async #load(kinds: KindTable): Promise<void> {
    this.#compacted = this.store.compacted;
    this.#revision = this.#compacted;
    for (const kind of kinds.stored()) {
      if (!this.#holds(kind)) continue;
      this.#collections.set(kind.id, new Collection(this.#compacted, this.options.past));
      this.#kindOf.set(kind.id, kind);
    }
    let start = '';
    for (let more = true; more; ) {
      const page = await this.store.range({ start, limit: loadPageSize, revision: this.#compacted });
      for (const item of page.items) {
        const { id, namespace, name } = parseStoreKey(item.key);
        const kind = this.#kindOf.get(id);
        if (kind)
          this.#collections
            .get(id)!
            .load(Entry.loaded(kind, namespace, name, this.#shownValue(item.value), item.revision));
      }
      more = page.more;
      const last = page.items.at(-1);
      if (last) start = `${last.key}\u0000`;
    }
    await this.#feed.start();
  }

  /** Removes `metadata.selfLink` from a change, which was written by a server that stores it. */
  #shown(change: Change): Change {
    return this.options.dropsSelfLinks && change.value
      ? { ...change, value: withoutSelfLink(change.value) }
      : change;
  }

  readonly #shownValue = (value: Buffer): Buffer =>
    this.options.dropsSelfLinks ? withoutSelfLink(value) : value;

  // The table of kinds

  readonly #holds = (kind: Kind): boolean => isStored(kind) && (this.options.holds?.(kind.id) ?? true);

  async #prepare({ added, replaced, removed }: KindChange): Promise<Prepared> {
    const arrivals = added.filter(this.#holds).map((kind) => new Arrival(kind, this.options.past));
    const abandon = (): void => {
      for (const { kind } of arrivals) this.#arrivals.delete(kind.id);
    };
    for (const arrival of arrivals) this.#arrivals.set(arrival.kind.id, arrival);
    try {
      while (!arrivals.every(({ isLoaded }) => isLoaded)) {
        await Promise.all(arrivals.map((arrival) => arrival.load(this.store, this, this.#shownValue)));
        if (this.options.past && arrivals.every(({ isLoaded }) => isLoaded))
          await replayed(this.store, arrivals);
      }
    } catch (error) {
      abandon();
      throw error;
    }
    const commit = (): void => {
      abandon();
      for (const arrival of arrivals) {
        const collection = arrival.settled();
        if (this.options.past) collection.forget(this.#compacted);
        this.#collections.set(arrival.kind.id, collection);
        this.#kindOf.set(arrival.kind.id, arrival.kind);
      }
      for (const kind of replaced.filter(this.#holds)) {
        this.#kindOf.set(kind.id, kind);
        this.#collections.get(kind.id)!.reread(kind);
      }
      for (const { id } of removed.filter(this.#holds)) {
        const collection = this.#collections.get(id)!;
        this.#collections.delete(id);
        this.#kindOf.delete(id);
        collection.close();
      }
    };
    return { commit, abandon };
  }

  // The feed

  #take(changes: readonly Change[]): void {
    const touched = new Map<Collection, number>();
    for (const change of changes) {
      const parts = parseStoreKey(change.key);
      const collection = this.#collections.get(parts.id);
      if (collection) {
        if (!touched.has(collection)) touched.set(collection, collection.endNumber);
        applyChange(collection, this.#kindOf.get(parts.id)!, parts, this.#shown(change));
      } else this.#arrivals.get(parts.id)?.keep(this.#shown(change));
      const bytes = bytesOnDisk(change);
      this.#log.push({ revision: change.revision, timeMs: change.timeMs, bytes });
      this.#logBytes += bytes;
      this.#revision = change.revision;
    }
    for (const [collection, fromNumber] of touched) collection.notify(fromNumber);
    this.#wake();
  }

  #passed(revision: number): void {
    this.#revision = revision;
    this.#wake();
  }

  /** The operations that only the feed recovery may call. */
  #fed(): FedView {
    const view = this;
    return {
      get revision() {
        return view.#revision;
      },
      reached: (revision) => this.reached(revision),
      take: (changes) => this.#take(changes),
      passed: (revision) => this.#passed(revision),
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
    // Changes up to `to` are applied under other revisions than their own, so no watch may begin among them.
    this.#compacted = to;
    for (const collection of this.#collections.values()) {
      collection.skip(to);
      collection.expire(({ after }) => after > from && after < to);
    }
    for (const arrival of this.#arrivals.values()) arrival.expire();
  }

  #skipped(to: number): void {
    this.#revision = to;
    for (const collection of this.#collections.values()) collection.notify(collection.startNumber);
    this.#wake();
  }

  #lost(error: Error): void {
    this.#failure = error;
    for (const waiter of this.#waiters.splice(0)) waiter.done();
    // Watches end; clients reconnect and get an error that says why.
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

  /** Events after this revision are in the window. */
  get compacted(): number {
    return this.#compacted;
  }

  /** How many changes are in the window. */
  get changeCount(): number {
    return this.#log.length;
  }

  /** The reason when the feed is lost; the view is stale then. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Throws when the feed is lost: the view is stale, and must not be read. */
  assertFed(): void {
    if (this.#failure) throw this.#failure;
  }

  /** The collection of a kind, the same for all its versions; a 404 when the kind is not served any more. */
  collection(of: Kind | ResourceId): Collection {
    const id = typeof of === 'string' ? of : of.storage.id;
    const collection = this.findCollection(id);
    if (!collection) throw resourceNotFound();
    return collection;
  }

  /** The same for a kind that may not be served. */
  findCollection(id: ResourceId): Collection | undefined {
    return this.#collections.get(id) ?? this.#elsewhere.get(id)?.findCollection(id);
  }

  /** Registers that objects of this kind are in another store, with revisions of its own. */
  lead(id: ResourceId, to: View): void {
    this.#elsewhere.set(id, to);
  }

  /** The view whose revisions are those of a kind's objects. */
  of({ storage }: Kind): View {
    return this.#elsewhere.size === 0 ? this : (this.#elsewhere.get(storage.id) ?? this);
  }

  /**
   * Resolves when the view has reached a revision; rejects when the feed is lost. While a broken feed is restored, it
   * waits.
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

  /** Resolves when all writes before this call, by any server, are in the view; undefined when they already are. */
  caughtUp(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure);
    const revision = this.store.revision();
    if (typeof revision === 'number') return revision <= this.#revision ? undefined : this.reached(revision);
    // Callers that share a question share the wait for its answer.
    if (revision !== this.#asked) {
      this.#asked = revision;
      this.#answered = revision.then((known) => this.reached(known));
    }
    return this.#answered;
  }

  /** Asks for the newest revision ahead of calls of `caughtUp()`; undefined where the store knows it without asking. */
  get prefetchRevision(): Store['prefetchRevision'] {
    return this.store.prefetchRevision?.bind(this.store);
  }

  /** About as many bytes as the changes in the window take on disk. */
  get changeBytes(): number {
    return this.#logBytes;
  }

  /** When the oldest change of the window was made; undefined when it is empty. */
  get oldestMs(): number | undefined {
    return this.#log[0]?.timeMs;
  }

  /** The newest revision that may be dropped, if any, given the bounds on age, number and size of changes. */
  revisionToForget(
    olderThanMs: number,
    countMax: number,
    bytesMax = Number.POSITIVE_INFINITY,
  ): number | undefined {
    const surplus = this.#log.length - countMax;
    let index = Math.max(surplus, 0);
    while (index < this.#log.length && this.#log[index]!.timeMs < olderThanMs) index++;
    if (this.#logBytes > bytesMax) {
      let bytes = this.#logBytes;
      for (let i = 0; i < this.#log.length && (i < index || bytes > bytesMax); i++) {
        bytes -= this.#log[i]!.bytes;
        index = Math.max(index, i + 1);
      }
    }
    return this.#log[index - 1]?.revision;
  }

  /** Drops events up to and including a revision. */
  forget(revision: number): void {
    this.#compacted = Math.max(this.#compacted, revision);
    const found = this.#log.findIndex((change) => change.revision > revision);
    const keepFrom = found < 0 ? this.#log.length : found;
    for (let i = 0; i < keepFrom; i++) this.#logBytes -= this.#log[i]!.bytes;
    this.#forgottenMs = this.#log[keepFrom - 1]?.timeMs ?? this.#forgottenMs;
    this.#log = this.#log.slice(keepFrom);
    for (const collection of this.#collections.values()) collection.forget(revision);
  }

  /** The revision that was the newest at a time, which must not be before `knownSinceMs`. */
  revisionAt(timeMs: number): number {
    let low = 0;
    let high = this.#log.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#log[middle]!.timeMs > timeMs) high = middle;
      else low = middle + 1;
    }
    return Math.max(this.#compacted, this.#log[low - 1]?.revision ?? 0);
  }

  /** Since when every change is known; undefined where no change is kept. */
  get knownSinceMs(): number | undefined {
    return this.#forgottenMs ?? this.#log[0]?.timeMs;
  }

  /** History begins after a revision, whose state is known to be that since a time, though no change tells it. */
  beginsWith(revision: number, timeMs: number): void {
    if (this.#compacted === revision) this.#forgottenMs ??= timeMs;
  }

  /** Begins history anew after a revision, and ends the watches of clients: they cannot follow a jump of the state. */
  restart(revision: number): void {
    this.forget(revision);
    for (const collection of this.#collections.values()) collection.expire(({ patient }) => patient);
  }

  close(): void {
    this.#leaveTable?.();
    this.#feed.close();
  }
}

const isStored = (kind: Kind): boolean => kind.storage === kind;

/** Large values have pages of their own. */
const pageBytes = 4_096;
/** Larger than this, with what belongs to it, a value does not share a page. */
const sharedBytesMax = 2_000;
/** What a version takes beside its key and value: its head, its place in the tree, the entry of its key. */
const besideBytes = 96;

/** About as many bytes as a change takes on disk. */
function bytesOnDisk({ key, value }: Change): number {
  const bytes = key.length + (value?.length ?? 0) + besideBytes;
  return bytes <= sharedBytesMax ? bytes : Math.ceil(bytes / pageBytes) * pageBytes + besideBytes;
}
