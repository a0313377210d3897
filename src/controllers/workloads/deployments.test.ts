/** Proves that rollouts become idle, resume without a write, and are not done twice by two servers. */
import { describe, expect, it } from 'vitest';
import type { Deployment, Pod, ReplicaSet } from '../../api/generated/types.ts';
import type { ResourceId } from '../../api/kind/kind.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { harness, useHarness } from '../shared/harness.fixture.ts';

const workload = ['garbagecollector', 'serviceaccount', 'replicaset', 'deployment'];

useHarness();

const template = (image: string) => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image }] },
});

async function make(replicas: number, name = 'web'): Promise<void> {
  const { registry, writing } = harness;
  const kind = registry.kinds.resource('apps/v1', 'deployments')!;
  const selector = { matchLabels: { app: 'web' } };
  const deployment = { metadata: { name }, spec: { replicas, selector, template: template('i:1') } };
  await create(writing, asTester('create'), collectionOf(kind, 'default'), deployment);
}

async function useImage(image: string): Promise<void> {
  const { registry, writing } = harness;
  const kind = registry.kinds.resource('apps/v1', 'deployments')!;
  await modify(
    writing,
    asTester('update'),
    { kind, namespace: 'default', name: 'web', part: 'main' },
    (current) => {
      const deployment = current.object() as Deployment;
      deployment.spec!.template!.spec!.containers![0]!.image = image;
      return deployment;
    },
  );
}

const objects = <T>(id: ResourceId, of = harness): T[] => of.all(id).map((entry) => entry.object() as T);

/** Sets every pod to running; returns how many were not. */
async function runPods(): Promise<number> {
  const { registry, writing } = harness;
  const kind = registry.kinds.resource('v1', 'pods')!;
  const waiting = objects<Pod>('core/pods').filter(({ status }) => status?.phase !== 'Running');
  for (const { metadata } of waiting)
    await modify(
      writing,
      asTester('update'),
      { kind, namespace: 'default', name: metadata.name!, part: 'status' },
      (current) => ({
        ...current.object(),
        status: {
          phase: 'Running',
          conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }],
        },
      }),
    );
  return waiting.length;
}

async function rolledOut(): Promise<void> {
  do await harness.settled();
  while (await runPods());
}

const sizes = (of = harness): number[] =>
  objects<ReplicaSet>('apps/replicasets', of)
    .map(({ spec }) => spec?.replicas ?? 0)
    .sort((a, b) => a - b);

describe('a rollout', () => {
  it('comes to rest, and stays there when all controllers begin anew', async () => {
    harness.start(workload);
    await make(5);
    await rolledOut();
    await useImage('i:2');
    await rolledOut();
    expect(sizes()).toEqual([0, 5]);
    const [{ status }] = objects<Deployment>('apps/deployments') as [Deployment];
    expect(status).toMatchObject({ replicas: 5, updatedReplicas: 5, availableReplicas: 5 });
    const { view } = harness.registry;
    const revision = view.revision;
    for (let round = 0; round < 3; round++) {
      await harness.stop();
      harness.start(workload);
      await harness.settled();
    }
    expect(view.revision).toBe(revision);
  });

  it('writes no more often than there is something to say', async () => {
    harness.start(workload);
    await make(4);
    await rolledOut();
    const { view } = harness.registry;
    const writes = () => view.collection('apps/deployments').endNumber;
    const before = writes();
    await useImage('i:2');
    await rolledOut();
    // The template; then at most a status for each step up, down, and for each pod that comes or goes.
    expect(writes() - before).toBeLessThan(30);
    // Sizes and statuses of two sets with four pods each, no more than a few for each pod.
    expect(view.collection('apps/replicasets').endNumber).toBeLessThan(60);
  });

  it('is taken over by another server, which makes nothing twice', async () => {
    await make(3);
    const { neighbour, delay } = await harness.neighbour();
    try {
      delay.hold();
      harness.start(workload);
      await harness.settled();
      await harness.stop();
      expect([sizes(), sizes(neighbour)]).toEqual([[3], []]);
      neighbour.start(workload);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      delay.release();
      await neighbour.settled();
      expect(sizes(neighbour)).toEqual([3]);
      expect(neighbour.all('core/pods').length).toBe(3);
      expect(neighbour.registry.view.collection('core/pods').endNumber).toBe(3);
      expect(objects<Deployment>('apps/deployments', neighbour)[0]!.status?.collisionCount).toBeUndefined();
    } finally {
      delay.release();
      await neighbour.close();
    }
  });
});

it('many deployments in a namespace are each left their own', async () => {
  harness.start(workload);
  // All of them select the same pods: a pod with an owner is not adopted by another.
  for (let i = 0; i < 20; i++) await make(2, `web-${i}`);
  await rolledOut();
  expect(sizes()).toEqual(Array(20).fill(2));
  expect(harness.all('core/pods').length).toBe(40);
});
