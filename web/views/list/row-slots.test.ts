/** Proves that rows keep their elements while they are in sight, and that new ones take over those that are free. */
import { expect, it } from 'vitest';
import { RowSlots } from './row-slots.ts';

it('keeps the elements of rows that stay in sight, and gives those of others to rows that come', () => {
  const slots = new RowSlots();
  expect(slots.assign(['a', 'b', 'c'])).toEqual([0, 1, 2]);
  expect(slots.assign(['b', 'c', 'd'])).toEqual([1, 2, 0]);
  // A row that was added above them, and another order.
  expect(slots.assign(['new', 'd', 'b', 'c'])).toEqual([3, 0, 1, 2]);
  expect(slots.assign(['x', 'y', 'z', 'w']).toSorted()).toEqual([0, 1, 2, 3]);
});

it('never has more numbers than rows that were in sight at once', () => {
  const slots = new RowSlots();
  const seen = new Set<number>();
  for (let top = 0; top < 500; top += 7)
    for (const slot of slots.assign(Array.from({ length: 10 }, (_, i) => `row-${top + i}`))) seen.add(slot);
  expect(seen.size).toBe(10);
  expect(slots.assign([])).toEqual([]);
  expect(slots.assign(['again'])).toEqual([0]);
});
