/** A data folder with a long history: old states stay on disk until they are asked for. */
import type { ReadPast } from '../../registry/view/stored-event.ts';
import type { VersionedStore, VersionedStoreOptions } from '../../store/versioned.ts';

export interface LongHistory {
  /** The store, once it is open. */
  readonly store: VersionedStore;
  readonly past: ReadPast;
  openStore(options: VersionedStoreOptions): Promise<VersionedStore>;
}

export function longHistory(dataDir: string): LongHistory {
  let opened: VersionedStore | undefined;
  return {
    get store() {
      if (!opened) throw new Error('the data folder is being opened');
      return opened;
    },
    past: (revision) => opened?.valueAt(revision),
    openStore: async (options) => {
      const { openLmdbStore } = await import('../../store/lmdb.ts');
      opened = await openLmdbStore({ dataDir, ...options });
      return opened;
    },
  };
}
