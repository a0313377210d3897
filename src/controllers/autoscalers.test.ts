/** Proves that an autoscaler reads pods once for all of its metrics, of which it may have tens of thousands. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { turnsDuring } from '../../test/support/turns.ts';
import type { HorizontalPodAutoscalerV2 } from '../api/generated/types.ts';
import { Entry } from '../registry/view/entry.ts';
import { Harness } from './shared/harness.fixture.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.open();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await harness.close();
  expect(harness.errors).toEqual([]);
});

const podCount = 20;
const metricCount = 2_000;

it('reads pods once, and lets others in between metrics', async () => {
  const names = Array.from({ length: podCount }, (_, at) => `pod-${at}`);
  harness.podUsage = async () => new Map(names.map((name) => [name, { milliCpu: 50, memoryBytes: 1 }]));
  const spec = { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '100m' } } }] };
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  for (const name of names)
    await harness.seed('v1', 'pods', 'default', { metadata: { name, labels: { a: 'b' } }, spec, status });
  await harness.seed('v1', 'replicationcontrollers', 'default', {
    metadata: { name: 'web' },
    spec: { replicas: podCount, selector: { a: 'b' } },
  });
  const target = { type: 'Utilization', averageUtilization: 50 };
  await harness.seed('autoscaling/v2', 'horizontalpodautoscalers', 'default', {
    metadata: { name: 'web' },
    spec: {
      scaleTargetRef: { kind: 'ReplicationController', name: 'web' },
      minReplicas: podCount,
      maxReplicas: podCount,
      metrics: Array.from({ length: metricCount }, () => ({
        type: 'Resource',
        resource: { name: 'cpu', target },
      })),
    },
  });
  const parse = vi.spyOn(Entry.prototype, 'object');
  const found = (): HorizontalPodAutoscalerV2 =>
    harness.all('autoscaling/horizontalpodautoscalers')[0]!.peek() as HorizontalPodAutoscalerV2;
  const { turns } = await turnsDuring(async () => {
    harness.start(['autoscaler']);
    while (!found().status?.currentMetrics) await new Promise((resolve) => setImmediate(resolve));
  });
  const parsed = parse.mock.contexts.filter((entry) => (entry as Entry).kind.resource === 'pods').length;
  expect(parsed).toBeLessThan(5 * podCount);
  expect(turns).toBeGreaterThan(5);
  expect(found().status).toMatchObject({ currentReplicas: podCount, desiredReplicas: podCount });
  expect(found().status?.currentMetrics).toHaveLength(metricCount);
});
