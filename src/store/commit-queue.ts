/**
 * Group commit: the one place that knows the order of steps of a write, for every engine.
 *
 * Writes queue. When the previous commit has finished, the queue is taken as one batch:
 *   1. Writes whose deadline has passed are rejected. Preconditions of the others are checked in order of arrival,
 *      against what is committed plus the earlier winners of this batch, so a later write sees an earlier one.
 *   2. A write that lost against committed state is answered.
 *   3. The winners take consecutive revisions and go to the engine in one commit.
 *   4. When that is durable: the revision moves, the feed gets all changes in one call, and then the winners,
 *      and those that lost against a winner of the same batch, are answered.
 * If the commit fails, every write that waited for it is rejected, and nothing of it was ever visible.
 *
 * Under continuous load, the clients of the previous commit are about to write again. So a batch takes at most half
 * of all writes: one half is prepared while the other half waits for the disk. Together with the writing thread
 * (`lmdb-writer.ts`) that is worth 3 % of creates at 16 connections.
 */
import { asserting, optimized } from '../switches.ts';
import { asStored, checkKey, type Engine, readVersion, VALUE_BYTES_MAX, type Version } from './engine.ts';
import { RecentRevisions } from './recent-revisions.ts';
import {
  type Change,
  DeadlineError,
  type Stored,
  StoreUnavailableError,
  storeClosed,
  type Write,
  type WriteResult,
} from './store.ts';

/** Most writes in one commit: the first waits for the last. */
export const BATCH_WRITES_MAX = 1000;

/** As the expected revision of a write: the key may have any, or not exist. */
export const ANY_REVISION = -1;

/** Fewer writes than this are not split into two commits. */
const UNDIVIDED_WRITES = 8;

/** Most bytes of values in one commit; a single larger value goes alone. */
export const BATCH_BYTES_MAX = 8 * 1024 * 1024;

interface Pending {
  readonly write: Write;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: Error) => void;
}

interface Task {
  readonly run: () => void | Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A batch after its preconditions were checked. */
interface Checked {
  readonly versions: Version[];
  readonly changes: Change[];
  readonly winners: Pending[];
  /** Writes that lost against a winner of this batch; answered when it is durable. */
  readonly losers: { readonly pending: Pending; readonly current: Stored | undefined }[];
}

export interface CommitQueueOptions {
  readonly engine: Engine;
  readonly now: () => number;
  /** Called when changes are durable, before their writes are answered. Must not throw. */
  readonly publish: (changes: readonly Change[]) => void;
}

export class CommitQueue {
  readonly #engine: Engine;
  readonly #now: () => number;
  readonly #publish: (changes: readonly Change[]) => void;
  #revision: number;
  readonly #recent = new RecentRevisions();
  #writes: Pending[] = [];
  #tasks: Task[] = [];
  /** Number of writes in the last commit; 0 after an idle time. */
  #committed = 0;
  #running = false;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor({ engine, now, publish }: CommitQueueOptions) {
    this.#engine = engine;
    this.#now = now;
    this.#publish = publish;
    this.#revision = engine.opened.revision;
  }

  /** The newest durable and published revision. */
  get revision(): number {
    return this.#revision;
  }

