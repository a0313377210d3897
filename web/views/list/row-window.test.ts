/** Proves that rows in sight are drawn with some around them, and none beyond the ends, even when rows have gone. */
import { expect, it } from 'vitest';
import { rowWindow } from './row-window.ts';

const draw = (top: number, count: number) => {
  const { first, end } = rowWindow(top, 320, 32, count);
  return [first, end];
};

it('draws what is in sight and six rows more on both sides', () => {
  expect(draw(0, 50_000)).toEqual([0, 17]);
  // Half of row 100 is in sight, and half of row 110.
  expect(draw(100 * 32 + 16, 50_000)).toEqual([94, 117]);
  expect(draw(49_990 * 32, 50_000)).toEqual([49_984, 50_000]);
});

it('draws the last rows when the box is scrolled beyond them, since rows have gone', () => {
  expect(draw(40_000 * 32, 100)).toEqual([84, 100]);
  expect(draw(40_000 * 32, 3)).toEqual([0, 3]);
  expect(draw(0, 0)).toEqual([0, 0]);
});
