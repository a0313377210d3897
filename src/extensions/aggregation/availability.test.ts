/** Proves how often the server of a version is asked before it counts as not available. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { firstAnswer } from './availability.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('asks once when there is an answer', async () => {
  const ask = vi.fn(async () => 'answer');
  expect(await firstAnswer(ask)).toBe('answer');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ask).toHaveBeenCalledTimes(1);
});

it('asks again after a failure, one at a time, and tells of the first', async () => {
  let [open, most, asked] = [0, 0, 0];
  const ask = async (): Promise<never> => {
    most = Math.max(most, ++open);
    await Promise.resolve();
    open--;
    throw new Error(`failure ${++asked}`);
  };
  await expect(firstAnswer(ask)).rejects.toThrow('failure 1');
  expect([asked, most]).toEqual([5, 1]);
});

it('asks beside one that takes long', async () => {
  const ask = vi.fn(() => new Promise<string>(() => undefined));
  ask.mockImplementationOnce(() => new Promise<string>((resolve) => setTimeout(resolve, 500, 'late')));
  const answer = firstAnswer(ask);
  expect(ask).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(450);
  expect(ask).toHaveBeenCalledTimes(3);
  await vi.advanceTimersByTimeAsync(50);
  expect(await answer).toBe('late');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ask).toHaveBeenCalledTimes(3);
});

it('asks five times at most', async () => {
  const fails: (() => void)[] = [];
  const answer = firstAnswer(
    () => new Promise<never>((_, reject) => fails.push(() => reject(new Error('gone')))),
  );
  await vi.advanceTimersByTimeAsync(10_000);
  expect(fails).toHaveLength(5);
  for (const fail of fails) fail();
  await expect(answer).rejects.toThrow('gone');
});
