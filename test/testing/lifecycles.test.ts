/** Proves that lifecycles do to simulated pods and nodes what they say, when the clock says so. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from '../../src/testing/index.ts';

let cluster: TestCluster;
const lifecycles = [
  { pods: 'app=slow', stages: [{ after: 60_000, jitter: 5_000, start: true }] },
  { pods: 'app=crashes', stages: [{ after: 1_000, exit: 3 }], repeat: true },
  {
    pods: 'app=moves,tier in (front)',
    stages: [
      { after: 10_000, labels: { step: 'one' } },
      { after: 10_000, status: { conditions: [{ type: 'example.com/Warm', status: 'True' }] } },
      { after: 10_000, evict: 'the node was low on resource: memory' },
    ],
  },
  { pods: 'app=leaves', namespace: 'default', stages: [{ after: 30_000, delete: true }] },
  { pods: 'app=never', share: 0, stages: [{ delete: true }] },
  {
    nodes: 'pool=flaky',
    stages: [
      { after: 60_000, power: 'off' as const },
      { after: 120_000, power: 'on' as const },
    ],
    repeat: true,
  },
  {
    nodes: 'pool=ill',
    stages: [{ after: 5_000, status: { conditions: [{ type: 'DiskPressure', status: 'True' }] } }],
  },
];

beforeAll(async () => {
  cluster = await testCluster({
    lifecycles,
    nodes: [
      { simulated: 1, name: 'steady' },
      { simulated: 1, name: 'flaky', labels: { pool: 'flaky' }, taints: ['flaky:NoSchedule'] },
      {
        simulated: 1,
        name: 'ill',
        labels: { pool: 'ill' },
        taints: ['ill=yes:NoSchedule'],
        capacity: { cpu: '3', 'example.com/gpu': '2' },
      },
    ],
  });
});
afterAll(() => cluster.close());

const get = async (path: string): Promise<Record<string, any>> =>
  (await (await fetch(cluster.url + path)).json()) as Record<string, any>;
const podNamed = (name: string) => get(`/api/v1/namespaces/default/pods/${name}`);
const readyOf = async (node: string): Promise<string> =>
  (await get(`/api/v1/nodes/${node}`)).status.conditions.find(
    ({ type }: { type: string }) => type === 'Ready',
  ).status;
const pod = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name, ...labels } },
  spec: { containers: [{ name: 'main', image: 'work' }] },
});

describe('lifecycles', () => {
  it('of nodes: labels, taints and capacities are those of their groups', async () => {
    const { metadata, spec, status } = await get('/api/v1/nodes/ill-1');
    expect(metadata.labels).toMatchObject({ pool: 'ill', 'wherry.dev/simulated': 'true' });
    expect(spec.taints).toContainEqual({ key: 'ill', value: 'yes', effect: 'NoSchedule' });
    expect(status.capacity).toMatchObject({ cpu: '3', 'example.com/gpu': '2', memory: '256Gi' });
  });

  it('of pods: slow starts, crash loops, stages one after the other, deletion', async () => {
    cluster.clock.freeze();
    await cluster.apply([
      pod('slow'),
      pod('crashes'),
      pod('moves', { tier: 'front' }),
      pod('leaves'),
      pod('never'),
    ]);
    await cluster.settled({ timeoutMs: 60_000 });
    expect((await podNamed('slow')).status).toMatchObject({
      phase: 'Pending',
      containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }],
    });
    await cluster.clock.advance('15s');
    expect((await podNamed('moves')).metadata.labels.step).toBe('one');
    expect((await podNamed('crashes')).status.containerStatuses[0]).toMatchObject({
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 3 } },
    });
    await cluster.clock.advance('20s');
    const { status } = await podNamed('moves');
    expect(status).toMatchObject({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'the node was low on resource: memory',
    });
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: 'example.com/Warm', status: 'True' }),
    );
    await cluster.waitFor('Pod/leaves', 'deleted', { timeoutMs: 60_000 });
    expect((await podNamed('slow')).status.phase).toBe('Pending');
    await cluster.clock.advance('40s');
    expect((await podNamed('slow')).status.phase).toBe('Running');
    expect((await podNamed('crashes')).status.containerStatuses[0].restartCount).toBeGreaterThan(1);
    expect((await podNamed('never')).status.phase).toBe('Running');
  });

  it('of pods: one that waits to start can be deleted', async () => {
    cluster.clock.freeze();
    await cluster.apply({ ...pod('slow'), metadata: { name: 'patient', labels: { app: 'slow' } } });
    await cluster.settled({ timeoutMs: 60_000 });
    await fetch(`${cluster.url}/api/v1/namespaces/default/pods/patient`, { method: 'DELETE' });
    await cluster.waitFor('Pod/patient', 'deleted', { timeoutMs: 60_000 });
    expect((await podNamed('patient')).code).toBe(404);
  });

  it('of nodes: conditions change, and nodes come and go', async () => {
    cluster.clock.freeze();
    const { conditions } = (await get('/api/v1/nodes/ill-1')).status;
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'DiskPressure', status: 'True' }));
    const seen = new Set<string>();
    for (let i = 0; i < 12; i++) {
      await cluster.clock.advance('30s');
      seen.add(await readyOf('flaky-1'));
    }
    expect([...seen].sort()).toEqual(['True', 'Unknown']);
    expect(await readyOf('steady-1')).toBe('True');
  });
});

describe('lifecycles that are refused', () => {
  it.each([
    [{ stages: [{ start: true }] }, 'lifecycles[0] must be for pods or for nodes'],
    [{ pods: 'a=', nodes: '', stages: [{ start: true }] }, 'must be for pods or for nodes'],
    [{ pods: 'a in (', stages: [{ start: true }] }, 'lifecycles[0].pods must be a label selector'],
    [{ pods: '' }, 'lifecycles[0] needs stages'],
    [{ pods: '', stages: [{}] }, 'lifecycles[0].stages[0] must have one of start, exit'],
    [{ pods: '', stages: [{ start: true, exit: 1 }] }, 'not start and exit'],
    [{ pods: '', stages: [{ power: 'off' }] }, 'lifecycles[0] has a stage of nodes'],
    [{ nodes: '', stages: [{ exit: 1 }] }, 'lifecycles[0] has a stage of pods'],
    [{ pods: '', stages: [{ exit: 1 }], repeat: true }, 'at least 100 ms are needed'],
    [{ pods: '', share: 2, stages: [{ exit: 1 }] }, 'share must be a number from 0 to 1'],
  ])('%j', async (lifecycle, says) => {
    await expect(testCluster({ lifecycles: [lifecycle] as never })).rejects.toThrow(says);
  });
});
