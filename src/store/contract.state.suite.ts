/** The store contract, first part: state and writes. Run by `contract.suite.ts`. */
import { beforeEach, describe, expect, it } from 'vitest';
import { BATCH_BYTES_MAX, BATCH_WRITES_MAX } from './commit-queue.ts';
import type { TestContext } from './contract.suite.ts';
import { KEY_BYTES_MAX } from './engine.ts';
import { follow, inOrder, numbers, put, read, remove, text, turn } from './observer.fixture.ts';
import { DeadlineError, FutureRevisionError, type RangeQuery, SEPARATOR, type Store } from './store.ts';

/** What `get`, `range` and `write` promise. */
export function stateContract(context: TestContext): void {
  let store: Store;
  const { shared, many } = context.traits;
  const ofOneProcess = it.skipIf(shared);
  beforeEach(() => {
    store = context.store;
  });

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
      const { valueBytesMax } = store;
      const sizes = [0, 256, Math.min(3_000_000, valueBytesMax >>> 1), valueBytesMax];
      const values = sizes.map((bytes) => Buffer.alloc(bytes, all));
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
      const keys = numbers(1, many).map((i) => `k${String(i).padStart(5, '0')}`);
      const revisions = await Promise.all(keys.map((key) => put(store, key, 'first')));
      let turns = 0;
      let isDone = false;
      // Where others write, the newest revision is the one that the store finds while it reads.
      const page = store.range({ start: '', revision: shared ? many : undefined }).finally(() => {
        isDone = true;
      });
      const others = (async () => {
        while (!isDone) {
          await turn();
          turns++;
        }
      })();
      const writes = keys.toReversed().map((key, i) => {
        const expected = revisions[keys.length - 1 - i]!;
        return i % 2 ? remove(store, key, expected) : put(store, key, 'second', expected);
      });
      const { items, revision } = await page;
      await others;
      expect(revision).toBe(many);
      expect(items.map(({ key }) => key)).toEqual(keys);
      expect(items.filter(({ value }) => String(value) !== 'first')).toEqual([]);
      expect(turns).toBeGreaterThan(1);
      await Promise.all(writes);
      expect((await store.range({ start: '' })).items.length).toBe(many / 2);
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
      const revisions = results.flatMap((result) => (result.ok ? [result.revision] : []));
      expect(inOrder(revisions, shared)).toEqual(numbers(1, 200));
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

    ofOneProcess('shows a write those before it in the same commit', async () => {
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
      const words = ['a=one@1', 'a=two@2', 'a=x@3', 'a=three@4'];
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
      expect(inOrder(revisions, shared)).toEqual(numbers(1, count));
      expect(history.revisions()).toEqual(numbers(1, count));
      if (!shared) expect(Math.max(...history.calls.map((call) => call.length))).toBe(BATCH_WRITES_MAX);
    });

    ofOneProcess('carries out more bytes at once than one commit may hold', async () => {
      const history = follow(store, 0);
      const value = Buffer.alloc(BATCH_BYTES_MAX / 2 - 1);
      const write = (i: number) => store.write({ key: `k${i}`, value, expected: 0 });
      expect(await Promise.all(numbers(1, 5).map(write))).toEqual(
        numbers(1, 5).map((revision) => ({ ok: true, revision })),
      );
      expect(history.calls).toEqual([[1, 2], [3, 4], [5]]);
    });

    it('is not carried out when its turn comes after its deadline', async () => {
      await context.store.close();
      Object.assign(context, await context.open({ now: () => 1_000 }));
      store = context.store;
      const write = (key: string, deadlineMs: number | undefined) =>
        store.write({ key, value: text(''), expected: 0, deadlineMs });
      const late = write('late', 999);
      const others = [write('punctual', 1_000), write('patient', undefined)];
      await expect(late).rejects.toThrow(DeadlineError);
      const [punctual, patient] = (await Promise.all(others)).map((result) => result.ok && result.revision);
      expect(inOrder([Number(punctual), Number(patient)], shared)).toEqual([1, 2]);
      expect(await read(store)).toEqual([`patient=@${patient}`, `punctual=@${punctual}`]);
    });

    it('refuses what it could not keep, and changes nothing', async () => {
      const refused = [
        { key: '', value: text(''), expected: 0 },
        { key: 'k'.repeat(KEY_BYTES_MAX + 1), value: text(''), expected: 0 },
        { key: '\u00e9'.repeat(KEY_BYTES_MAX / 2 + 1), value: text(''), expected: 0 },
        { key: 'half \ud83d', value: text(''), expected: 0 },
        { key: 'a', value: Buffer.alloc(store.valueBytesMax + 1), expected: 0 },
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
}
