/** Proves that an owner of many pods is not counted for each change of one of them, and that lost pods are replaced at once. */
import { expect, it, vi } from 'vitest';
import type { Pod, ReplicaSet } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { harness, useHarness } from '../shared/harness.fixture.ts';

const many = 1_000;

useHarness();

async function seedSet(): Promise<void> {
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i:1' }] } };
  const { uid } = await harness.seed('apps/v1', 'replicasets', 'default', {
    metadata: { name: 'web', generation: 1 },
    spec: { replicas: many, selector: { matchLabels: labels }, template },
  });
  const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid, controller: true };
  for (let i = 0; i < many; i++)
    await harness.seed('v1', 'pods', 'default', {
      metadata: { name: `web-${i}`, labels, ownerReferences: [controller] },
      spec: template.spec,
    });
}

const makeReady = (name: string) =>
  modify(
    harness.writing,
    asTester('update'),
    targetOf(harness.all('core/pods').find((entry) => entry.name === name)!, 'status'),
    (current) => {
      const pod = current.object() as Pod;
      pod.status = { ...pod.status, phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      return pod;
    },
  );

const ready = () => (harness.all('apps/replicasets')[0]!.peek() as ReplicaSet).status?.readyReplicas ?? 0;

it('readiness is counted after a rest, and a pod that is gone is replaced without one', async () => {
  await seedSet();
  const due: (() => void)[] = [];
  vi.spyOn(harness.registry.timers, 'set').mockImplementation((callback) => {
    due.push(callback);
    return { unref: () => undefined };
  });
  harness.start(['replicaset']);
  await expect
    .poll(() => (harness.all('apps/replicasets')[0]!.peek() as ReplicaSet).status?.replicas)
    .toBe(many);
  // The controller's own write of the status waits for a rest, too.
  await expect.poll(() => due.length).toBe(1);
  for (const name of ['web-1', 'web-2', 'web-3']) await makeReady(name);
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect([ready(), due.length]).toEqual([0, 1]);
  due.pop()!();
  await expect.poll(ready).toBe(3);
  const gone = harness.all('core/pods').find(({ name }) => name === 'web-9')!;
  await remove(harness.writing, asTester('delete'), targetOf(gone), { gracePeriodSeconds: 0 });
  await expect.poll(() => harness.all('core/pods').length).toBe(many);
});
