/** Proves that tests can wait until a cluster has nothing left to do, or until an object is as they want it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from '../../src/testing/index.ts';

const patient = { timeoutMs: 60_000 };
let cluster: TestCluster;
beforeAll(async () => {
  cluster = await testCluster({ simulatedNodes: 2 });
});
beforeEach(() => cluster.reset());
afterAll(() => cluster.close());

const deployment = (replicas: number, template: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web' }], ...template },
    },
  },
});

describe('settled()', () => {
  it('resolves when a deployment is complete, and its pods run', async () => {
    await cluster.apply(deployment(5));
    await cluster.settled(patient);
    const { status } = (await cluster.waitFor('Deployment/web', 'exists'))!;
    expect(status).toMatchObject({ replicas: 5, readyReplicas: 5, updatedReplicas: 5, availableReplicas: 5 });
  });

  it('resolves when a deletion has been followed to its end', async () => {
    await cluster.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } }]);
    await cluster.apply({ ...deployment(3), metadata: { name: 'web', namespace: 'team' } });
    await cluster.settled(patient);
    await fetch(`${cluster.url}/api/v1/namespaces/team`, { method: 'DELETE' });
    await cluster.settled(patient);
    expect((await fetch(`${cluster.url}/api/v1/namespaces/team`)).status).toBe(404);
  });

  it('resolves when nothing can be done for a pod that fits nowhere', async () => {
    await cluster.apply(deployment(1, { nodeSelector: { disk: 'none' } }));
    await cluster.settled(patient);
    const { status } = (await cluster.waitFor('Deployment/web', 'exists'))!;
    expect(status.unavailableReplicas).toBe(1);
  });

  it('says who is still busy when it takes too long', async () => {
    cluster.faults.add({ kind: 'ReplicaSet', refuseWrites: true });
    await cluster.apply(deployment(1));
    await expect(cluster.settled({ timeoutMs: 500 })).rejects.toThrow(
      /has not settled within 500 ms; still busy: .*the controller deployment/,
    );
    cluster.faults.clear();
    await cluster.settled(patient);
    expect((await cluster.waitFor('Deployment/web', 'exists'))!.status.readyReplicas).toBe(1);
  });
});

describe('waitFor()', () => {
  it('resolves with the first state that fits', async () => {
    const available = cluster.waitFor('Deployment/web', 'Available', patient);
    const three = cluster.waitFor(deployment(0), (found) => found?.status?.readyReplicas === 3, patient);
    await cluster.apply(deployment(3));
    expect((await available)!.metadata.name).toBe('web');
    expect((await three)!.status.readyReplicas).toBe(3);
    const gone = cluster.waitFor('deployments/default/web', 'deleted', patient);
    await fetch(`${cluster.url}/apis/apps/v1/namespaces/default/deployments/web`, { method: 'DELETE' });
    expect(await gone).toBeUndefined();
  });

  it('fails with the last state and the events of the object', async () => {
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'homeless' },
      spec: { nodeSelector: { disk: 'none' }, containers: [{ name: 'main', image: 'work' }] },
    });
    await cluster.settled(patient);
    const error = await cluster
      .waitFor('Pod/homeless', 'Ready', { timeoutMs: 50 })
      .catch((refused: Error) => refused);
    expect((error as Error).message).toMatch(
      /^Pod default\/homeless did not reach "Ready" within 50 ms\.\nIts last state: [\s\S]*phase: 'Pending'[\s\S]*Its events:\n {2}Warning FailedScheduling: 0\/2 nodes are available/,
    );
    await expect(cluster.waitFor('Pod/nobody', 'Ready', { timeoutMs: 10 })).rejects.toThrow(
      'there is no such object',
    );
    await expect(cluster.waitFor('Ship/one', 'exists')).rejects.toThrow('there is no kind "Ship"');
    await expect(cluster.waitFor('Pod', 'exists')).rejects.toThrow('names no object');
  });

  it('fails when the condition throws', async () => {
    const condition = (): boolean => {
      throw new Error('wrong in the test');
    };
    await expect(cluster.waitFor('Pod/nobody', condition)).rejects.toThrow('wrong in the test');
  });
});
