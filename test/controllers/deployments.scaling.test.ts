/** Scaling of deployments on simulated nodes: scaling alone is no rollout, and a rollout continues when scaled. */
import { describe, expect, test } from 'vitest';
import type { Json } from '../support/http.ts';
import {
  api,
  broken,
  change,
  deployed,
  imageOf,
  isAlive,
  isReady,
  messages,
  mirror,
  path,
  revisionOf,
  rolling,
  setsNow,
  template,
  useDeployments,
} from './deployments.fixture.ts';

useDeployments();

describe('scaling', () => {
  test('is no rollout', async () => {
    const events = await mirror('events');
    await deployed(2);
    const [{ metadata: set }] = (await setsNow()) as [Json];
    const scaled = await api.patch(`${path('deployments', 'web')}/scale`, { spec: { replicas: 5 } });
    expect(scaled.status, scaled.text).toBe(200);
    const deployments = await mirror('deployments');
    const done = await deployments.object('web', ({ status }) => status.availableReplicas === 5);
    expect(revisionOf(done)).toBe('1');
    await change({ replicas: 0 });
    await deployments.object('web', ({ status }) => !status.replicas);
    const told = await events.until((all) => messages(all).length === 3);
    expect(messages(told)).toEqual([
      `Scaled up replica set ${set.name} from 0 to 2`,
      `Scaled up replica set ${set.name} from 2 to 5`,
      `Scaled down replica set ${set.name} from 5 to 0`,
    ]);
  });

  test('in the middle of a rollout is shared by old and new pods', async () => {
    await deployed(10, { strategy: rolling(3, 2) });
    const pods = await mirror('pods');
    const sets = await mirror('replicasets');
    await change({ template: template('i:broken', broken) });
    const sizes = (all: Json[]): Record<string, number> =>
      Object.fromEntries(all.map((set) => [imageOf(set), set.spec.replicas]));
    await sets.until((all) => sizes(all)['i:1'] === 8 && sizes(all)['i:broken'] === 5);
    await pods.until((all) => all.filter(isAlive).length === 13);
    await change({ replicas: 15 });
    // 18 instead of 13 pods: 11.08 of the old, 6.9 of the new ones.
    await sets.until((all) => sizes(all)['i:1'] === 11 && sizes(all)['i:broken'] === 7);
    await pods.until((all) => all.filter(isAlive).length === 18);
    await change({ replicas: 5 });
    await sets.until((all) => sizes(all)['i:1']! + sizes(all)['i:broken']! === 8);
    expect(sizes(sets.objects)['i:1']).toBe(5);
  });
});

test('a rollout goes on when it is scaled and no longer rolls at the same time', async () => {
  await deployed(3, { strategy: rolling(1, 0) });
  const pods = await mirror('pods');
  await change({ template: template('i:broken', broken) });
  await pods.until((all) => all.some((pod) => imageOf(pod) === 'i:broken'));
  await change({
    replicas: 2,
    strategy: { type: 'Recreate', rollingUpdate: null },
    template: template('i:2', { readinessGates: null }),
  });
  await pods.until((all) => all.length === 2 && all.every((pod) => imageOf(pod) === 'i:2' && isReady(pod)));
});
