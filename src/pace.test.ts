import { expect, it, onTestFinished, vi } from 'vitest';
import { Pace } from './pace.ts';

const useClock = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
};

it('lets some begin at once, then one after each rest, in the order in which they came', async () => {
  useClock();
  const pace = new Pace(3, 25);
  const begun: number[] = [];
  for (let i = 0; i < 6; i++) void pace.next().then(() => begun.push(i));
  await vi.advanceTimersByTimeAsync(0);
  expect(begun).toEqual([0, 1, 2]);
  await vi.advanceTimersByTimeAsync(24);
  expect(begun).toEqual([0, 1, 2]);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun).toEqual([0, 1, 2, 3]);
  await vi.advanceTimersByTimeAsync(50);
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
});

it('gives back what is not used, and no more than at first', async () => {
  useClock();
  const pace = new Pace(2, 10);
  await Promise.all([pace.next(), pace.next()]);
  await vi.advanceTimersByTimeAsync(1_000);
  const begun: number[] = [];
  for (let i = 0; i < 3; i++) void pace.next().then(() => begun.push(i));
  await vi.advanceTimersByTimeAsync(0);
  expect(begun).toEqual([0, 1]);
  await vi.advanceTimersByTimeAsync(10);
  expect(begun).toEqual([0, 1, 2]);
});
