/** Proves that index sets are parsed and written as in a job's status, and the set operations. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseIndexes } from '../../api/rules/job/job-indexes.ts';
import { IndexSet } from './job-index-set.ts';

const setOf = (indexes: readonly number[]): IndexSet => {
  const set = new IndexSet();
  for (const index of indexes) set.add(index);
  return set;
};

it.each([
  [[], ''],
  [[3], '3'],
  [[2, 1], '1,2'],
  [[9, 0, 5, 2, 1, 7, 8], '0-2,5,7-9'],
])('%j is written %j', (indexes, text) => {
  expect(String(setOf(indexes))).toBe(text);
});

it('is a set', () => {
  const indexes = fc.uniqueArray(fc.nat(40));
  fc.assert(
    fc.property(indexes, indexes, (some, others) => {
      const [set, other] = [setOf(some), IndexSet.read(String(setOf(others)), 41)];
      expect([set.size, other.size]).toEqual([some.length, others.length]);
      for (let i = 0; i <= 41; i++) expect(set.has(i)).toBe(some.includes(i));
      expect(set.common(other)).toBe(some.filter((index) => others.includes(index)).length);
      const free = Array.from({ length: 42 }, (_, i) => i).find((i) => !some.includes(i));
      expect(set.after(0)).toBe(free);
      expect(() => parseIndexes(String(set), 41)).not.toThrow();
      expect(String(IndexSet.read(String(set), 41))).toBe(String(set));
    }),
  );
});

it('indexes that are too large, and texts that make no sense, are none', () => {
  expect(String(IndexSet.read('1-9', 3))).toBe('1,2');
  expect(String(IndexSet.read('1-2,5', 5))).toBe('1,2');
  expect(String(IndexSet.read('what', 3))).toBe('');
  expect(String(IndexSet.read(undefined, 3))).toBe('');
});

it('a short text may stand for very many', () => {
  const set = IndexSet.read('0-1000000000,1000000002-2147483646', 2147483647);
  expect([set.size, set.after(5), set.has(2147483646)]).toEqual([2147483646, 1000000001, true]);
});
