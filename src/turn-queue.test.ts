/** Proves that few pieces of work are done in one turn of the event loop, in their order. */
import { expect, it, vi } from 'vitest';
import { TurnQueue } from './turn-queue.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('a few are done in each turn, the first at once', async () => {
  const queue = new TurnQueue(16);
  let done = 0;
  for (let i = 0; i < 40; i++) queue.add(() => done++);
  const counts = [done];
  for (let i = 0; i < 3; i++) {
    await turn();
    counts.push(done);
  }
  expect(counts).toEqual([16, 32, 40, 40]);
  queue.add(() => done++);
  expect(done).toBe(41);
});

it('those that come while others wait are done after them', async () => {
  const queue = new TurnQueue(16);
  const done: string[] = [];
  for (let i = 0; i < 40; i++) queue.add(() => done.push('first'));
  await turn();
  for (let i = 0; i < 5; i++) queue.add(() => done.push('second'));
  expect(done.length).toBe(32);
  await turn();
  expect(done.slice(38)).toEqual(['first', 'first', 'second', 'second', 'second', 'second', 'second']);
});

it('more are done in a turn when very many wait, so that these do not grow', async () => {
  const queue = new TurnQueue(8, 1 / 32);
  let done = 0;
  const counts: number[] = [];
  for (let i = 0; i < 60; i++) {
    for (let piece = 0; piece < 100; piece++) queue.add(() => done++);
    const before = done;
    await turn();
    counts.push(done - before);
  }
  expect(counts[0]).toBe(8);
  expect(counts.at(-1)).toBeGreaterThan(80);
});

it('work that waits for its turn begins with few others', async () => {
  const queue = new TurnQueue(3);
  let begun = 0;
  for (let i = 0; i < 10; i++) void queue.next().then(() => begun++);
  const counts: number[] = [];
  for (let i = 0; i < 4; i++) {
    await turn();
    counts.push(begun);
  }
  // What resolves in a turn begins before the next.
  expect(counts.map((count, i) => count - (counts[i - 1] ?? 0)).every((count) => count <= 6)).toBe(true);
  expect(begun).toBe(10);
});

it('one that throws does not cost those behind it their turn, or their order', () => {
  vi.useFakeTimers({ toFake: ['setImmediate'] });
  try {
    const queue = new TurnQueue(4);
    const done: number[] = [];
    const add = (i: number) =>
      queue.add(() => {
        if (i === 5) throw new Error('broken');
        done.push(i);
      });
    for (let i = 0; i < 7; i++) add(i);
    expect(() => vi.runOnlyPendingTimers()).toThrow('broken');
    expect(done).toEqual([0, 1, 2, 3, 4]);
    add(7);
    vi.runAllTimers();
    expect(done).toEqual([0, 1, 2, 3, 4, 6, 7]);
  } finally {
    vi.useRealTimers();
  }
});

it('of very many, each is done once and in its order', () => {
  vi.useFakeTimers({ toFake: ['setImmediate'] });
  try {
    const queue = new TurnQueue(100);
    const done: number[] = [];
    for (let i = 0; i < 10_000; i++) queue.add(() => done.push(i));
    let turns = 0;
    for (; done.length < 10_000; turns++) vi.runOnlyPendingTimers();
    expect(turns).toBe(99);
    expect(done).toEqual(Array.from({ length: 10_000 }, (_, i) => i));
  } finally {
    vi.useRealTimers();
  }
});
