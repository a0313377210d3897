// Proves the order of steps of a write, with an engine whose commits the test delays and makes fail.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { optimized } from '../switches.ts';
import type { Version } from './engine.ts';
import { MemoryEngine } from './memory.ts';
import { follow, put, read } from './observer.fixture.ts';
import { DeadlineError, type Store, StoreUnavailableError } from './store.ts';
import { VersionedStore } from './versioned.ts';

interface HeldCommit {
  readonly versions: readonly Version[];
  readonly succeed: () => void;
  readonly fail: (error: Error) => void;
}

/** Holds each commit until the test decides about it; only then can it be read. */
class HeldEngine extends MemoryEngine {
  readonly held: HeldCommit[] = [];
  readonly #waiting: (() => void)[] = [];

  override commit(versions: readonly Version[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const succeed = () => resolve(super.commit(versions));
      this.held.push({ versions, succeed, fail: reject });
      for (const wake of this.#waiting.splice(0)) wake();
    });
  }

  /** The commit under way, when there is one. */
  async next(): Promise<HeldCommit> {
    while (this.held.length === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.held.shift()!;
  }
}

const text = (value: string): Buffer => Buffer.from(value);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The state of a promise so far. */
function outcome(promise: Promise<unknown>): { state: string } {
  const seen = { state: 'pending' };
  promise.then(
    () => {
      seen.state = 'resolved';
    },
    () => {
      seen.state = 'rejected';
    },
  );
  return seen;
}

describe('CommitQueue', () => {
  let engine: HeldEngine;
  let store: Store;
  beforeEach(() => {
    engine = new HeldEngine();
    store = new VersionedStore(engine);
  });

  it('shows nothing of a commit before it is durable', async () => {
    const history = follow(store, 0);
    const write = put(store, 'a', 'one');
    const commit = await engine.next();
    await turn();
    const { state } = outcome(write);
    expect(state).toBe('pending');
    expect(await store.get('a')).toBeUndefined();
    expect(await read(store)).toEqual([]);
    expect(await store.revision()).toBe(0);
    expect(history.calls).toEqual([]);
    commit.succeed();
    expect(await write).toBe(1);
    expect(await read(store)).toEqual(['a=one@1']);
    expect(history.calls).toEqual([[1]]);
  });

  it('moves the revision, then feeds the watchers, then answers', async () => {
    const order: string[] = [];
    for (const name of ['first', 'second']) {
      store.watch(0, (changes) => {
        order.push(`${name} ${changes.length} at ${store.revision()}`);
      });
    }
    const writes = ['a', 'b'].map((key) => put(store, key, '').then(() => order.push(`answer ${key}`)));
    (await engine.next()).succeed();
    await Promise.all(writes);
    expect(order).toEqual(['first 2 at 2', 'second 2 at 2', 'answer a', 'answer b']);
  });

  it('makes one commit at a time, and gathers what arrives meanwhile into the next', async () => {
    const writes = [put(store, 'a', '')];
    const first = await engine.next();
    writes.push(put(store, 'b', ''));
    await turn();
    writes.push(put(store, 'c', ''));
    await turn();
    expect(engine.held.length).toBe(0);
    first.succeed();
    const second = await engine.next();
    expect(second.versions.map(({ key, endsCommit }) => [key, endsCommit])).toEqual([
      ['b', false],
      ['c', true],
    ]);
    second.succeed();
    expect(await Promise.all(writes)).toEqual([1, 2, 3]);
  });

  it.runIf(optimized)('lets half of many writers go at a time while they write without a rest', async () => {
    const answered: Promise<number>[] = [];
    const write = (): void => void answered.push(put(store, `key ${answered.length}`, ''));
    const sizes: number[] = [];
    const finish = async (): Promise<number> => {
      const { versions, succeed } = await engine.next();
      sizes.push(versions.length);
      succeed();
      await answered[versions.at(-1)!.revision - 1];
      return versions.length;
    };
    for (let i = 0; i < 2; i++) write();
    await vi.waitFor(() => expect(engine.held).toHaveLength(1), { timeout: 60_000 });
    for (let i = 0; i < 18; i++) write();
    // Clients that get an answer write again.
    while (answered.length < 60) for (let again = await finish(); again > 0; again--) write();
    expect(sizes).toEqual([2, 10, 10, 10, 10]);
    await finish();
    await finish();
    expect(await Promise.all(answered)).toEqual(answered.map((_, i) => i + 1));
    // After an idle time, writes that arrive together share a commit.
    for (let i = 0; i < 20; i++) write();
    expect(await finish()).toBe(20);
  });

  it('tells a loser at once about what is committed, but not about what may still fail', async () => {
    const before = put(store, 'old', 'one');
    (await engine.next()).succeed();
    await before;
    const winner = put(store, 'new', 'one');
    const againstOld = store.write({ key: 'old', value: text('x'), expected: 0 });
    const againstNew = store.write({ key: 'new', value: text('x'), expected: 0 });
    const seen = outcome(againstNew);
    const commit = await engine.next();
    expect(await againstOld).toMatchObject({ ok: false, current: { revision: 1 } });
    await turn();
    expect(seen.state).toBe('pending');
    commit.succeed();
    expect(await winner).toBe(2);
    expect(await againstNew).toMatchObject({ ok: false, current: { revision: 2, value: text('one') } });
  });

  it('fails every write of a commit that fails, and leaves no trace and no gap', async () => {
    const history = follow(store, 0);
    const cause = new Error('the disk is full');
    const writes = [
      store.write({ key: 'a', value: text('one'), expected: 0 }),
      store.write({ key: 'a', value: text('two'), expected: 1 }),
      store.write({ key: 'a', value: text('lost'), expected: 0 }),
      store.write({ key: 'b', value: text('one'), expected: 0 }),
    ];
    const rejected = writes.map(async (write) => {
      const error = await write.then(
        () => undefined,
        (reason: Error) => reason,
      );
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(error!.cause).toBe(cause);
    });
    const later = (await engine.next().then((commit) => {
      const next = put(store, 'a', 'later');
      commit.fail(cause);
      return { next };
    })) as { next: Promise<number> };
    await Promise.all(rejected);
    expect([await store.revision(), await read(store), history.calls]).toEqual([0, [], []]);
    (await engine.next()).succeed();
    expect(await later.next).toBe(1);
    expect(history.words()).toEqual(['a=later@1']);
  });

  it('rejects a write whose deadline passes while the commit before it is under way', async () => {
    let nowMs = 0;
    store = new VersionedStore(engine, { now: () => nowMs });
    const first = put(store, 'a', '');
    const commit = await engine.next();
    const late = store.write({ key: 'b', value: text(''), expected: 0, deadlineMs: 10 });
    const rejected = expect(late).rejects.toThrow(DeadlineError);
    const behind = put(store, 'c', '');
    nowMs = 11;
    commit.succeed();
    await rejected;
    (await engine.next()).succeed();
    expect([await first, await behind]).toEqual([1, 2]);
    expect(await read(store)).toEqual(['a=@1', 'c=@2']);
  });

  it('survives an engine that throws while it reads or writes', async () => {
    const failing = { head: true, commit: true };
    class ThrowingEngine extends MemoryEngine {
      override head(key: string): number {
        if (failing.head) throw new Error('cannot read');
        return super.head(key);
      }
      override commit(versions: readonly Version[]): Promise<void> | void {
        if (failing.commit) throw new Error('cannot write');
        return super.commit(versions);
      }
    }
    const broken = new VersionedStore(new ThrowingEngine());
    await expect(put(broken, 'a', '')).rejects.toThrow(StoreUnavailableError);
    failing.head = false;
    await expect(put(broken, 'a', '')).rejects.toThrow(StoreUnavailableError);
    failing.commit = false;
    expect(await put(broken, 'a', '')).toBe(1);
  });

  it('closes when the commit under way and the writes behind it are done', async () => {
    const writes = [put(store, 'a', '')];
    const first = await engine.next();
    writes.push(put(store, 'b', ''));
    const closing = store.close();
    const seen = outcome(closing);
    await expect(put(store, 'late', '')).rejects.toThrow(StoreUnavailableError);
    first.succeed();
    await turn();
    expect(seen.state).toBe('pending');
    (await engine.next()).succeed();
    expect(await Promise.all(writes)).toEqual([1, 2]);
    await closing;
  });
});
