/** Proves that expired events are deleted, also when the store fails at first, and that fresh ones stay. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Harness } from './shared/harness.fixture.ts';

const hourMs = 3_600_000;
let harness: Harness;
let aheadMs: number;
beforeEach(async () => {
  aheadMs = 0;
  harness = await Harness.open(['default'], { nowMs: () => Date.now() + aheadMs });
});
afterEach(() => harness.close());

const plant = (name: string) => harness.seed('v1', 'events', 'default', { metadata: { name } });
const names = (): string[] => harness.all('core/events').map(({ name }) => name);

it('ends those that are an hour old', async () => {
  await plant('old');
  aheadMs = hourMs / 2;
  await plant('fresh');
  aheadMs = hourMs;
  harness.start(['event-expiry']);
  await vi.waitUntil(() => names().length === 1, { timeout: 60_000 });
  await harness.settled();
  expect(names()).toEqual(['fresh']);
  expect(harness.errors).toEqual([]);
});

it('tries again when the store has failed', async () => {
  await plant('first');
  await plant('second');
  aheadMs = hourMs;
  vi.spyOn(harness.registry.store, 'write').mockRejectedValueOnce(new Error('the disk is full'));
  harness.start(['event-expiry']);
  await vi.waitUntil(() => names().length === 0, { timeout: 60_000 });
  await harness.settled();
  expect(harness.errors.map(({ message }) => message)).toEqual(['the disk is full']);
});
