/** Proves the back-off of pods that keep failing on a node. */
import { expect, it } from 'vitest';
import { FailureBackoff } from './failure-backoff.ts';

const second = 1_000;
const minute = 60 * second;

it('waits twice as long each time, up to a quarter of an hour, for each node by itself', () => {
  const backoff = new FailureBackoff();
  const waits: number[] = [];
  let nowMs = 0;
  for (let i = 0; i < 12; i++) {
    nowMs += backoff.waitMs('set', 'n1', nowMs);
    backoff.failed('set', 'n1', nowMs);
    waits.push(backoff.waitMs('set', 'n1', nowMs) / second);
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
  expect(backoff.waitMs('set', 'n1', nowMs + 100 * second)).toBe(800 * second);
  expect(backoff.waitMs('set', 'n2', nowMs)).toBe(0);
  expect(backoff.waitMs('other', 'n1', nowMs)).toBe(0);
});

it('forgives after half an hour, and forgets sets that are gone', () => {
  const backoff = new FailureBackoff();
  for (const nowMs of [0, 5 * second, 31 * minute]) backoff.failed('set', 'n1', nowMs);
  expect(backoff.waitMs('set', 'n1', 31 * minute)).toBe(second);
  backoff.forget('set');
  expect(backoff.waitMs('set', 'n1', 31 * minute)).toBe(0);
});
