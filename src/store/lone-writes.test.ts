// Proves which commits the main thread carries out: few and small writes, while the disk is quick.
import { expect, it } from 'vitest';
import { LoneWrites } from './lone-writes.ts';

const small = 2_000;

it('takes few and small writes', () => {
  const lone = new LoneWrites();
  expect(lone.isFor(1, small)).toBe(true);
  expect(lone.isFor(16, small)).toBe(false);
  expect(lone.isFor(1, 1_000_000)).toBe(false);
  expect(lone.isFor(Number.POSITIVE_INFINITY, small)).toBe(false);
});

it('leaves all to the thread when the disk is slow, until it is quick again', () => {
  const lone = new LoneWrites();
  for (let i = 0; i < 100; i++) lone.note(0.2);
  expect(lone.isFor(1, small)).toBe(true);
  lone.note(20);
  expect(lone.isFor(1, small)).toBe(false);
  for (let i = 0; i < 50; i++) lone.note(0.2);
  expect(lone.isFor(1, small)).toBe(true);
});
