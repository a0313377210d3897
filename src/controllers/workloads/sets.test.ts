/**
 * Proves that the controllers of daemon sets and stateful sets become idle, and that one which takes over with an
 * incomplete view creates nothing twice. What sets do is in test/controllers.
 */
import { expect, it } from 'vitest';
import type { DaemonSet, StatefulSet } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { harness, useHarness } from '../shared/harness.fixture.ts';

const controllers = ['garbagecollector', 'serviceaccount', 'daemonset', 'statefulset'];
const nodes = 40;

useHarness();

async function makeSets(): Promise<void> {
  const { registry, writing } = harness;
  for (let i = 1; i <= nodes; i++) await harness.seed('v1', 'nodes', '', { metadata: { name: `n${i}` } });
  const spec = (app: string) => ({
    selector: { matchLabels: { app } },
    template: { metadata: { labels: { app } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
  });
  const volumeClaimTemplates = [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ];
  const policy = { whenDeleted: 'Delete', whenScaled: 'Delete' };
  for (const [resource, object] of [
    ['daemonsets', { metadata: { name: 'agent' }, spec: spec('agent') }],
    [
      'statefulsets',
      {
        metadata: { name: 'db' },
        spec: {
          replicas: 3,
          podManagementPolicy: 'Parallel',
          persistentVolumeClaimRetentionPolicy: policy,
          volumeClaimTemplates,
          ...spec('db'),
        },
      },
    ],
  ] as const)
    await create(
      writing,
      asTester('create'),
      collectionOf(registry.kinds.resource('apps/v1', resource)!, 'default'),
      structuredClone(object) as never,
    );
}

async function runPods(): Promise<void> {
  const { registry, writing } = harness;
  const kind = registry.kinds.resource('v1', 'pods')!;
  const status = {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }],
  };
  for (const { name } of harness.all('core/pods'))
    await modify(
      writing,
      asTester('update'),
      { kind, namespace: 'default', name, part: 'status' },
      (current) => ({
        ...current.object(),
        status,
      }),
    );
}

it('nothing is written any more once all is as it should be', async () => {
  await makeSets();
  harness.start(controllers);
  await harness.settled();
  expect(harness.all('core/pods').length).toBe(nodes + 3);
  await runPods();
  await harness.settled();
  expect((harness.all('apps/daemonsets')[0]!.object() as DaemonSet).status).toMatchObject({
    desiredNumberScheduled: nodes,
    numberAvailable: nodes,
  });
  expect((harness.all('apps/statefulsets')[0]!.object() as StatefulSet).status).toMatchObject({
    readyReplicas: 3,
    availableReplicas: 3,
  });
  const { revision } = harness.registry.view;
  for (let round = 0; round < 3; round++) {
    await harness.stop();
    harness.start(controllers);
    await harness.settled();
  }
  expect(harness.registry.view.revision).toBe(revision);
});

it('one that takes over makes nothing twice', async () => {
  await makeSets();
  const { neighbour, delay } = await harness.neighbour();
  try {
    delay.hold();
    harness.start(controllers);
    await harness.settled();
    await harness.stop();
    expect([harness.all('core/pods').length, neighbour.all('core/pods').length]).toEqual([nodes + 3, 0]);
    neighbour.start(controllers);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    delay.release();
    await neighbour.settled();
    // Nor was anything created and deleted again.
    expect(neighbour.registry.view.collection('core/pods').endNumber).toBe(nodes + 3);
    expect(neighbour.all('apps/controllerrevisions').length).toBe(2);
    expect(neighbour.all('core/persistentvolumeclaims').length).toBe(3);
  } finally {
    delay.release();
    await neighbour.close();
  }
});
