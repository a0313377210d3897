/** Proves that slow start begins with one, doubles, and stops at a failure. */
import { expect, it } from 'vitest';
import { slowStart } from './slow-start.ts';

async function batches(
  count: number,
  fails: (index: number) => boolean,
): Promise<[number[][], string | undefined]> {
  const begun: number[][] = [[]];
  const error = await slowStart(count, async (index) => {
    begun.at(-1)!.push(index);
    // All calls of a batch have started before any has finished.
    await new Promise((resolve) => setImmediate(resolve));
    if (begun.at(-1)!.length) begun.push([]);
    if (fails(index)) throw new Error(`no ${index}`);
  });
  return [begun.filter((batch) => batch.length), error?.message];
}

it('makes 1, 2, 4… at once', async () => {
  expect(await batches(9, () => false)).toEqual([[[0], [1, 2], [3, 4, 5, 6], [7, 8]], undefined]);
  expect(await batches(0, () => false)).toEqual([[], undefined]);
});

it('begins no batch after one that failed', async () => {
  expect(await batches(100, (index) => index >= 2)).toEqual([[[0], [1, 2]], 'no 2']);
  expect(await batches(100, () => true)).toEqual([[[0]], 'no 0']);
});
