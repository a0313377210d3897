/** Proves that controllers become idle: once everything is as desired, repeated passes write nothing. */
import { describe, expect, it } from 'vitest';
import type { Endpoints, JobV1, Pod, ReplicationController } from '../../api/generated/types.ts';
import type { ResourceId } from '../../api/kind/kind.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { harness, useHarness } from './harness.fixture.ts';

const workload = ['garbagecollector', 'serviceaccount', 'replicationcontroller', 'job', 'endpoints'];
const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'i:1' }] },
};

useHarness();

async function make(apiVersion: string, resource: string, object: object): Promise<void> {
  const { registry, writing } = harness;
  const kind = registry.kinds.resource(apiVersion, resource)!;
  await create(writing, asTester('create'), collectionOf(kind, 'default'), structuredClone(object) as never);
}

async function setPodStatus(name: string, status: object): Promise<void> {
  const { registry, writing } = harness;
  const kind = registry.kinds.resource('v1', 'pods')!;
  await modify(
    writing,
    asTester('update'),
    { kind, namespace: 'default', name, part: 'status' },
    (current) => ({
      ...current.object(),
      status: { ...(current.object().status as object), ...status },
    }),
  );
}

const objects = <T>(id: ResourceId): T[] => harness.all(id).map((entry) => entry.object() as T);

describe('rest', () => {
  it('is reached, and kept when all controllers begin anew', async () => {
    await make('v1', 'services', {
      metadata: { name: 'web' },
      spec: { clusterIP: 'None', selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
    await make('v1', 'replicationcontrollers', {
      metadata: { name: 'web' },
      spec: { replicas: 5, template },
    });
    const jobTemplate = { spec: { ...template.spec, restartPolicy: 'Never' } };
    await make('batch/v1', 'jobs', { metadata: { name: 'done' }, spec: { template: jobTemplate } });
    await make('batch/v1', 'jobs', {
      metadata: { name: 'busy' },
      spec: { parallelism: 3, completions: 3, template: jobTemplate },
    });
    await make('batch/v1', 'jobs', {
      metadata: { name: 'indexed' },
      spec: { completionMode: 'Indexed', parallelism: 2, completions: 2, template: jobTemplate },
    });
    await make('batch/v1', 'jobs', {
      metadata: { name: 'suspended' },
      spec: { suspend: true, template: jobTemplate },
    });
    harness.start(workload);
    await harness.settled();
    for (const [i, { metadata }] of objects<Pod>('core/pods').entries()) {
      const over = metadata.labels?.['job-name'] === 'done';
      await setPodStatus(metadata.name!, {
        phase: over ? 'Succeeded' : 'Running',
        podIP: `10.1.0.${i + 1}`,
        podIPs: [{ ip: `10.1.0.${i + 1}` }],
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }],
      });
    }
    await harness.settled();
    const jobs = new Map(objects<JobV1>('batch/jobs').map((job) => [job.metadata.name, job.status]));
    expect(jobs.get('done')).toMatchObject({ succeeded: 1, completionTime: expect.any(String) });
    expect(jobs.get('busy')).toMatchObject({ active: 3, ready: 3 });
    expect(objects<ReplicationController>('core/replicationcontrollers')[0]!.status).toMatchObject({
      availableReplicas: 5,
    });
    expect(objects<Endpoints>('core/endpoints')[0]!.subsets?.[0]?.addresses).toHaveLength(5);
    const { view } = harness.registry;
    const revision = view.revision;
    for (let round = 0; round < 3; round++) {
      await harness.stop();
      harness.start(workload);
      await harness.settled();
    }
    expect(view.revision).toBe(revision);
  });

  it('is not reached before what has happened is seen to', async () => {
    harness.start(workload);
    await harness.settled();
    await make('v1', 'replicationcontrollers', {
      metadata: { name: 'web' },
      spec: { replicas: 600, template },
    });
    await harness.settled();
    expect(harness.all('core/pods').length).toBe(600);
    const [{ status }] = objects<ReplicationController>('core/replicationcontrollers') as [
      ReplicationController,
    ];
    expect(status).toEqual({ replicas: 600, fullyLabeledReplicas: 600, observedGeneration: 1 });
  });
});

describe('another server', () => {
  it('that takes over, and has not seen everything yet, makes nothing twice', async () => {
    const { neighbour, delay } = await harness.neighbour();
    try {
      await make('v1', 'replicationcontrollers', {
        metadata: { name: 'web' },
        spec: { replicas: 30, template },
      });
      const once = { spec: { ...template.spec, restartPolicy: 'Never' } };
      await make('batch/v1', 'jobs', {
        metadata: { name: 'work' },
        spec: { parallelism: 30, completions: 30, template: once },
      });
      delay.hold();
      harness.start(workload);
      await harness.settled();
      await harness.stop();
      expect([harness.all('core/pods').length, neighbour.all('core/pods').length]).toEqual([60, 0]);
      neighbour.start(workload);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      delay.release();
      await neighbour.settled();
      expect(neighbour.all('core/pods').length).toBe(60);
      // Nor was anything created and deleted again.
      expect(neighbour.registry.view.collection('core/pods').endNumber).toBe(60);
    } finally {
      delay.release();
      await neighbour.close();
    }
  });
});

describe('many pods behind a service', () => {
  const plantPod = (i: number, ready: boolean) =>
    harness.seed('v1', 'pods', 'default', {
      metadata: { name: `p${i}`, labels: { app: 'web' } },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i:1' }] },
      status: {
        phase: 'Running',
        podIPs: [{ ip: `10.2.${i >> 8}.${i & 255}` }],
        conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      },
    });
  const sizes = () => {
    const [{ metadata, subsets = [] }] = objects<Endpoints>('core/endpoints') as [Endpoints];
    return [
      subsets[0]?.addresses?.length,
      subsets[0]?.notReadyAddresses?.length,
      metadata.annotations?.['endpoints.kubernetes.io/over-capacity'],
    ];
  };

  it('are cut off at a thousand, which is said as long as it is so', async () => {
    for (let i = 0; i < 1010; i++) await plantPod(i, i >= 20);
    await harness.seed('v1', 'services', 'default', {
      metadata: { name: 'web' },
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.0.0.9',
        selector: { app: 'web' },
        ports: [{ port: 80, protocol: 'TCP' }],
      },
    });
    harness.start(['endpoints']);
    await harness.settled();
    expect(sizes()).toEqual([990, 10, 'truncated']);
    for (let i = 100; i < 110; i++) await setPodStatus(`p${i}`, { phase: 'Failed' });
    await harness.settled();
    expect(sizes()).toEqual([980, 20, undefined]);
  });

  it('are gathered, so that a burst of changes is few writes', async () => {
    for (let i = 0; i < 200; i++) await plantPod(i, false);
    await harness.seed('v1', 'services', 'default', {
      metadata: { name: 'web' },
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.0.0.9',
        selector: { app: 'web' },
        ports: [{ port: 80, protocol: 'TCP' }],
      },
    });
    harness.start(['endpoints']);
    await harness.settled();
    const { view } = harness.registry;
    const writes = view.collection('core/endpoints').endNumber;
    await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        setPodStatus(`p${i}`, { conditions: [{ type: 'Ready', status: 'True' }] }),
      ),
    );
    await harness.settled();
    expect(sizes()).toEqual([200, undefined, undefined]);
    expect(view.collection('core/endpoints').endNumber - writes).toBeLessThan(20);
  });
});
