/** The store of a test cluster: in memory, and it can refuse writes as a full disk does. */
import { MemoryEngine, type MemoryState } from '../store/memory.ts';
import { type Store, StoreFullError, type Write, type WriteResult } from '../store/store.ts';
import { VersionedStore, type VersionedStoreOptions } from '../store/versioned.ts';

export class RefusingStore extends VersionedStore {
  constructor(
    options: VersionedStoreOptions,
    state: MemoryState | undefined,
    private readonly refuses: (key: string) => boolean,
  ) {
    super(new MemoryEngine(state), options);
  }

  override write(write: Write): Promise<WriteResult> {
    if (!this.refuses(write.key)) return super.write(write);
    return Promise.reject(new StoreFullError('the store is full: no space left on device'));
  }

  /** The same store, which takes all writes whatever faults there are. */
  get unrefused(): Pick<Store, 'range' | 'write' | 'revision' | 'compact'> {
    return {
      range: (query) => this.range(query),
      write: (write) => super.write(write),
      revision: () => this.revision(),
      compact: (revision) => this.compact(revision),
    };
  }
}
