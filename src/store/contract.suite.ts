/**
 * The store contract as tests: every sentence of `store.ts`, for any engine. Run by `memory.test.ts`, `lmdb.alone.test.ts` and
 * `etcd/etcd-store.test.ts`.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backupContract } from './contract.backup.suite.ts';
import { historyContract } from './contract.history.suite.ts';
import { stateContract } from './contract.state.suite.ts';
import { follow, inOrder, numbers, put, read, remove, text } from './observer.fixture.ts';
import { CompactedError, type Store, StoreUnavailableError } from './store.ts';

interface OpenStore {
  readonly store: Store;
  /** Closes the store and opens it again on the same data; absent for an engine that does not outlive the process. */
  readonly reopen?: () => Promise<Store>;
  /** Maps revisions in backups to those that the tests name; absent where they are the same. */
  readonly shown?: (revision: number) => number;
}

export type OpenForTest = (options?: { now?: () => number }) => Promise<OpenStore>;

/** The store of the current test; a test that opens another one leaves it here to be closed. */
export interface TestContext {
  readonly open: OpenForTest;
  store: Store;
  reopen: OpenStore['reopen'];
  shown: OpenStore['shown'];
  readonly traits: Traits;
}

interface Traits {
  /** Data outlives the process, so reopening is part of the contract. */
  readonly durable: boolean;
  /**
   * Other processes may write, too. Then writes that are under way together are numbered in any order, and only the
   * engine knows which of them share a commit.
   */
  readonly shared: boolean;
  /** How many writes are too many to be read at once. */
  readonly many: number;
}

export function storeContract(
  name: string,
  open: OpenForTest,
  { durable = false, shared = false, many = 20_000 }: Partial<Traits> = {},
): void {
  describe(`the store contract: ${name}`, () => {
    const context = { open, traits: { durable, shared, many } } as TestContext;
    let store: Store;
    beforeEach(async () => {
      Object.assign(context, { reopen: undefined, shown: undefined }, await open());
      store = context.store;
    });
    afterEach(() => context.store.close());

    stateContract(context);
    historyContract(context);
    backupContract(context);

    describe('stats', () => {
      it('tell a size that grows with what is stored', async () => {
        const { bytes: before } = await store.stats();
        await put(store, 'large', 'x'.repeat(100_000));
        const grown = async () => (await store.stats()).bytes - before;
        // etcd counts the pages of its file, which it writes ten times a second, and first uses those that are free.
        const moreGrown = async () => {
          await put(store, `large-${await store.revision()}`, 'x'.repeat(100_000));
          return grown();
        };
        if (shared) await expect.poll(moreGrown, { timeout: 60_000 }).toBeGreaterThan(100_000);
        else expect(await grown()).toBeGreaterThan(100_000);
        await store.close();
        await expect((async () => store.stats())()).rejects.toThrow(StoreUnavailableError);
      });
    });

    describe('close', () => {
      it('carries out the writes made before it, and rejects everything after', async () => {
        const history = follow(store, 0);
        const before = numbers(1, 20).map((i) => put(store, `k${i}`, ''));
        const closing = store.close();
        const late = store.write({ key: 'late', value: text(''), expected: 0 });
        await expect(late).rejects.toThrow(StoreUnavailableError);
        expect(inOrder(await Promise.all(before), shared)).toEqual(numbers(1, 20));
        await closing;
        expect(history.revisions()).toEqual(numbers(1, 20));
        await expect(history.subscription.ended).rejects.toThrow(StoreUnavailableError);
        // A subscriber must not try again.
        await expect(history.subscription.ended).rejects.toMatchObject({ permanent: true });
        await expect((async () => store.revision())()).rejects.toThrow(StoreUnavailableError);
        await expect(store.get('k1')).rejects.toThrow(StoreUnavailableError);
        await expect(store.range({ start: '' })).rejects.toThrow(StoreUnavailableError);
        await expect(store.compact(1)).rejects.toThrow(StoreUnavailableError);
        await expect(follow(store, 0).subscription.ended).rejects.toThrow(StoreUnavailableError);
        await store.close();
      });

      it('breaks off ranges, watches and compactions that are under way', async () => {
        await Promise.all(numbers(1, many).map((i) => put(store, `k${i}`, '')));
        const page = store.range({ start: '' });
        const history = follow(store, 0);
        const compaction = store.compact(many);
        const ends = [page, history.subscription.ended, compaction].map((promise) =>
          expect(promise).rejects.toThrow(StoreUnavailableError),
        );
        await store.close();
        await Promise.all(ends);
      });

      if (!durable) return;
      it('keeps everything for the next time', async () => {
        const reopen = context.reopen!;
        await put(store, 'a', '1');
        await put(store, 'b', '2');
        await put(store, 'a', '3', 1);
        await remove(store, 'b', 2);
        await put(store, 'a', '5', 3);
        await store.compact(2);
        store = context.store = await reopen();
        expect([await store.revision(), store.compacted]).toEqual([5, 2]);
        expect(await read(store)).toEqual(['a=5@5']);
        expect(await read(store, { revision: 2 })).toEqual(['a=1@1', 'b=2@2']);
        await expect(store.range({ start: '', revision: 1 })).rejects.toThrow(CompactedError);
        const history = follow(store, 2);
        await history.until(5);
        expect(history.words()).toEqual(['a=3@3', 'b=x@4', 'a=5@5']);
        expect(await put(store, 'b', '6')).toBe(6);
        store = context.store = await reopen();
        expect(await read(store)).toEqual(['a=5@5', 'b=6@6']);
      });
    });
  });
}
