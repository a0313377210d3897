/** The store contract, second part: history and compaction. Run by `contract.suite.ts`. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { isRelease, rounds } from '../../test/support/tier.ts';
import type { TestContext } from './contract.suite.ts';
import { follow, numbers, put, read, remove, text, turn } from './observer.fixture.ts';
import { CompactedError, FutureRevisionError, type Store, type Subscription } from './store.ts';

/** What `watch` and `compact` promise. */
export function historyContract(context: TestContext): void {
  let store: Store;
  const { shared, many } = context.traits;
  beforeEach(() => {
    store = context.store;
  });

  describe('watch', () => {
    const prepare = async () => {
      await put(store, 'a', 'one');
      await put(store, 'b', 'one');
      await put(store, 'a', 'two', 1);
      await remove(store, 'b', 2);
      return ['a=one@1', 'b=one@2', 'a=two@3', 'b=x@4'];
    };

    it('tells every change after the revision, first from history and then live', async () => {
      const words = await prepare();
      for (const after of [0, 1, 3]) {
        const history = follow(store, after);
        await history.until(4);
        expect(history.words()).toEqual(words.slice(after));
      }
      const all = [0, 2, 4].map((after) => follow(store, after));
      await put(store, 'c', 'live');
      for (const [i, history] of all.entries()) {
        await history.until(5);
        expect(history.words()).toEqual([...words, 'c=live@5'].slice(i * 2));
      }
    });

    it('waits for a revision that has not happened yet', async () => {
      const history = follow(store, 2);
      await Promise.all(['a', 'b', 'c', 'd'].map((key) => put(store, key, '')));
      expect(history.revisions()).toEqual([3, 4]);
    });

    it('never calls the listener before watch returns', async () => {
      await prepare();
      let returned = false;
      const calls: boolean[] = [];
      const subscription = store.watch(0, () => calls.push(returned));
      returned = true;
      await follow(store, 0).until(4);
      // The watches of a remote store arrive in any order, and in any number of calls.
      await vi.waitUntil(() => calls.length > 0, { timeout: 60_000 });
      await turn();
      expect(shared ? [...new Set(calls)] : calls).toEqual([true]);
      subscription.close();
    });

    it('tells when each commit happened', async () => {
      await store.close();
      let timeMs = 1_700_000_000_000;
      ({ store } = await context.open({ now: () => timeMs }));
      context.store = store;
      const live = follow(store, 0);
      await put(store, 'a', '');
      timeMs += 2500;
      await Promise.all([put(store, 'b', ''), put(store, 'c', '')]);
      const history = follow(store, 0);
      await history.until(3);
      for (const { changes } of [live, history]) {
        expect(changes.map((change) => change.timeMs - 1_700_000_000_000)).toEqual([0, 2500, 2500]);
      }
    });

    it.skipIf(shared)(
      'brings changes that were committed together in one call, live and from history',
      async () => {
        const live = follow(store, 0);
        for (const count of [1, 3, 700, 2]) {
          const at = await store.revision();
          await Promise.all(numbers(1, count).map((i) => put(store, `${at}-${i}`, '')));
        }
        expect(live.calls.map((call) => call.length)).toEqual([1, 3, 700, 2]);
        const history = follow(store, 0);
        await history.until(706);
        const ends = history.calls.map((call) => call.at(-1)!);
        for (const end of ends) expect([1, 4, 704, 706]).toContain(end);
        expect(history.revisions()).toEqual(numbers(1, 706));
      },
    );

    it('misses and repeats nothing where history meets the present, whenever a watch begins', async () => {
      const total = Math.min(isRelease ? 4000 : 2500, many);
      const watches: ReturnType<typeof follow>[] = [];
      const begins: number[] = [];
      let written = 0;
      const writer = async (id: number) => {
        let revision = 0;
        while (written < total) {
          written++;
          const deletes = revision !== 0 && written % 7 === 0;
          const key = `w${id}`;
          const at = deletes
            ? await remove(store, key, revision)
            : await put(store, key, `${written}`, revision);
          revision = deletes ? 0 : at;
          // An engine without a disk has to yield explicitly for watches to catch up in between.
          if (written % 3 === 0) await turn();
          // Start at the beginning, in the middle, at the newest revision, and just after it.
          if (watches.length < 60 && written % 40 === 0) {
            const after = [0, at >>> 1, at, at + 3][watches.length % 4]!;
            begins.push(after);
            watches.push(follow(store, after));
          }
        }
      };
      await Promise.all(numbers(1, 12).map(writer));
      const newest = await store.revision();
      expect(newest).toBe(total);
      expect(watches.length).toBe(60);
      const whole = follow(store, 0);
      await whole.until(newest);
      expect(whole.revisions()).toEqual(numbers(1, newest));
      for (const [i, watch] of watches.entries()) {
        await watch.until(newest);
        expect(watch.revisions()).toEqual(numbers(begins[i]! + 1, newest));
        expect(watch.words()).toEqual(whole.words().slice(begins[i]));
      }
    });

    it('stops with close: no call follows, and ended resolves', async () => {
      await prepare();
      const history = follow(store, 0);
      const live = follow(store, 4);
      history.subscription.close();
      live.subscription.close();
      live.subscription.close();
      await Promise.all([history.subscription.ended, live.subscription.ended]);
      await put(store, 'c', '');
      await follow(store, 0).until(5);
      expect([history.calls, live.calls]).toEqual([[], []]);
    });

    it('can be closed by any listener at any time', async () => {
      const calls: string[] = [];
      const subscriptions: Subscription[] = [];
      for (const name of ['first', 'second', 'third']) {
        const subscription = store.watch(0, () => {
          calls.push(name);
          if (name === 'second') for (const each of subscriptions) each.close();
        });
        subscriptions.push(subscription);
      }
      await put(store, 'a', '');
      await put(store, 'b', '');
      expect(calls).toEqual(['first', 'second']);
      await Promise.all(subscriptions.map(({ ended }) => ended));
    });

    it('lets a listener write and watch', async () => {
      const inner: ReturnType<typeof follow>[] = [];
      store.watch(0, ([change]) => {
        if (change!.revision !== 1) return;
        inner.push(follow(store, 0), follow(store, 1));
        void put(store, 'b', 'from the listener');
      });
      await put(store, 'a', '');
      await follow(store, 0).until(2);
      await inner[0]!.until(2);
      expect(inner.map((watch) => watch.revisions())).toEqual([[1, 2], [2]]);
    });

    it('ends a watch whose listener throws, and only that one', async () => {
      await put(store, 'a', '');
      const thrower = () => {
        throw new Error('the listener is broken');
      };
      const [history, live, good] = [store.watch(0, thrower), store.watch(1, thrower), follow(store, 0)];
      await put(store, 'b', '');
      await expect(history.ended).rejects.toThrow('the listener is broken');
      await expect(live.ended).rejects.toThrow('the listener is broken');
      await good.until(2);
      expect(good.revisions()).toEqual([1, 2]);
    });
  });

  describe('compact', () => {
    const prepare = async () => {
      await put(store, 'kept', '1');
      await put(store, 'deleted', '2');
      await put(store, 'again', '3');
      await put(store, 'changed', '4');
      await remove(store, 'deleted', 2);
      await remove(store, 'again', 3);
      await put(store, 'changed', '7', 4);
      await put(store, 'again', '8');
      await put(store, 'changed', '9', 7);
      await remove(store, 'again', 8);
      await put(store, 'deleted', '11');
    };
    const states = [
      ['changed=7@7', 'kept=1@1'],
      ['again=8@8', 'changed=7@7', 'kept=1@1'],
      ['again=8@8', 'changed=9@9', 'kept=1@1'],
      ['changed=9@9', 'kept=1@1'],
      ['changed=9@9', 'deleted=11@11', 'kept=1@1'],
    ];
    const words = ['again=8@8', 'changed=9@9', 'again=x@10', 'deleted=11@11'];

    it('forgets what came before, and keeps the state at the revision and all that came after', async () => {
      await prepare();
      expect(store.compacted).toBe(0);
      for (const to of [3, 7]) {
        await store.compact(to);
        expect(store.compacted).toBe(to);
        for (const [i, state] of states.entries())
          expect(await read(store, { revision: 7 + i })).toEqual(state);
        expect(await read(store)).toEqual(states.at(-1));
        const history = follow(store, 7);
        await history.until(11);
        expect(history.words()).toEqual(words);
      }
      expect(await store.revision()).toBe(11);
      expect(await store.get('again')).toBeUndefined();
      expect(String((await store.get('deleted'))!.value)).toBe('11');
    });

    it('makes range and watch reject revisions that are older', async () => {
      await prepare();
      await store.compact(7);
      for (const wanted of [0, 6]) {
        await expect(store.range({ start: '', revision: wanted })).rejects.toThrow(
          new CompactedError(wanted, 7),
        );
        const watch = follow(store, wanted);
        await expect(watch.subscription.ended).rejects.toThrow(new CompactedError(wanted, 7));
        expect(watch.calls).toEqual([]);
      }
    });

    it('can forget all history, and the store goes on from there', async () => {
      await prepare();
      await store.compact(11);
      expect(await read(store)).toEqual(states.at(-1));
      await remove(store, 'kept', 1);
      await store.compact(12);
      expect(await read(store)).toEqual(['changed=9@9', 'deleted=11@11']);
      expect(await put(store, 'kept', '13')).toBe(13);
      const history = follow(store, 12);
      await history.until(13);
      expect(history.words()).toEqual(['kept=13@13']);
    });

    it('rejects the future and takes the past as done', async () => {
      await prepare();
      await expect(store.compact(12)).rejects.toThrow(new FutureRevisionError(12, 11));
      expect(store.compacted).toBe(0);
      await store.compact(5);
      await store.compact(5);
      await store.compact(2);
      expect(store.compacted).toBe(5);
    });

    it('goes on beside writers, readers and watchers without disturbing them', async () => {
      const all = follow(store, 0);
      let isDone = false;
      const state = new Map<string, string>();
      const times = rounds(400);
      const writer = async (id: number) => {
        let revision = 0;
        for (let i = 0; i < times; i++) {
          const key = `w${id}`;
          if (i % 5 === 4) {
            await remove(store, key, revision);
            revision = 0;
            state.delete(key);
          } else {
            revision = await put(store, key, `${i}`, revision);
            state.set(key, `${key}=${i}@${revision}`);
          }
        }
      };
      const compactor = (async () => {
        while (!isDone) {
          await store.compact(Math.max(0, (await store.revision()) - 20));
          const revision = store.compacted;
          const page = await store.range({ start: '', revision });
          expect(page.revision).toBe(revision);
          await turn();
        }
      })();
      const writers = numbers(1, 8).map(writer);
      await Promise.all(writers);
      isDone = true;
      await compactor;
      await store.compact(await store.revision());
      expect(all.revisions()).toEqual(numbers(1, 8 * times));
      expect(await read(store)).toEqual([...state.values()].sort());
    });

    it('waits for a range that began earlier', async () => {
      // The range reads `z` last; without protection, compaction would remove its version 1 first.
      await put(store, 'z', 'first');
      await put(store, 'z', 'second', 1);
      const keys = numbers(1, many).map((i) => `k${i}`);
      await Promise.all(keys.map((key) => put(store, key, '')));
      const page = store.range({ start: '', revision: 1 });
      // The first may proceed at once, but only as far as the second allows.
      const compactions = Promise.all([store.compact(1), store.compact(many + 2)]);
      expect(store.compacted).toBe(many + 2);
      expect((await page).items).toEqual([{ key: 'z', value: text('first'), revision: 1 }]);
      await compactions;
      expect((await store.range({ start: '' })).items.length).toBe(many + 1);
    });

    it('waits for a watch that began earlier', async () => {
      let revision = 0;
      for (let i = 0; i < 5; i++) revision = await put(store, 'a', `${i}`, revision);
      const history = follow(store, 0);
      await store.compact(5);
      await history.until(5);
      expect(history.revisions()).toEqual([1, 2, 3, 4, 5]);
    });
  });
}
