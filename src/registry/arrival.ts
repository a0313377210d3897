/**
 * Arrivals: kinds that come to a running server. What the store holds of them is read at one revision, while the feed
 * goes on: changes to them that come meanwhile are kept here, and applied in the moment in which the kind is served.
 */
import type { Kind } from '../api/kind.ts';
import { type Change, CompactedError, SEPARATOR, type Store, type Stored } from '../store/store.ts';
import { Collection } from './collection.ts';
import { Entry } from './entry.ts';
import { endOfKeys, type KeyParts, parseStoreKey } from './key.ts';
import type { View } from './view.ts';
import { WatchEvent } from './watchevent.ts';

/** Objects made ready before other work gets a turn: some milliseconds. */
const sliceMax = 1000;

export class Arrival {
  #changes: Change[] = [];
  #collection = new Collection();
  #isLoaded = false;

  constructor(readonly kind: Kind) {}

  /** Takes note of a change of the kind, from the moment on in which loading begins. */
  keep(change: Change): void {
    this.#changes.push(change);
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** The view has skipped changes, and does not know which: what was read has to be read again. */
  expire(): void {
    this.#isLoaded = false;
  }

  /** Reads the objects at the revision that the view has reached. */
  async load(store: Store, view: Pick<View, 'revision' | 'reached'>): Promise<void> {
    while (!this.#isLoaded) {
      const { revision } = view;
      this.#isLoaded = true;
      this.#changes = [];
      this.#collection = new Collection(revision);
      try {
        await loadObjects(store, this.kind, revision, this.#collection);
      } catch (error) {
        // Another server compacted history further than this one has come.
        this.#isLoaded = false;
        if (!(error instanceof CompactedError)) throw error;
        await view.reached(error.compacted);
      }
    }
  }

  /** The collection as it is now. */
  settled(): Collection {
    for (const change of this.#changes)
      if (change.revision > this.#collection.since)
        applyChange(this.#collection, this.kind, parseStoreKey(change.key), change);
    this.#changes = [];
    return this.#collection;
  }
}

/** Loads what the store holds of a kind at a revision. It is one read, so that no compaction can come in between. */
async function loadObjects(
  store: Store,
  kind: Kind,
  revision: number,
  collection: Collection,
): Promise<void> {
  const { items } = await store.range({
    start: kind.id + SEPARATOR,
    end: endOfKeys(kind.id),
    revision,
  });
  for (let from = 0; from < items.length; from += sliceMax) {
    if (from > 0) await new Promise((resolve) => setImmediate(resolve));
    for (const item of items.slice(from, from + sliceMax)) collection.load(entryOf(kind, item));
  }
}

function entryOf(kind: Kind, { key, value, revision }: Stored): Entry {
  const { namespace, name } = parseStoreKey(key);
  return Entry.of(kind, namespace, name, value, revision);
}

/** Brings a collection up to date with one change of the store. */
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
