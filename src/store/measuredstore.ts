/** A store whose writes are timed. It is otherwise the store it is given, whatever engine is behind that. */
import type {
  Change,
  RangePage,
  RangeQuery,
  Store,
  Stored,
  StoreStats,
  Subscription,
  Write,
  WriteResult,
} from './store.ts';

export type Operation = 'create' | 'update' | 'delete';

/** Told of every write when its outcome is known. `failed`: the store could not carry it out. */
export type Observe = (operation: Operation, key: string, tookMs: number, failed: boolean) => void;

export class MeasuredStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly observe: Observe,
  ) {}

  write(write: Write): Promise<WriteResult> {
    const begunMs = performance.now();
    const result = this.store.write(write);
    const told = (failed: boolean): void =>
      this.observe(operationOf(write), write.key, performance.now() - begunMs, failed);
    result.then(
      () => told(false),
      () => told(true),
    );
    return result;
  }

  revision(): number | Promise<number> {
    return this.store.revision();
  }

  get compacted(): number {
    return this.store.compacted;
  }

  get(key: string): Promise<Stored | undefined> {
    return this.store.get(key);
  }

  range(query: RangeQuery): Promise<RangePage> {
    return this.store.range(query);
  }

  watch(after: number, listener: (changes: readonly Change[]) => void): Subscription {
    return this.store.watch(after, listener);
  }

  compact(revision: number): Promise<void> {
    return this.store.compact(revision);
  }

  stats(): StoreStats | Promise<StoreStats> {
    return this.store.stats();
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

function operationOf({ value, expected }: Write): Operation {
  if (value === null) return 'delete';
  return expected === 0 ? 'create' : 'update';
}
