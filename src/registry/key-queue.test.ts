/** KeyQueue: one at a time per key, in order of arrival, and no entry stays behind. */
import { expect, test } from 'vitest';
import { KeyQueue } from './key-queue.ts';

test('a free key is had at once, a taken one in order', async () => {
  const turns = new KeyQueue();
  const order: number[] = [];
  expect(turns.take('a')).toBeUndefined();
  const waiting = [1, 2, 3].map(async (number) => {
    await turns.take('a');
    order.push(number);
    await Promise.resolve();
    turns.giveUp('a');
  });
  expect(turns.take('b')).toBeUndefined();
  expect(order).toEqual([]);
  turns.giveUp('a');
  await Promise.all(waiting);
  expect(order).toEqual([1, 2, 3]);
  expect(turns.take('a')).toBeUndefined();
});
