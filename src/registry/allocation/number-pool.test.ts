/** A pool gives each number to one holder, the low reserved ones last, until none is left. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NumberPool } from './number-pool.ts';

const first = (): number => 0;

test('picks every number once, the spared ones last', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.nat({ max: 80 }),
      fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
      (size, spared, sources) => {
        const pool = new NumberPool(100, 100 + size - 1, spared);
        const picked: number[] = [];
        for (;;) {
          const number = pool.pick((bound) => Math.floor(sources.next().value! * bound));
          if (number === undefined) break;
          pool.hold(number);
          picked.push(number);
        }
        expect([...picked].sort((a, b) => a - b)).toEqual(Array.from({ length: size }, (_, i) => 100 + i));
        const preferred = Math.max(size - spared, 0);
        expect(picked.slice(0, preferred).every((number) => number >= 100 + spared)).toBe(true);
      },
    ),
  );
});

test('a number is free when its last holder lets go', () => {
  const pool = new NumberPool(5, 5, 0);
  pool.hold(5);
  pool.hold(5);
  pool.release(5);
  expect([pool.holdersOf(5), pool.pick(first)]).toEqual([1, undefined]);
  pool.release(5);
  expect([pool.holdersOf(5), pool.pick(first)]).toEqual([0, 5]);
  pool.release(5);
  expect(pool.heldCount).toBe(0);
});

test('numbers outside the range are not counted', () => {
  const pool = new NumberPool(5, 6, 1);
  pool.hold(4);
  pool.hold(7);
  pool.release(4);
  expect([pool.heldCount, pool.has(4), pool.has(7), pool.pick(first)]).toEqual([0, false, false, 6]);
});
