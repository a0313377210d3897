/**
 * The store contract as tests: every sentence of `store.ts`, for any engine. `memory.test.ts` and `lmdb.test.ts`
 * run it; so will every engine to come.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BATCH_BYTES_MAX, BATCH_WRITES_MAX } from './commitqueue.ts';
import { KEY_BYTES_MAX, VALUE_BYTES_MAX } from './engine.ts';
import {
  type Change,
  CompactedError,
  FutureRevisionError,
  type RangeQuery,
  SEPARATOR,
  type Store,
  StoreUnavailableError,
  type Subscription,
} from './store.ts';

export interface OpenStore {
  readonly store: Store;
  /** Closes the store and opens it again on the same data; absent when nothing outlives the process. */
  readonly reopen?: () => Promise<Store>;
}

export type OpenForTest = (options?: { now?: () => number }) => Promise<OpenStore>;

const text = (value: string): Buffer => Buffer.from(value);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Writes that must win; answers the revision. */
export async function put(store: Store, key: string, value: string, expected = 0): Promise<number> {
  const result = await store.write({ key, value: text(value), expected });
  if (!result.ok) throw new Error(`${key} is at ${result.current?.revision}, not ${expected}`);
  return result.revision;
}

export async function remove(store: Store, key: string, expected: number): Promise<number> {
  const result = await store.write({ key, value: null, expected });
  if (!result.ok) throw new Error(`${key} is at ${result.current?.revision}, not ${expected}`);
  return result.revision;
}

/** A range as `key=value@revision` words. */
export async function read(store: Store, query: Partial<RangeQuery> = {}): Promise<string[]> {
  const { items } = await store.range({ start: '', ...query });
  return items.map(({ key, value, revision }) => `${key}=${value}@${revision}`);
}

/** A change as `key=value@revision was value@revision`, with `x` for nothing. */
export const told = ({ key, value, revision, previous }: Change): string =>
  `${key}=${value ?? 'x'}@${revision} was ${previous ? `${previous.value}@${previous.revision}` : 'x'}`;

/** Watches and remembers. */
export function follow(store: Store, after: number) {
  const changes: Change[] = [];
  const calls: number[][] = [];
  const waiting: { revision: number; resolve: () => void }[] = [];
  const subscription = store.watch(after, (batch) => {
    changes.push(...batch);
    calls.push(batch.map(({ revision }) => revision));
    for (const { revision, resolve } of waiting) if (batch.at(-1)!.revision >= revision) resolve();
  });
  return {
    changes,
    calls,
    subscription,
    words: () => changes.map(told),
    revisions: () => changes.map(({ revision }) => revision),
    /** Resolves when the change of this revision was seen. */
    until: (revision: number): Promise<void> =>
      new Promise((resolve, reject) => {
        subscription.ended.catch(reject);
        if ((changes.at(-1)?.revision ?? 0) >= revision) resolve();
        else waiting.push({ revision, resolve });
      }),
  };
}

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

