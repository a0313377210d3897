/**
 * Arrivals: kinds that are added to a running server. The stored objects of the kind are read at one revision.
 * Changes to them that the feed brings meanwhile are buffered here, and applied at the moment the kind is first
 * served.
 */
import type { Kind } from '../../api/kind/kind.ts';
import { type Change, CompactedError, SEPARATOR, type Store, type Stored } from '../../store/store.ts';
import { Collection } from './collection.ts';
import { Entry } from './entry.ts';
import { endOfKeys, type KeyParts, parseStoreKey } from './key.ts';
import type { ReadPast } from './stored-event.ts';
import type { View } from './view.ts';
import { WatchEvent } from './watch-event.ts';

/** Objects parsed per event loop tick: some milliseconds of work. */
const sliceMax = 1000;

export class Arrival {
  #changes: Change[] = [];
  #collection = new Collection();
  #isLoaded = false;
  /** The view's revision when loading began. */
  #loadedAt = 0;

  /** @param past given where the kind gets its history, too (`replayed`) */
  constructor(
    readonly kind: Kind,
    private readonly past?: ReadPast | undefined,
  ) {}

  /** Buffers a change of the kind; called from the start of loading on. */
  keep(change: Change): void {
    this.#changes.push(change);
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** The view has skipped an unknown number of changes, so the objects have to be read again. */
  expire(): void {
    this.#isLoaded = false;
  }

  /** Reads the objects at the revision that the view has reached, or that history begins with. */
  async load(
    store: Store,
    view: Pick<View, 'revision' | 'compacted' | 'reached'>,
    shown: (value: Buffer) => Buffer,
  ): Promise<void> {
    while (!this.#isLoaded) {
      const since = this.past ? view.compacted : view.revision;
      this.#loadedAt = view.revision;
      this.#isLoaded = true;
      this.#changes = [];
      this.#collection = new Collection(since, this.past);
      try {
        await loadObjects(store, this.kind, since, this.#collection, shown);
      } catch (error) {
        // Another server has compacted history beyond the revision that this view has reached.
        this.#isLoaded = false;
        if (!(error instanceof CompactedError)) throw error;
        await view.reached(error.compacted);
      }
    }
  }

  /** Brings the collection from the state that it was loaded at to the present, by the history of its kind. */
  get missing(): { readonly after: number; readonly until: number } {
    return { after: this.#collection.since, until: this.#loadedAt };
  }

  /** Takes a change of history. */
  replay(change: Change): void {
    const { after, until } = this.missing;
    if (change.revision > after && change.revision <= until) this.#apply(change);
  }

  /** The collection with all buffered changes applied. */
  settled(): Collection {
    for (const change of this.#changes) if (change.revision > this.#collection.since) this.#apply(change);
    this.#changes = [];
    return this.#collection;
  }

  #apply(change: Change): void {
    applyChange(this.#collection, this.kind, parseStoreKey(change.key), change);
  }
}

/** Gives loaded arrivals their history, in one pass over that of the store. False: it was compacted meanwhile. */
export async function replayed(store: Store, arrivals: readonly Arrival[]): Promise<boolean> {
  const after = Math.min(...arrivals.map(({ missing }) => missing.after));
  const until = Math.max(...arrivals.map(({ missing }) => missing.until));
  if (after >= until) return true;
  const byKind = new Map(arrivals.map((arrival) => [arrival.kind.id, arrival]));
  const feed = store.watch(after, (changes) => {
    for (const change of changes) byKind.get(parseStoreKey(change.key).id)?.replay(change);
    if (changes.at(-1)!.revision >= until) feed.close();
  });
  try {
    await feed.ended;
    return true;
  } catch (error) {
    if (!(error instanceof CompactedError)) throw error;
    for (const arrival of arrivals) arrival.expire();
    return false;
  }
}

/**
 * Loads the stored objects of a kind at a revision, in one read: a compaction between two reads would make the second
 * fail.
 */
async function loadObjects(
  store: Store,
  kind: Kind,
  revision: number,
  collection: Collection,
  shown: (value: Buffer) => Buffer,
): Promise<void> {
  const { items } = await store.range({
    start: kind.id + SEPARATOR,
    end: endOfKeys(kind.id),
    revision,
  });
  for (let from = 0; from < items.length; from += sliceMax) {
    if (from > 0) await new Promise((resolve) => setImmediate(resolve));
    for (const item of items.slice(from, from + sliceMax))
      collection.load(entryOf(kind, { ...item, value: shown(item.value) }));
  }
}

function entryOf(kind: Kind, { key, value, revision }: Stored): Entry {
  const { namespace, name } = parseStoreKey(key);
  return Entry.loaded(kind, namespace, name, value, revision);
}

/** Applies one change of the store to a collection. */
export function applyChange(
  collection: Collection,
  kind: Kind,
  { namespace, name }: KeyParts,
  { value, revision, timeMs }: Change,
): void {
  const previous = collection.get(namespace, name);
  const entry = value === null ? undefined : Entry.of(kind, namespace, name, value, revision);
  if (entry || previous) collection.apply(new WatchEvent(revision, timeMs, entry, previous));
}
