/** Proves that invalid limits are refused, and that valid ones are enforced and counted. */
import { describe, expect, it } from 'vitest';
import { defaultLimits, LimitKeeper, limitForms, limitNames, limitsProblem } from './limits.ts';

describe('limits', () => {
  it.each([
    [{ bodyBytesMax: 0 }, /bodyBytesMax must be a whole number from 1/],
    [{ watchersMax: -1 }, /watchersMax/],
    [{ requestTimeoutMs: 1.5 }, /requestTimeoutMs/],
    [{ requestTimeoutMs: 2 ** 31 }, /to 2147483647, not 2147483648/],
    [{ readsInFlightMax: Number.NaN }, /readsInFlightMax/],
    [{ headerBytesMax: 100 }, /headerBytesMax must be a whole number from 1024/],
    [{ headerBytesMax: 2 ** 40 }, /headerBytesMax/],
    [{ bodyBytesMax: '3' as unknown as number }, /bodyBytesMax/],
    [{ nonsense: 1 } as object, /there is no limit "nonsense"/],
    [{ __proto__: null, constructor: 1 } as object, /there is no limit "constructor"/],
  ])('%j are refused', (limits, says) => {
    expect(limitsProblem(limits)).toMatch(says);
  });

  it('that are all right are taken, and the others are as by default', () => {
    // Proves that a missing limit and an undefined one are the same.
    const given = { watchersMax: 3, bytesWarned: 2 ** 40, bodyBytesMax: undefined };
    expect(limitsProblem(given)).toBeUndefined();
    const { limits } = new LimitKeeper(given);
    expect(limits).toEqual({ ...defaultLimits, watchersMax: 3, bytesWarned: 2 ** 40 });
  });

  it('have options and defaults, each its own', () => {
    // Proves that names are unique; they are also the names in metrics.
    expect(new Set(limitNames.map((name) => limitForms[name].option)).size).toBe(limitNames.length);
    expect(limitsProblem(defaultLimits)).toBeUndefined();
  });

  it('are counted one by one', () => {
    const keeper = new LimitKeeper();
    keeper.reached('watchersMax');
    keeper.reached('watchersMax');
    expect(keeper.timesReached('watchersMax')).toBe(2);
    expect(keeper.timesReached('bodyBytesMax')).toBe(0);
  });
});
