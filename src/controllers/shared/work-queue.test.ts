/** Proves that work queues hold a key once, retry failed ones, and process delayed ones in time. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WorkQueue } from './work-queue.ts';

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const turns = (): Promise<unknown> => vi.advanceTimersByTimeAsync(1);

function recording(fail: (key: string) => boolean = () => false, triesMax?: number) {
  const worked: string[] = [];
  const errors: string[] = [];
  const queue = new WorkQueue({
    work: async (key) => {
      worked.push(key);
      if (fail(key)) throw new Error(key);
    },
    onError: (key) => errors.push(key),
    triesMax,
  });
  return { queue, worked, errors };
}

describe('keys', () => {
  it('that are added twice before their turn are worked on once', async () => {
    const { queue, worked } = recording();
    queue.add('a');
    queue.add('b');
    queue.add('a');
    expect(queue.settled).toBe(false);
    await turns();
    expect(worked).toEqual(['a', 'b']);
    expect(queue.settled).toBe(true);
  });

  it('that are added while they are worked on are looked at again, and never twice at once', async () => {
    const finish: (() => void)[] = [];
    const queue = new WorkQueue({
      work: () => new Promise((resolve) => finish.push(resolve)),
      onError: () => undefined,
    });
    queue.add('a');
    await turns();
    queue.add('a');
    queue.add('a');
    await turns();
    expect(finish.length).toBe(1);
    finish[0]!();
    await turns();
    expect(finish.length).toBe(2);
    finish[1]!();
    await turns();
    expect([finish.length, queue.settled]).toEqual([2, true]);
  });

  it('that never wait for anything leave the process its turns', async () => {
    const { queue, worked } = recording();
    for (let i = 0; i < 100; i++) queue.add(`k${i}`);
    await vi.advanceTimersToNextTimerAsync();
    expect(worked.length).toBeLessThan(30);
    await vi.advanceTimersByTimeAsync(50);
    expect(worked.length).toBe(100);
  });
});

describe('failed keys', () => {
  it('come back after a growing delay, and are given up in the end', async () => {
    const { queue, worked, errors } = recording(() => true, 4);
    queue.add('a');
    await turns();
    expect([worked.length, queue.settled]).toEqual([1, false]);
    await vi.advanceTimersByTimeAsync(6);
    expect(worked.length).toBe(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([worked.length, errors.length, queue.settled]).toEqual([4, 4, true]);
    queue.add('a');
    await turns();
    expect(worked.length).toBe(5);
  });

  it('that are added meanwhile are not tried a second time for the old failure', async () => {
    let failing = true;
    const { queue, worked } = recording(() => failing);
    queue.add('a');
    await turns();
    failing = false;
    queue.add('a');
    await turns();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(worked).toEqual(['a', 'a']);
  });
});

describe('appointments', () => {
  it('are kept when a later one is asked for', async () => {
    const { queue, worked } = recording();
    queue.addAfter('a', 100);
    queue.addAfter('a', 5_000);
    await vi.advanceTimersByTimeAsync(150);
    expect(worked).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(worked).toEqual(['a']);
  });

  it('are moved forward when an earlier one is asked for', async () => {
    const { queue, worked } = recording();
    queue.addAfter('a', 5_000);
    queue.addAfter('a', 100);
    await vi.advanceTimersByTimeAsync(150);
    expect(worked).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(worked).toEqual(['a']);
  });

  it('far away are not work that is left; near ones are', () => {
    const { queue } = recording();
    queue.addAfter('a', 3_600_000);
    expect(queue.settled).toBe(true);
    queue.addAfter('b', 20);
    expect(queue.settled).toBe(false);
  });

  it('that never come are not made', () => {
    const { queue } = recording();
    queue.addAfter('a', Number.POSITIVE_INFINITY);
    expect(vi.getTimerCount()).toBe(0);
    expect(queue.settled).toBe(true);
  });

  it('further away than a timer can wait do not come at once', async () => {
    const { queue, worked } = recording();
    queue.addAfter('a', 1e15);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(worked).toEqual([]);
  });
});

it('a closed queue waits for what is under way, and takes nothing more', async () => {
  let finish = (): void => undefined;
  const worked: string[] = [];
  const queue = new WorkQueue({
    work: (key) => {
      worked.push(key);
      return new Promise((resolve) => {
        finish = resolve;
      });
    },
    onError: () => undefined,
    width: 1,
  });
  queue.add('a');
  queue.add('b');
  queue.addAfter('c', 1);
  await turns();
  let closed = false;
  const closing = queue.close().then(() => {
    closed = true;
  });
  await turns();
  expect(closed).toBe(false);
  finish();
  await closing;
  queue.add('d');
  await vi.advanceTimersByTimeAsync(100);
  expect(worked).toEqual(['a']);
});

it('those that take milliseconds each are started in turns of the event loop', async () => {
  vi.useRealTimers();
  let turn = 0;
  const startedIn: number[] = [];
  const queue = new WorkQueue({
    work: async () => {
      startedIn.push(turn);
      for (const until = performance.now() + 5; performance.now() < until; );
    },
    onError: () => undefined,
  });
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  for (; startedIn.length < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(new Set(startedIn).size).toBe(4);
  await queue.close();
});
