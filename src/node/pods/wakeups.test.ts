/** Proves that a worker looks once for changes that happen together, on time, and not after it was closed. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemTimers } from '../../timers.ts';
import { Wakeups } from './wakeups.ts';

let looks: number;
let wakeups: Wakeups;

beforeEach(() => {
  vi.useFakeTimers();
  looks = 0;
  wakeups = new Wakeups(() => looks++, Date.now, systemTimers);
});
afterEach(() => {
  vi.useRealTimers();
});

it('looks once for all that happens in one tick, and again for what happens later', async () => {
  for (let i = 0; i < 3; i++) wakeups.soon();
  expect(looks).toBe(0);
  await Promise.resolve();
  expect(looks).toBe(1);
  wakeups.soon();
  await Promise.resolve();
  expect(looks).toBe(2);
});

it('looks at the earliest of the times it was asked for', async () => {
  wakeups.in(500);
  wakeups.in(100);
  wakeups.in(300);
  await vi.advanceTimersByTimeAsync(99);
  expect(looks).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(looks).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

it('takes times that no timer can wait for', () => {
  wakeups.in(Number.MAX_SAFE_INTEGER);
  expect(vi.getTimerCount()).toBe(1);
  wakeups.close();
});

it('looks no more when it is closed', async () => {
  wakeups.soon();
  wakeups.in(10);
  wakeups.close();
  wakeups.soon();
  wakeups.in(10);
  await vi.advanceTimersByTimeAsync(20);
  expect(looks).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

it('rests between looks at a pod that takes long', async () => {
  wakeups = new Wakeups(() => looks++, Date.now, systemTimers, 100);
  wakeups.soon();
  await Promise.resolve();
  expect(looks).toBe(1);
  for (let i = 0; i < 3; i++) wakeups.soon();
  await vi.advanceTimersByTimeAsync(99);
  expect(looks).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(looks).toBe(2);
  await vi.advanceTimersByTimeAsync(200);
  expect(looks).toBe(2);
  wakeups.soon();
  await Promise.resolve();
  expect(looks).toBe(3);
});
