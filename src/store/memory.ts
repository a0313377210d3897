/**
 * The in-memory engine: plain maps behind the store contract, for tests and throw-away clusters.
 *
 * A commit takes effect at once, so a write costs little more than a promise. Buffers are kept without a copy: the
 * writer must not change them afterwards.
 */
import type { Engine, EngineState, Removal, Version, VersionOutline } from './engine.ts';
import { compareKeys, type SortedEntry, SortedMap } from './sorted-map.ts';
import type { Store, Stored } from './store.ts';
import { VersionedStore, type VersionedStoreOptions } from './versioned.ts';

/**
 * Commits in one turn of the event loop. The next waits for another turn: a series of writes of which each awaits the one
 * before, as when a controller makes the claims of a pod, would end before others are heard.
 */
const turnCommitsMax = 32;

export type MemoryStoreOptions = VersionedStoreOptions;

export function openMemoryStore(options?: MemoryStoreOptions): Store {
  return new VersionedStore(new MemoryEngine(), options);
}

/** Everything a store holds at one revision. */
export interface MemoryState {
  readonly revision: number;
  readonly items: readonly Stored[];
}

export class MemoryEngine implements Engine {
  readonly opened: EngineState;
  readonly #versions = new Map<number, Version>();
  readonly #heads = new SortedMap<number>();
  #bytes = 0;
  /** Commits since this turn of the event loop began. */
  #gathered = 0;

  /** @param state what it holds from the beginning; default: nothing */
  constructor({ revision, items }: MemoryState = { revision: 0, items: [] }) {
    this.opened = { revision, compacted: revision, swept: revision };
    const versionOf = ({ key, value, revision }: Stored): Version => ({
      key,
      revision,
      previous: 0,
      timeMs: 0,
      value,
      endsCommit: true,
    });
    this.#put(items.map(versionOf));
  }

  head(key: string): number {
    return this.#heads.get(key) ?? 0;
  }

  *heads(start: string, end: string | undefined): Generator<SortedEntry<number>, void, undefined> {
    for (const entry of this.#heads.from(start)) {
      if (end !== undefined && compareKeys(entry.key, end) >= 0) return;
      yield entry;
    }
  }

  version(revision: number): Version | undefined {
    return this.#versions.get(revision);
  }

  outline(revision: number): VersionOutline | undefined {
    const version = this.#versions.get(revision);
    return version && { previous: version.previous, deletedKey: version.value ? undefined : version.key };
  }

  commit(versions: readonly Version[]): void | Promise<void> {
    this.#put(versions);
  }

  #put(versions: readonly Version[]): void {
    for (const version of versions) {
      this.#versions.set(version.revision, version);
      this.#heads.set(version.key, version.revision);
      this.#bytes += bytesOf(version);
    }
  }

  remove({ versions, keys }: Removal): void {
    for (const revision of versions) {
      const version = this.#versions.get(revision);
      if (version) this.#bytes -= bytesOf(version);
      this.#versions.delete(revision);
    }
    for (const key of keys) this.#heads.delete(key);
  }

  bytes(): number {
    return this.#bytes;
  }

  gather(callback: () => void): void {
    if (this.#gathered === 0)
      setImmediate(() => {
        this.#gathered = 0;
      });
    if (++this.#gathered > turnCommitsMax) setImmediate(callback);
    else queueMicrotask(callback);
  }

  close(): void {
    this.#versions.clear();
    this.#heads.clear();
  }
}

/** Bytes of keys and values; the overhead of maps is not counted. */
const bytesOf = ({ key, value }: Version): number => key.length + (value?.length ?? 0);
