/** A store whose feed can be broken and whose answers can be delayed, as over a network. */
import type { Change, RangePage, RangeQuery, Store, Subscription, Write } from '../../store/store.ts';

export class BreakableStore implements Store {
  /** While set, subscriptions fail at once with this error. */
  refusal: Error | undefined;
  /** While set, the store does not answer which revision it is at. */
  silence: Error | undefined;
  /** The revision that the store reports instead of its real one. */
  claimedRevision: number | undefined;
  /** Number of subscriptions that were requested. */
  watches = 0;
  readonly #open = new Set<(error: Error) => void>();

  constructor(private readonly store: Store) {}

  /** Breaks all feeds. */
  breakFeed(error: Error): void {
    for (const end of [...this.#open]) end(error);
  }

  watch(after: number, listener: (changes: readonly Change[]) => void): Subscription {
    this.watches++;
    const real = this.store.watch(after, listener);
    const ended = new Promise<void>((resolve, reject) => {
      const end = (error: Error): void => {
        this.#open.delete(end);
        reject(error);
        real.close();
      };
      this.#open.add(end);
      real.ended.then(resolve, reject);
      if (this.refusal) end(this.refusal);
    });
    ended.catch(() => undefined);
    return { ended, close: () => real.close() };
  }

  revision(): number | Promise<number> {
    if (this.silence) return Promise.reject(this.silence);
    return this.claimedRevision ?? this.store.revision();
  }
  get compacted(): number {
    return this.store.compacted;
  }
  get valueBytesMax(): number {
    return this.store.valueBytesMax;
  }
  get(key: string) {
    return this.store.get(key);
  }
  range(query: RangeQuery): Promise<RangePage> {
    return this.store.range(query);
  }
  write(write: Write) {
    return this.store.write(write);
  }
  compact(revision: number): Promise<void> {
    return this.store.compact(revision);
  }
  backup() {
    return this.store.backup();
  }
  stats() {
    return this.store.stats();
  }
  close(): Promise<void> {
    return this.store.close();
  }
}
