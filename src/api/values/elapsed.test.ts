/** Proves that elapsed times are shown as at the time of asking, with the text around them. */
import { expect, test } from 'vitest';
import { elapsed, shownCell } from './elapsed.ts';
import { timeToMs } from './time.ts';

const ageText = (timestamp: string | undefined | null, nowMs: number) => shownCell(elapsed(timestamp), nowMs);

test('age of a timestamp', () => {
  const now = timeToMs('2020-01-01T00:10:00Z');
  expect(ageText('2020-01-01T00:05:30Z', now)).toBe('4m30s');
  expect(ageText('2020-01-01T00:09:58.500000Z', now)).toBe('1s');
  expect(ageText('2020-01-01T00:20:00Z', now)).toBe('<invalid>');
  expect(ageText(undefined, now)).toBe('<unknown>');
  expect(ageText(null, now)).toBe('<unknown>');
  expect(ageText('', now)).toBe('<unknown>');
  expect(ageText('0001-01-01T00:00:00Z', now)).toBe('<unknown>');
  expect(ageText('0001-01-01T00:00:00.000000Z', now)).toBe('<unknown>');
  expect(ageText('nonsense', now)).toBe('<unknown>');
});

test('text around it, at any time', () => {
  const cell = elapsed('2020-01-01T00:00:00Z', '3 (', ' ago)');
  expect(shownCell(cell, timeToMs('2020-01-01T00:00:09Z'))).toBe('3 (9s ago)');
  expect(shownCell(cell, timeToMs('2020-01-02T00:00:00Z'))).toBe('3 (24h ago)');
  expect(shownCell(elapsed(null, '3 (', ' ago)'), 0)).toBe('3 (<unknown> ago)');
  expect([shownCell(7, 0), shownCell(null, 0), shownCell('a', 0)]).toEqual([7, null, 'a']);
});
