/** Proves that sets of indexes are read, counted and compared, and refused in Kubernetes' words. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commonIndex, indexCount, parseIndexes } from './job-indexes.ts';

test.each([
  ['', []],
  ['0', [[0, 0]]],
  ['+1', [[1, 1]]],
  [
    '0-2,5,7-9',
    [
      [0, 2],
      [5, 5],
      [7, 9],
    ],
  ],
])('%j', (text, intervals) => {
  expect(parseIndexes(text, 10)).toEqual(intervals);
});

test.each([
  ['a', 'cannot convert string to integer for index: "a"'],
  ['1,', 'cannot convert string to integer for index: ""'],
  ['-1', 'cannot convert string to integer for index: ""'],
  ['1e3', 'cannot convert string to integer for index: "1e3"'],
  ['10', 'too large index: "10"'],
  ['5-10', 'too large index: "10"'],
  [
    '1-2-3',
    'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by \'-\'',
  ],
  ['3-3', 'non-increasing order, previous: 3, current: 3'],
  ['3,2', 'non-increasing order, previous: 3, current: 2'],
  ['1-5,5', 'non-increasing order, previous: 5, current: 5'],
])('%j is refused', (text, message) => {
  expect(() => parseIndexes(text, 10)).toThrow(message);
});

/** A set of indexes below 50 and its text, with consecutive indexes as an interval. */
const indexes = fc.uniqueArray(fc.nat(49)).map((numbers) => {
  const sorted = numbers.sort((a, b) => a - b);
  const parts: [number, number][] = [];
  for (const number of sorted) {
    const last = parts.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  return { numbers: sorted, text: parts.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(',') };
});

test('counting and comparing is that of sets', () => {
  fc.assert(
    fc.property(indexes, indexes, (a, b) => {
      const [first, second] = [parseIndexes(a.text, 50), parseIndexes(b.text, 50)];
      expect(indexCount(first)).toBe(a.numbers.length);
      expect(commonIndex(first, second)).toBe(a.numbers.find((number) => b.numbers.includes(number)));
    }),
  );
});
