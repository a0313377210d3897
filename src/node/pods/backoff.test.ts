/** Proves that waits double up to a maximum, and are reset after a long enough run without failure. */
import { describe, expect, it } from 'vitest';
import { BackOff, defaultBackOff, goDuration } from './backoff.ts';

describe('a back-off', () => {
  it('is nothing at first, then doubles up to five minutes', () => {
    const backOff = new BackOff(defaultBackOff);
    const waits = Array.from({ length: 8 }, () => {
      const { waitMs } = backOff;
      backOff.grow();
      return waitMs / 1000;
    });
    expect(waits).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
  });

  it('begins anew after ten good minutes, and no sooner', () => {
    const backOff = new BackOff(defaultBackOff);
    backOff.grow();
    backOff.lasted(599_999);
    expect(backOff.waitMs).toBe(10_000);
    backOff.lasted(600_000);
    expect(backOff.waitMs).toBe(0);
  });
});

it.each([
  [20, '20ms'],
  [10_000, '10s'],
  [80_000, '1m20s'],
  [300_000, '5m0s'],
  [3_600_000, '1h0m0s'],
])('%i ms are %s', (ms, text) => {
  expect(goDuration(ms)).toBe(text);
});