export function storeContract(name: string, open: OpenForTest): void {
  describe(`the store contract: ${name}`, () => {
    let store: Store;
    let reopen: OpenStore['reopen'];
    beforeEach(async () => {
      ({ store, reopen } = await open());
    });
    afterEach(() => store.close());

    describe('get', () => {
      it('answers undefined for a key that was never written', async () => {
        expect(await store.get('a')).toBeUndefined();
        expect(await store.get('')).toBeUndefined();
      });

      it('answers the newest value with the revision that wrote it', async () => {
        await put(store, 'a', 'one');
        await put(store, 'b', 'other');
        await put(store, 'a', 'two', 1);
        expect(await store.get('a')).toEqual({ key: 'a', value: text('two'), revision: 3 });
      });

      it('answers undefined after a deletion and the new value after a recreation', async () => {
        await put(store, 'a', 'one');
        await remove(store, 'a', 1);
        expect(await store.get('a')).toBeUndefined();
        await put(store, 'a', 'two');
        expect(await store.get('a')).toEqual({ key: 'a', value: text('two'), revision: 3 });
      });

      it('gives values back byte for byte', async () => {
        const all = Buffer.from(numbers(0, 255));
        const values = [
          Buffer.alloc(0),
          all,
          Buffer.alloc(3_000_000, all),
          Buffer.alloc(VALUE_BYTES_MAX, all),
        ];
        for (const [i, value] of values.entries()) await store.write({ key: `k${i}`, value, expected: 0 });
        for (const [i, value] of values.entries()) {
          const stored = await store.get(`k${i}`);
          expect(stored && Buffer.compare(stored.value, value)).toBe(0);
        }
        const history = follow(store, 0);
        await history.until(values.length);
        for (const [i, value] of values.entries())
          expect(Buffer.compare(history.changes[i]!.value!, value)).toBe(0);
      });

      it('gives out buffers that later writes and reads leave alone', async () => {
        const keys = numbers(0, 99).map((i) => `k${i}`);
        const fill = (i: number) => `${i}`.repeat(700);
        await Promise.all(keys.map((key, i) => put(store, key, fill(i))));
        const got = await Promise.all(keys.map((key) => store.get(key)));
        const { items } = await store.range({ start: '' });
        const history = follow(store, 0);
        await history.until(keys.length);
        for (let round = 0; round < 20; round++) {
          const current = await Promise.all(keys.map((key) => store.get(key)));
          await Promise.all(
            keys.map((key, i) => put(store, key, `${round}`.repeat(900), current[i]!.revision)),
          );
        }
        await store.compact(await store.revision());
        for (const [i, stored] of got.entries()) expect(String(stored!.value)).toBe(fill(i));
        for (const { key, value } of items) expect(String(value)).toBe(fill(Number(key.slice(1))));
        for (const { key, value } of history.changes.slice(0, 100)) {
          expect(String(value)).toBe(fill(Number(key.slice(1))));
        }
      });
    });

    describe('range', () => {
      it('reads keys segment by segment, in the order of their UTF-8 bytes', async () => {
        const keys = [
          'a',
          `a${SEPARATOR}a`,
          `a${SEPARATOR}z`,
          'a-b',
          'a-b\u00e9',
          'aa',
          'b',
          '\uffff',
          '\u{1f600}',
        ];
        for (const key of keys.toReversed()) await put(store, key, '');
        expect((await store.range({ start: '' })).items.map(({ key }) => key)).toEqual(keys);
      });

      it('begins at start, ends before end, and goes to the end of the store without one', async () => {
        for (const key of ['a', 'b', 'c', 'd']) await put(store, key, '');
        const keys = async (query: RangeQuery) => (await store.range(query)).items.map(({ key }) => key);
        expect(await keys({ start: 'b', end: 'd' })).toEqual(['b', 'c']);
        expect(await keys({ start: 'b' })).toEqual(['b', 'c', 'd']);
        expect(await keys({ start: `a${SEPARATOR}`, end: `c${SEPARATOR}` })).toEqual(['b', 'c']);
        expect(await keys({ start: 'c', end: 'c' })).toEqual([]);
        expect(await keys({ start: 'd', end: 'a' })).toEqual([]);
        expect(await keys({ start: '', end: '' })).toEqual([]);
        expect(await keys({ start: 'e' })).toEqual([]);
      });

      it('stops at the limit and says whether there is more', async () => {
        for (const key of ['a', 'b', 'c', 'd']) await put(store, key, '');
        await remove(store, 'c', 3);
        const page = async (query: RangeQuery) => {
          const { items, more } = await store.range(query);
          return [items.map(({ key }) => key).join(''), more];
        };
        expect(await page({ start: '', limit: 2 })).toEqual(['ab', true]);
        expect(await page({ start: '', limit: 3 })).toEqual(['abd', false]);
        expect(await page({ start: '', limit: 2, end: 'd' })).toEqual(['ab', false]);
        expect(await page({ start: '', limit: 0 })).toEqual(['', true]);
        expect(await page({ start: 'e', limit: 0 })).toEqual(['', false]);
        expect(await page({ start: '' })).toEqual(['abd', false]);
      });

      it('names the revision it shows', async () => {
        expect((await store.range({ start: '' })).revision).toBe(0);
        for (const key of ['a', 'b']) await put(store, key, '');
        expect((await store.range({ start: '' })).revision).toBe(2);
        expect((await store.range({ start: '', revision: 1 })).revision).toBe(1);
      });

      it('reads the state at any revision, through deletions and recreations', async () => {
        await put(store, 'a', '1');
        await put(store, 'b', '2');
        await put(store, 'a', '3', 1);
        await remove(store, 'b', 2);
        await remove(store, 'a', 3);
        await put(store, 'b', '6');
        await put(store, 'a', '7');
        const states = [[], ['a=1@1'], ['a=1@1', 'b=2@2'], ['a=3@3', 'b=2@2'], ['a=3@3'], [], ['b=6@6']];
        for (const [revision, state] of states.entries())
          expect(await read(store, { revision })).toEqual(state);
        expect(await read(store)).toEqual(['a=7@7', 'b=6@6']);
        expect(await store.range({ start: '', revision: 2, limit: 1 })).toMatchObject({ more: true });
        expect(await store.range({ start: '', revision: 4, limit: 1 })).toMatchObject({ more: false });
      });

      it('shows one revision however long it takes, and lets other work through meanwhile', async () => {
        const keys = numbers(1, 20_000).map((i) => `k${String(i).padStart(5, '0')}`);
        await Promise.all(keys.map((key) => put(store, key, 'first')));
        let turns = 0;
        let isDone = false;
        const page = store.range({ start: '' }).finally(() => {
          isDone = true;
        });
        const others = (async () => {
          while (!isDone) {
            await turn();
            turns++;
          }
        })();
        const writes = keys.toReversed().map((key, i) => {
          const expected = keys.length - i;
          return i % 2 ? remove(store, key, expected) : put(store, key, 'second', expected);
        });
        const { items, revision } = await page;
        await others;
        expect(revision).toBe(20_000);
        expect(items.map(({ key }) => key)).toEqual(keys);
        expect(items.filter(({ value }) => String(value) !== 'first')).toEqual([]);
        expect(turns).toBeGreaterThan(1);
        await Promise.all(writes);
        expect((await store.range({ start: '' })).items.length).toBe(10_000);
      });

      it('rejects a revision that has not happened yet', async () => {
        await put(store, 'a', '');
        await expect(store.range({ start: '', revision: 2 })).rejects.toThrow(new FutureRevisionError(2, 1));
      });
    });

    describe('write', () => {
      it('creates a key that must not exist, and loses against one that does', async () => {
        expect(await store.write({ key: 'a', value: text('one'), expected: 0 })).toEqual({
          ok: true,
          revision: 1,
        });
        expect(await store.write({ key: 'a', value: text('two'), expected: 0 })).toEqual({
          ok: false,
          current: { key: 'a', value: text('one'), revision: 1 },
        });
        expect(await read(store)).toEqual(['a=one@1']);
      });

      it('updates and deletes only the revision it expects', async () => {
        await put(store, 'a', 'one');
        await put(store, 'a', 'two', 1);
        const current = { key: 'a', value: text('two'), revision: 2 };
        for (const expected of [1, 3, 99]) {
          expect(await store.write({ key: 'a', value: text('x'), expected })).toEqual({ ok: false, current });
          expect(await store.write({ key: 'a', value: null, expected })).toEqual({ ok: false, current });
        }
        expect(await store.write({ key: 'a', value: null, expected: 2 })).toEqual({ ok: true, revision: 3 });
      });

      it('loses against a key that does not exist, also when it names the revision of the deletion', async () => {
        await put(store, 'a', 'one');
        await remove(store, 'a', 1);
        for (const expected of [1, 2]) {
          const lost = { ok: false, current: undefined };
          expect(await store.write({ key: 'a', value: text('x'), expected })).toEqual(lost);
          expect(await store.write({ key: 'a', value: null, expected })).toEqual(lost);
          expect(await store.write({ key: 'never', value: text('x'), expected })).toEqual(lost);
        }
        expect(await store.revision()).toBe(2);
      });

      it('takes revisions from one counter without gaps; a lost write takes none', async () => {
        expect(await store.revision()).toBe(0);
        const results = await Promise.all(
          numbers(0, 299).map((i) => store.write({ key: `k${i % 200}`, value: text(''), expected: 0 })),
        );
        expect(results.flatMap((result) => (result.ok ? [result.revision] : []))).toEqual(numbers(1, 200));
        expect(await store.revision()).toBe(200);
        expect(await put(store, 'next', '')).toBe(201);
      });

      it('lets exactly one of many concurrent writers win each revision of a key', async () => {
        await put(store, 'n', '0');
        const wins: number[] = [];
        const count = async () => {
          for (let done = 0; done < 25; ) {
            const { value, revision } = (await store.get('n'))!;
            const next = text(String(Number(value) + 1));
            const result = await store.write({ key: 'n', value: next, expected: revision });
            if (result.ok) {
              wins.push(result.revision);
              done++;
            } else expect(result.current!.revision).toBeGreaterThan(revision);
          }
        };
        await Promise.all(numbers(1, 8).map(count));
        expect(String((await store.get('n'))!.value)).toBe('200');
        expect(wins.toSorted((a, b) => a - b)).toEqual(numbers(2, 201));
      });

      it('shows a write those before it in the same commit', async () => {
        const history = follow(store, 0);
        const results = await Promise.all([
          store.write({ key: 'a', value: text('one'), expected: 0 }),
          store.write({ key: 'a', value: text('lost'), expected: 0 }),
          store.write({ key: 'a', value: text('two'), expected: 1 }),
          store.write({ key: 'a', value: null, expected: 2 }),
          store.write({ key: 'a', value: text('lost'), expected: 2 }),
          store.write({ key: 'a', value: text('three'), expected: 0 }),
        ]);
        expect(results).toEqual([
          { ok: true, revision: 1 },
          { ok: false, current: { key: 'a', value: text('one'), revision: 1 } },
          { ok: true, revision: 2 },
          { ok: true, revision: 3 },
          { ok: false, current: undefined },
          { ok: true, revision: 4 },
        ]);
        expect(history.calls).toEqual([[1, 2, 3, 4]]);
        const words = ['a=one@1 was x', 'a=two@2 was one@1', 'a=x@3 was two@2', 'a=three@4 was x'];
        expect(history.words()).toEqual(words);
        const again = follow(store, 0);
        await again.until(4);
        expect(again.words()).toEqual(words);
        expect(await read(store, { revision: 2 })).toEqual(['a=two@2']);
      });

      it('is readable and published when it is acknowledged, and not before it is in the revision', async () => {
        const history = follow(store, 0);
        let newest = 0;
        let isDone = false;
        const reader = (async () => {
          while (!isDone) {
            const stored = await store.get('a');
            const { items, revision } = await store.range({ start: '' });
            const seen = Math.max(stored?.revision ?? 0, revision, ...items.map((item) => item.revision));
            expect(seen).toBeLessThanOrEqual(await store.revision());
            expect(history.revisions().at(-1) ?? 0).toBeGreaterThanOrEqual(seen);
            await turn();
          }
        })();
        for (let i = 0; i < 200; i++) {
          newest = await put(store, 'a', String(i), newest);
          expect(history.revisions().at(-1)).toBe(newest);
          expect((await store.get('a'))!.revision).toBe(newest);
          expect(await store.revision()).toBe(newest);
        }
        isDone = true;
        await reader;
      });

      it('carries out more writes at once than one commit may hold', async () => {
        const history = follow(store, 0);
        const count = BATCH_WRITES_MAX * 2 + 1;
        const revisions = await Promise.all(numbers(1, count).map((i) => put(store, `k${i}`, '')));
        expect(revisions).toEqual(numbers(1, count));
        expect(history.revisions()).toEqual(revisions);
        expect(Math.max(...history.calls.map((call) => call.length))).toBe(BATCH_WRITES_MAX);
      });

      it('carries out more bytes at once than one commit may hold', async () => {
        const history = follow(store, 0);
        const value = Buffer.alloc(BATCH_BYTES_MAX / 2 - 1);
        const write = (i: number) => store.write({ key: `k${i}`, value, expected: 0 });
        expect(await Promise.all(numbers(1, 5).map(write))).toEqual(
          numbers(1, 5).map((revision) => ({ ok: true, revision })),
        );
        expect(history.calls).toEqual([[1, 2], [3, 4], [5]]);
      });

      it('refuses what it could not keep, and changes nothing', async () => {
        const refused = [
          { key: '', value: text(''), expected: 0 },
          { key: 'k'.repeat(KEY_BYTES_MAX + 1), value: text(''), expected: 0 },
          { key: '\u00e9'.repeat(KEY_BYTES_MAX / 2 + 1), value: text(''), expected: 0 },
          { key: 'half \ud83d', value: text(''), expected: 0 },
          { key: 'a', value: Buffer.alloc(VALUE_BYTES_MAX + 1), expected: 0 },
          { key: 'a', value: null, expected: 0 },
        ];
        for (const write of refused) await expect(store.write(write)).rejects.toThrow(RangeError);
        await expect(store.get('half \ud83d')).rejects.toThrow(RangeError);
        await expect(store.range({ start: 'k'.repeat(9999) })).rejects.toThrow(RangeError);
        await expect(store.range({ start: '', end: 'k'.repeat(9999) })).rejects.toThrow(RangeError);
        expect(await store.revision()).toBe(0);
        expect(await put(store, 'k'.repeat(KEY_BYTES_MAX), 'longest')).toBe(1);
        expect((await store.range({ start: `k${SEPARATOR}` })).items.length).toBe(1);
      });
    });

    describe('watch', () => {
      const prepare = async () => {
        await put(store, 'a', 'one');
        await put(store, 'b', 'one');
        await put(store, 'a', 'two', 1);
        await remove(store, 'b', 2);
        return ['a=one@1 was x', 'b=one@2 was x', 'a=two@3 was one@1', 'b=x@4 was one@2'];
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
          expect(history.words()).toEqual([...words, 'c=live@5 was x'].slice(i * 2));
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
        await turn();
        expect(calls).toEqual([true]);
        subscription.close();
      });

      it('tells when each commit happened', async () => {
        await store.close();
        let timeMs = 1_700_000_000_000;
        ({ store } = await open({ now: () => timeMs }));
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

      it('brings changes that were committed together in one call, live and from history', async () => {
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
      });

      it('misses and repeats nothing where history meets the present, whenever a watch begins', async () => {
        const total = 4000;
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
            // An engine without a disk must be made to let watches catch up in between.
            if (written % 3 === 0) await turn();
            // Begin at the beginning, in the middle, just now, and just ahead.
            if (watches.length < 60 && written % 50 === 0) {
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
      const words = ['again=8@8 was x', 'changed=9@9 was 7@7', 'again=x@10 was 8@8', 'deleted=11@11 was x'];

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
        expect(history.words()).toEqual(['kept=13@13 was x']);
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
        const writer = async (id: number) => {
          let revision = 0;
          for (let i = 0; i < 400; i++) {
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
        expect(all.revisions()).toEqual(numbers(1, 3200));
        expect(await read(store)).toEqual([...state.values()].sort());
      });

      it('waits for a range that began earlier', async () => {
        // The range comes to `z` last; compaction would take what it held at 1 away first.
        await put(store, 'z', 'first');
        await put(store, 'z', 'second', 1);
        const keys = numbers(1, 20_000).map((i) => `k${i}`);
        await Promise.all(keys.map((key) => put(store, key, '')));
        const page = store.range({ start: '', revision: 1 });
        // The first may go ahead at once, but not as far as the second may go later.
        const compactions = Promise.all([store.compact(1), store.compact(20_002)]);
        expect(store.compacted).toBe(20_002);
        expect((await page).items).toEqual([{ key: 'z', value: text('first'), revision: 1 }]);
        await compactions;
        expect((await store.range({ start: '' })).items.length).toBe(20_001);
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

    describe('close', () => {
      it('carries out the writes made before it, and rejects everything after', async () => {
        const history = follow(store, 0);
        const before = numbers(1, 20).map((i) => put(store, `k${i}`, ''));
        const closing = store.close();
        const late = store.write({ key: 'late', value: text(''), expected: 0 });
        await expect(late).rejects.toThrow(StoreUnavailableError);
        expect(await Promise.all(before)).toEqual(numbers(1, 20));
        await closing;
        expect(history.revisions()).toEqual(numbers(1, 20));
        await expect(history.subscription.ended).rejects.toThrow(StoreUnavailableError);
        await expect((async () => store.revision())()).rejects.toThrow(StoreUnavailableError);
        await expect(store.get('k1')).rejects.toThrow(StoreUnavailableError);
        await expect(store.range({ start: '' })).rejects.toThrow(StoreUnavailableError);
        await expect(store.compact(1)).rejects.toThrow(StoreUnavailableError);
        await expect(follow(store, 0).subscription.ended).rejects.toThrow(StoreUnavailableError);
        await store.close();
      });

      it('breaks off ranges, watches and compactions that are under way', async () => {
        await Promise.all(numbers(1, 20_000).map((i) => put(store, `k${i}`, '')));
        const page = store.range({ start: '' });
        const history = follow(store, 0);
        const compaction = store.compact(20_000);
        const ends = [page, history.subscription.ended, compaction].map((promise) =>
          expect(promise).rejects.toThrow(StoreUnavailableError),
        );
        await store.close();
        await Promise.all(ends);
      });

      it('keeps everything for the next time', async (context) => {
        if (!reopen) return context.skip();
        await put(store, 'a', '1');
        await put(store, 'b', '2');
        await put(store, 'a', '3', 1);
        await remove(store, 'b', 2);
        await put(store, 'a', '5', 3);
        await store.compact(2);
        store = await reopen();
        expect([await store.revision(), store.compacted]).toEqual([5, 2]);
        expect(await read(store)).toEqual(['a=5@5']);
        expect(await read(store, { revision: 2 })).toEqual(['a=1@1', 'b=2@2']);
        await expect(store.range({ start: '', revision: 1 })).rejects.toThrow(CompactedError);
        const history = follow(store, 2);
        await history.until(5);
        expect(history.words()).toEqual(['a=3@3 was 1@1', 'b=x@4 was 2@2', 'a=5@5 was 3@3']);
        expect(await put(store, 'b', '6')).toBe(6);
        store = await reopen();
        expect(await read(store)).toEqual(['a=5@5', 'b=6@6']);
      });
    });
  });
}
