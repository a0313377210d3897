/**
 * Proves that values are computed once per object, and once for a repeated key, and each time without optimisations.
 */
import { afterEach, expect, it, vi } from 'vitest';
import { optimized } from './switches.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

it.each([
  ['0', 1],
  ['1', 2],
])('with WHERRY_PLAIN=%s a value is worked out %i times for the same object', async (plain, times) => {
  vi.stubEnv('WHERRY_PLAIN', plain);
  vi.resetModules();
  const { Memo } = await import('./memo.ts');
  const workOut = vi.fn(({ name }: { name?: string }) => name);
  const memo = new Memo(workOut);
  const [one, other, nothing] = [{ name: 'one' }, { name: 'other' }, {}];
  for (let i = 0; i < 2; i++)
    expect([memo.of(one), memo.of(other), memo.of(nothing)]).toEqual(['one', 'other', undefined]);
  expect(workOut).toHaveBeenCalledTimes(3 * times);
});

it('remembers the last key alone', async () => {
  const { LastMemo } = await import('./memo.ts');
  const workOut = vi.fn((key: number) => `<${key}>`);
  const memo = new LastMemo(workOut);
  expect([1, 1, 2, 2, 1].map((key) => memo.of(key))).toEqual(['<1>', '<1>', '<2>', '<2>', '<1>']);
  expect(workOut).toHaveBeenCalledTimes(optimized ? 3 : 5);
});
