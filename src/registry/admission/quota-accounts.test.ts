/** Proves that a recount, which follows every change in a namespace with a quota, reads each object once, and others let in between. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { turnsDuring } from '../../../test/support/turns.ts';
import type { ResourceQuota } from '../../api/generated/types.ts';
import { Harness } from '../../controllers/shared/harness.fixture.ts';
import { optimized } from '../../switches.ts';
import { Entry } from '../view/entry.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.open();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await harness.close();
  expect(harness.errors).toEqual([]);
});

const seed = (resource: string, name: string, more: object = {}): Promise<Entry> =>
  harness.seed('v1', resource, 'default', { metadata: { name }, ...more });
const recount = (): Promise<void> => harness.context.quotas.recount('default');
const used = (): ResourceQuota['status'] =>
  (harness.all('core/resourcequotas')[0]!.peek() as ResourceQuota).status?.used as never;

function parsings(resource: string): () => number {
  const parse = vi.spyOn(Entry.prototype, 'object');
  return () => parse.mock.contexts.filter((entry) => (entry as Entry).kind.resource === resource).length;
}

const podSpec = { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '100m' } } }] };

it('objects that only count are not read at all', async () => {
  await seed('resourcequotas', 'q', { spec: { hard: { configmaps: '10', 'count/secrets': '5' } } });
  for (let i = 0; i < 3; i++) await seed('configmaps', `c${i}`);
  await seed('secrets', 's');
  const parsed = parsings('configmaps');
  await recount();
  expect(used()).toEqual({ configmaps: '3', 'count/secrets': '1' });
  expect(parsed()).toBe(0);
});

// Plain, nothing that was worked out is kept.
it.runIf(optimized)('pods are read once for many recounts', async () => {
  await seed('resourcequotas', 'q', { spec: { hard: { pods: '10', 'requests.cpu': '1' } } });
  for (let i = 0; i < 3; i++) await seed('pods', `p${i}`, { spec: podSpec });
  const parsed = parsings('pods');
  for (let i = 0; i < 10; i++) {
    for (const pod of harness.all('core/pods')) pod.forget();
    await recount();
  }
  expect(used()).toEqual({ pods: '3', 'requests.cpu': '300m' });
  expect(parsed()).toBe(3);
});

it('many pods are read in several turns of the event loop', async () => {
  await seed('resourcequotas', 'q', { spec: { hard: { pods: '1000' } } });
  const annotations = { long: 'x'.repeat(20_000) };
  for (let i = 0; i < 100; i++)
    await harness.seed('v1', 'pods', 'default', { metadata: { name: `p${i}`, annotations }, spec: podSpec });
  const { turns } = await turnsDuring(recount);
  expect(used()).toEqual({ pods: '100' });
  expect(turns).toBeGreaterThan(20);
});
