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
import type { View } from './view.ts';
import { WatchEvent } from './watch-event.ts';

/** Objects parsed per event loop tick: some milliseconds of work. */
const sliceMax = 1000;

export class Arrival {
  #changes: Change[] = [];
  #collection = new Collection();
  #isLoaded = false;

  constructor(readonly kind: Kind) {}

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

  /** Reads the objects at the revision that the view has reached. */
  async load(
    store: Store,
    view: Pick<View, 'revision' | 'reached'>,
    shown: (value: Buffer) => Buffer,
  ): Promise<void> {
    while (!this.#isLoaded) {
      const { revision } = view;
      this.#isLoaded = true;
      this.#changes = [];
      this.#collection = new Collection(revision);
      try {
        await loadObjects(store, this.kind, revision, this.#collection, shown);
      } catch (error) {
        // Another server has compacted history beyond the revision that this view has reached.
        this.#isLoaded = false;
        if (!(error instanceof CompactedError)) throw error;
        await view.reached(error.compacted);
      }
    }
  }

  /** The collection with all buffered changes applied. */
  settled(): Collection {
    for (const change of this.#changes)
      if (change.revision > this.#collection.since)
        applyChange(this.#collection, this.kind, parseStoreKey(change.key), change);
    this.#changes = [];
    return this.#collection;
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
  return Entry.found(kind, namespace, name, value, revision);
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
