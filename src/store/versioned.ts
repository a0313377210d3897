/**
 * The store over any engine that keeps versions (`engine.ts`): reads at any revision still kept, writes through
 * the commit queue, the change feed, and compaction.
 *
 * Compaction to C makes everything before C unreadable at once, and then sweeps in slices between commits. For each
 * version R up to C it removes the version before R, which no state from C on shows, and R itself if R is a deletion.
 * What remains is exactly the state at C and all later changes. An unfinished reader from before delays the sweep,
 * never the writers.
 */
import { wallClock } from '../clock.ts';
import { writeBackup } from './backup-file.ts';
import { ANY_REVISION, CommitQueue } from './commit-queue.ts';
import {
  asStored,
  checkKey,
  type Engine,
  readOutline,
  readVersion,
  SLICE_MS,
  VALUE_BYTES_MAX,
} from './engine.ts';
import { Feed } from './feed.ts';
import {
  type Assignment,
  type Change,
  CompactedError,
  FutureRevisionError,
  type RangePage,
  type RangeQuery,
  type Store,
  type Stored,
  type StoreStats,
  StoreUnavailableError,
  type Subscription,
  storeClosed,
  type Write,
  type WriteResult,
} from './store.ts';

/** Most keys that a range reads before it yields. */
const SLICE_KEYS = 5000;

/** The clock is read once in this many keys, because that costs about as much as reading a key. */
const KEYS_PER_CLOCK = 64;

/** Bytes per page of a backup. */
const PAGE_BYTES = 1024 * 1024;

/** Versions examined in one slice of compaction. Writers wait for a slice, so it is short. */
const SWEEP_VERSIONS = 100;

export interface VersionedStoreOptions {
  /** Wall clock, in milliseconds; that of the system when absent. */
  readonly now?: () => number;
  /** Called for every write when its outcome is known. */
  readonly observe?: Observe;
}

type StoreOperation = 'create' | 'update' | 'delete';

/** `failed`: the store failed. A write that lost against another has not failed. */
export type Observe = (operation: StoreOperation, key: string, tookMs: number, failed: boolean) => void;

