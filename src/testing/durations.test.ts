/** Proves that durations of tests are read, days included, and others are refused. */
import { expect, it } from 'vitest';
import { durationMs } from './durations.ts';

it.each([
  ['10m', 600_000],
  ['1h30m', 5_400_000],
  ['2d', 172_800_000],
  ['1d12h', 129_600_000],
  [1500, 1500],
  ['0', 0],
])('reads %s', (text, ms) => {
  expect(durationMs(text)).toBe(ms);
});

it.each(['soon', '-1m', '', '1d and more', '9999999d', -1, Number.NaN, undefined, {}])(
  'refuses %s',
  (text) => {
    expect(() => durationMs(text)).toThrow('is no duration');
  },
);
