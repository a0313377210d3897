/** Proves that reading of history begins further away from its end with every attempt, and never beyond it. */
import { expect, it } from 'vitest';
import { startOf } from './history-range.ts';

it('begins a little after the oldest version, and later with every attempt', () => {
  const range = { oldest: 1_000, newest: 2_600 };
  expect([0, 1, 2, 3, 4, 5, 9].map((attempt) => startOf(range, attempt))).toEqual([
    1_050, 1_100, 1_200, 1_400, 1_800, 2_600, 2_600,
  ]);
  expect(startOf({ oldest: 7, newest: 7 }, 3)).toBe(7);
});

it('begins at the first version while nothing has been dropped', () => {
  expect(startOf({ oldest: 1, newest: 2_600 })).toBe(1);
});