export class VersionedStore implements Store {
  readonly valueBytesMax = VALUE_BYTES_MAX;
  readonly #engine: Engine;
  readonly #queue: CommitQueue;
  readonly #feed: Feed;
  readonly #observe: Observe | undefined;
  #compacted: number;
  #swept: number;
  /** Unfinished ranges and backups, by the revision they read. */
  readonly #ranges = new Set<{ readonly revision: number }>();
  #sweeping: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(engine: Engine, { now = wallClock, observe }: VersionedStoreOptions = {}) {
    this.#engine = engine;
    this.#observe = observe;
    this.#compacted = engine.opened.compacted;
    this.#swept = engine.opened.swept;
    this.#queue = new CommitQueue({ engine, now, publish: (changes) => this.#feed.publish(changes) });
    this.#feed = new Feed({
      engine,
      revision: () => this.#queue.revision,
      compacted: () => this.#compacted,
    });
  }

  get compacted(): number {
    return this.#compacted;
  }

  revision(): number {
    this.#assertOpen();
    return this.#queue.revision;
  }

  async get(key: string): Promise<Stored | undefined> {
    this.#assertOpen();
    checkKey(key);
    return this.#readAt(key, this.#engine.head(key), this.#queue.revision);
  }

  async range(query: RangeQuery): Promise<RangePage> {
    this.#assertOpen();
    const { end, limit = Number.POSITIVE_INFINITY, revision = this.#queue.revision } = query;
    checkKey(query.start);
    if (end !== undefined) checkKey(end);
    if (revision > this.#queue.revision) throw new FutureRevisionError(revision, this.#queue.revision);
    if (revision < this.#compacted) throw new CompactedError(revision, this.#compacted);

    // Revision 0 is the empty store; without compactions the view loads from there at start.
    if (revision === 0) return { items: [], revision, more: false };

    const items: Stored[] = [];
    let next = this.#readSlice(items, query.start, end, limit, revision);
    if (typeof next === 'string') {
      const reader = { revision };
      this.#ranges.add(reader);
      try {
        while (typeof next === 'string') {
          await giveWay();
          this.#assertOpen();
          next = this.#readSlice(items, next, end, limit, revision);
        }
      } finally {
        this.#ranges.delete(reader);
      }
    }
    return { items, revision, more: next };
  }

  write(write: Write): Promise<WriteResult> {
    const result = this.#queue.write(write);
    if (this.#observe) observeWrite(write, result, this.#observe);
    return result;
  }

  /**
   * Gives keys new values in one commit, whatever they hold; deletions of keys that are not there change nothing. Resolves
   * with the revisions in order, 0 for what changed nothing.
   */
  async assign(changes: readonly Assignment[]): Promise<number[]> {
    const last = changes.length - 1;
    const writes = changes.map(({ key, value }, i) =>
      this.write({ key, value, expected: ANY_REVISION, ...(i < last ? { together: true } : {}) }),
    );
    return (await Promise.all(writes)).map((result) => (result.ok ? result.revision : 0));
  }

  /** The value that a write put, as long as history or the current state has it; undefined after a deletion. */
  valueAt(revision: number): Buffer | undefined {
    this.#assertOpen();
    return this.#engine.version(revision)?.value ?? undefined;
  }

  watch(after: number, listener: (changes: readonly Change[]) => void): Subscription {
    return this.#feed.watch(after, listener);
  }

  async compact(revision: number): Promise<void> {
    this.#assertOpen();
    if (revision > this.#queue.revision) throw new FutureRevisionError(revision, this.#queue.revision);
    if (revision > this.#compacted) this.#compacted = revision;
    const sweep = this.#sweeping.then(() => this.#sweep(revision));
    this.#sweeping = sweep.catch(() => {});
    return sweep;
  }

  stats(): StoreStats {
    this.#assertOpen();
    return { bytes: this.#engine.bytes() };
  }

  async *backup(): AsyncGenerator<Buffer, void, undefined> {
    this.#assertOpen();
    const reader = { revision: this.#queue.revision };
    this.#ranges.add(reader);
    try {
      yield* writeBackup(reader.revision, this.#pagesAt(reader.revision));
    } finally {
      this.#ranges.delete(reader);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Finish the writes that were accepted, so that subscribers see them.
    await this.#queue.close();
    this.#feed.close();
    await this.#sweeping;
    await this.#engine.close();
  }

  #assertOpen(): void {
    if (this.#closing) throw storeClosed();
  }

  /**
   * Reads until the range is done and returns whether there are more keys, or yields and returns where to continue.
   */
  #readSlice(
    items: Stored[],
    start: string,
    end: string | undefined,
    limit: number,
    revision: number,
  ): boolean | string {
    const deadlineMs = performance.now() + SLICE_MS;
    let keys = 0;
    for (const { key, value: head } of this.#engine.heads(start, end)) {
      if (++keys > SLICE_KEYS) return key;
      if (keys % KEYS_PER_CLOCK === 0 && performance.now() > deadlineMs) return key;
      const stored = this.#readAt(key, head, revision);
      if (!stored) continue;
      if (items.length >= limit) return true;
      items.push(stored);
    }
    return false;
  }

  /** All keys at a revision, in pieces of bounded size. The caller prevents compaction. */
  async *#pagesAt(revision: number): AsyncGenerator<readonly Stored[], void, undefined> {
    let start: string | undefined = '';
    while (start !== undefined) {
      this.#assertOpen();
      const items: Stored[] = [];
      let [keys, bytes] = [0, 0];
      let next: string | undefined;
      for (const { key, value: head } of this.#engine.heads(start, undefined)) {
        if (++keys > SLICE_KEYS || bytes >= PAGE_BYTES) {
          next = key;
          break;
        }
        const stored = this.#readAt(key, head, revision);
        if (stored) items.push(stored);
        bytes += stored?.value.length ?? 0;
      }
      yield items;
      start = next;
      await giveWay();
    }
  }

  /** The value of a key at a revision, found from its newest version backwards. */
  #readAt(key: string, head: number, revision: number): Stored | undefined {
    let at = head;
    while (at > revision) at = readVersion(this.#engine, at, key).previous;
    if (at === 0) return undefined;
    // Only deletions are removed while a newer version points to them, and only up to `compacted`.
    const mayBeGone = at !== head && at <= this.#compacted;
    const version = mayBeGone ? this.#engine.version(at) : readVersion(this.#engine, at, key);
    return version && asStored(version);
  }

  async #sweep(target: number): Promise<void> {
    while (this.#swept < target) {
      if (this.#closing) throw new StoreUnavailableError('the store was closed during compaction');
      if (this.#isReadBefore(target)) await giveWay();
      else {
        await this.#queue.between(() => this.#sweepSlice(target));
        await giveWay();
      }
    }
  }

  #isReadBefore(revision: number): boolean {
    for (const range of this.#ranges) if (range.revision < revision) return true;
    return this.#feed.needs(revision);
  }

  /**
   * Removes one slice of superseded versions. It never goes beyond the target, even if `compacted` has moved on: only
   * readers up to the target are known to be done.
   */
  #sweepSlice(target: number): void | Promise<void> {
    const swept = Math.min(this.#swept + SWEEP_VERSIONS, target);
    const versions: number[] = [];
    const keys: string[] = [];
    for (let revision = this.#swept + 1; revision <= swept; revision++) {
      const { previous, deletedKey } = readOutline(this.#engine, revision);
      if (previous !== 0) versions.push(previous);
      if (deletedKey === undefined) continue;
      versions.push(revision);
      if (this.#engine.head(deletedKey) === revision) keys.push(deletedKey);
    }
    const done = this.#engine.remove({ versions, keys, compacted: this.#compacted, swept });
    if (!done) this.#swept = swept;
    return done?.then(() => {
      this.#swept = swept;
    });
  }
}

const giveWay = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Reports a write's outcome and duration when they are known; the writer does not wait for it. */
export function observeWrite(write: Write, result: Promise<WriteResult>, observe: Observe): void {
  const begunMs = performance.now();
  const { key, value, expected } = write;
  const operation = value === null ? 'delete' : expected === 0 ? 'create' : 'update';
  const told = (failed: boolean): void => observe(operation, key, performance.now() - begunMs, failed);
  result.then(
    () => told(false),
    () => told(true),
  );
}
