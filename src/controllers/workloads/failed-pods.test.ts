/** Proves that pods which fail again and again, such as those that a node refuses, are replaced ever more seldom. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { Harness } from '../shared/harness.fixture.ts';

let harness: Harness;
let nowMs = Date.now();

beforeEach(async () => {
  harness = await Harness.open(['default'], { nowMs: () => nowMs });
});
afterEach(async () => {
  await harness.close();
  expect(harness.errors).toEqual([]);
});

async function make(apiVersion: string, resource: string): Promise<void> {
  const { registry, writing } = harness;
  const app = 'web';
  await create(
    writing,
    asTester('create'),
    collectionOf(registry.kinds.resource(apiVersion, resource)!, 'default'),
    {
      metadata: { name: app },
      spec: {
        replicas: 1,
        selector: apiVersion === 'v1' ? { app } : { matchLabels: { app } },
        template: { metadata: { labels: { app } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
      },
    } as never,
  );
}

/** Pods that were made so far. */
const made = new Set<string>();

async function failAll(): Promise<void> {
  const { writing } = harness;
  for (const entry of harness.all('core/pods'))
    await modify(writing, asTester('update'), targetOf(entry, 'status'), (current) => {
      const pod = current.object() as Pod;
      pod.status = { ...pod.status, phase: 'Failed', reason: 'OutOfcpu' };
      return pod;
    });
}

async function count(wanted: number): Promise<void> {
  await expect
    .poll(() => {
      for (const { uid } of harness.all('core/pods')) made.add(uid);
      return made.size;
    })
    .toBe(wanted);
}

async function restful(): Promise<void> {
  for (let turn = 0; turn < 1_000; turn++) await new Promise((resolve) => setImmediate(resolve));
}

it.each([
  ['v1', 'replicationcontrollers', 'replicationcontroller'],
  ['apps/v1', 'replicasets', 'replicaset'],
  ['apps/v1', 'statefulsets', 'statefulset'],
])('%s %s', async (apiVersion, resource, controller) => {
  made.clear();
  harness.start([controller]);
  await make(apiVersion, resource);
  await count(1);
  // The first that fails is replaced at once.
  await failAll();
  await count(2);
  await failAll();
  await restful();
  await count(2);
  nowMs += 1_000;
  await count(3);
  await failAll();
  nowMs += 1_000;
  await restful();
  await count(3);
  nowMs += 1_000;
  await count(4);
});
