/** Proves that work that takes long rests before it is repeated, and that the last change is not lost. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PacedWork } from './paced-work.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('repeats at once what is short, and once after a rest what is long', () => {
  const paced = new PacedWork();
  const done: string[] = [];
  const taking = (key: string, ms: number) => () => {
    done.push(key);
    vi.setSystemTime(Date.now() + ms);
    vi.advanceTimersByTime(ms);
  };
  for (let i = 0; i < 3; i++) paced.run('short', taking('short', 1));
  expect(done.splice(0)).toEqual(['short', 'short', 'short']);
  for (let i = 0; i < 100; i++) paced.run('long', taking('long', 10));
  expect(done).toEqual(['long']);
  paced.run('short', taking('short', 0));
  vi.advanceTimersByTime(199);
  expect(done).toEqual(['long', 'short']);
  vi.advanceTimersByTime(1);
  expect(done).toEqual(['long', 'short', 'long']);
  vi.advanceTimersByTime(1_000);
  expect(done).toEqual(['long', 'short', 'long']);
});