  write(write: Write): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw storeClosed();
      checkWrite(write, VALUE_BYTES_MAX);
      this.#writes.push({ write, resolve, reject });
      this.#start();
    });
  }

  /** Runs a change of the engine that is not a write, between two commits. */
  between(run: () => void | Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw storeClosed();
      this.#tasks.push({ run, resolve, reject });
      this.#start();
    });
  }

  /** Refuses further writes, and resolves when the accepted ones are answered. */
  close(): Promise<void> {
    this.#closed = true;
    return new Promise((resolve) => {
      if (this.#running) this.#idle.push(resolve);
      else resolve();
    });
  }

  #start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#committed = 0;
    this.#engine.gather(this.#step);
  }

  /** Runs one task and one batch; the next step waits for their commits. Never throws. */
  readonly #step = (): void => {
    const done = this.#runTask();
    if (done) void done.then(this.#commitBatch);
    else this.#commitBatch();
  };

  #next(): void {
    if (this.#writes.length > 0 || this.#tasks.length > 0) {
      this.#engine.gather(this.#step);
      return;
    }
    this.#running = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #runTask(): Promise<void> | undefined {
    const task = this.#tasks.shift();
    if (!task) return undefined;
    try {
      const done = task.run();
      if (done) return done.then(task.resolve, task.reject);
      task.resolve();
    } catch (error) {
      task.reject(error);
    }
    return undefined;
  }

  readonly #commitBatch = (): void => {
    const batch = this.#take();
    let checked: Checked | undefined;
    try {
      checked = this.#check(batch);
      for (const { write } of batch) write.trace?.end('commit');
      const done = checked.versions.length > 0 ? this.#engine.commit(checked.versions) : undefined;
      if (done) void done.then(this.#finish.bind(this, checked), this.#fail.bind(this, batchOf(checked)));
      else this.#finish(checked);
    } catch (error) {
      this.#fail(checked ? batchOf(checked) : batch, error);
    }
  };

  #take(): Pending[] {
    const half = Math.ceil((this.#writes.length + this.#committed) / 2);
    const divided = optimized && this.#committed > 0 && half >= UNDIVIDED_WRITES;
    const most = divided ? Math.min(half, BATCH_WRITES_MAX) : BATCH_WRITES_MAX;
    let count = 0;
    let bytes = 0;
    for (const { write } of this.#writes) {
      bytes += write.value?.length ?? 0;
      const isApart = this.#writes[count - 1]?.write.together === undefined;
      if (count > 0 && isApart && (count >= most || bytes > BATCH_BYTES_MAX)) break;
      count++;
    }
    this.#committed = count;
    if (count === this.#writes.length) {
      const all = this.#writes;
      this.#writes = [];
      return all;
    }
    return this.#writes.splice(0, count);
  }

  /** Decides which writes win. Answers only writes that lost against committed state, or are past their deadline. */
  #check(batch: Pending[]): Checked {
    const checked: Checked = { versions: [], changes: [], winners: [], losers: [] };
    const { versions, changes, winners, losers } = checked;
    const timeMs = this.#now();
    const overlay = new Map<string, Version>();
    let revision = this.#revision;
    const lost: { pending: Pending; current: Stored | undefined }[] = [];
    const late: Pending[] = [];
    for (const pending of batch) {
      const { key, value, expected, deadlineMs } = pending.write;
      if (deadlineMs !== undefined && deadlineMs < timeMs) {
        late.push(pending);
        continue;
      }
      const won = overlay.get(key);
      let previous = expected;
      if (expected === ANY_REVISION) {
        previous = won?.revision ?? this.#engine.head(key);
        // Nothing to delete.
        if (value === null && !(won ?? this.#newest(key))?.value) {
          lost.push({ pending, current: undefined });
          continue;
        }
      } else if (won || expected === 0 || !this.#isNewest(key, expected)) {
        const head = won ?? this.#newest(key);
        const current = head && asStored(head);
        if ((current?.revision ?? 0) !== expected) {
          (won ? losers : lost).push({ pending, current });
          continue;
        }
        previous = head?.revision ?? 0;
      }
      const version = { key, revision: ++revision, previous, timeMs, value, endsCommit: false };
      overlay.set(key, version);
      versions.push(version);
      winners.push(pending);
      changes.push({ key, revision, timeMs, value });
    }
    const last = versions.at(-1);
    if (last) versions[versions.length - 1] = { ...last, endsCommit: true };
    for (const { pending, current } of lost) pending.resolve({ ok: false, current });
    for (const { reject } of late) reject(new DeadlineError());
    return checked;
  }

  /** Whether the cache confirms, without a read, that this is the newest revision of a key. */
  #isNewest(key: string, revision: number): boolean {
    if (!this.#recent.has(key, revision)) return false;
    if (asserting && this.#engine.head(key) !== revision)
      throw new Error(`revision ${revision} of a key was remembered as its newest, and is not`);
    return true;
  }

  #newest(key: string): Version | undefined {
    const head = this.#engine.head(key);
    return head === 0 ? undefined : readVersion(this.#engine, head, key);
  }

  #finish({ changes, winners, losers }: Checked): void {
    if (changes.length > 0) {
      for (const { write } of winners) write.trace?.endBoth('commit', 'sync', this.#engine.syncMs ?? 0);
      this.#revision = changes.at(-1)!.revision;
      this.#recent.remember(changes);
      this.#publish(changes);
      for (const { write } of winners) write.trace?.end('feed');
    }
    for (let i = 0; i < winners.length; i++)
      winners[i]!.resolve({ ok: true, revision: changes[i]!.revision });
    for (const { pending, current } of losers) pending.resolve({ ok: false, current });
    this.#next();
  }

  #fail(batch: readonly Pending[], cause: unknown): void {
    const error =
      cause instanceof StoreUnavailableError
        ? cause
        : new StoreUnavailableError('the store could not write', { cause });
    for (const { reject } of batch) reject(error);
    this.#next();
  }
}

const batchOf = ({ winners, losers }: Checked): Pending[] => [
  ...winners,
  ...losers.map(({ pending }) => pending),
];

/** Refuses what a store could not keep. */
export function checkWrite({ key, value, expected }: Write, valueBytesMax: number): void {
  if (key === '') throw new RangeError('a key must not be empty');
  checkKey(key);
  if (value === null && expected === 0) throw new RangeError('a deletion must name the revision it deletes');
  const bytes = value?.length ?? 0;
  if (bytes > valueBytesMax) {
    throw new RangeError(`a value may have ${valueBytesMax} bytes, this one has ${bytes}`);
  }
}
