/** Proves that long work lets others compute between its slices, and that short work never waits. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { inSlices, turnToAnswer, yieldToRequests } from './time-slices.ts';

function* work(slices: number, steps: number, done: number[]): Generator<number, void> {
  for (let i = 0; i < slices; i++) {
    done.push(i);
    yield steps;
  }
}

test('short work is done at once', async () => {
  // Other tests of the process may have used the slice of this turn.
  await nextTurn();
  await nextTurn();
  const done: number[] = [];
  expect(inSlices(work(100, 10, done))).toBeUndefined();
  expect(done).toHaveLength(100);
});

test('long work pauses, and is finished all the same', async () => {
  const done: number[] = [];
  const working = inSlices(work(10, 1_000_000, done));
  expect(working).toBeInstanceOf(Promise);
  expect(done.length).toBeLessThan(10);
  let turns = 0;
  let isDone = false;
  const counting = (async () => {
    for (; !isDone; turns++) await nextTurn();
  })();
  await working;
  isDone = true;
  await counting;
  expect(done).toHaveLength(10);
  expect(turns).toBeGreaterThan(3);
});

test('work that fails ends', async () => {
  function* failing(): Generator<number, void> {
    yield 1_000_000;
    throw new Error('broken');
  }
  await expect(inSlices(failing())).rejects.toThrow('broken');
});

test('requests that have arrived go first, every second time', async () => {
  await nextTurn();
  const order: string[] = [];
  const request = (): void => {
    yieldToRequests();
    setImmediate(() => order.push('request'));
  };
  const answering = (async () => {
    for (let i = 0; i < 4; i++) {
      await turnToAnswer();
      order.push('answer');
    }
  })();
  // Requests are read in each turn, before the work of that turn that waited since the one before.
  for (let i = 0; i < 8; i++) {
    request();
    await nextTurn();
  }
  await answering;
  expect(order.filter((word) => word === 'answer')).toHaveLength(4);
  // Without that, each part of an answer would come before the request of its turn.
  expect(order.join(' ')).toMatch(/(answer request request ){3}answer/);
});
