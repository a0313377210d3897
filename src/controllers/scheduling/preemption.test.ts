/** Proves which pods have to leave for one of higher priority, which events they get, and that their place is kept for it. */
import { describe, expect, it } from 'vitest';
import type { Event, Pod, PodSpec, PodStatus } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { harness, useHarness } from '../shared/harness.fixture.ts';

useHarness();

const foo = 'example.com/foo';

const makeNode = (name: string, amount = 4) => {
  const allocatable = { pods: '110', cpu: '8', memory: '8Gi', [foo]: String(amount) };
  return harness.seed('v1', 'nodes', '', {
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    status: { capacity: allocatable, allocatable },
  });
};

interface Wanted {
  readonly amount?: number;
  readonly priority?: number;
  readonly node?: string;
  readonly started?: string;
  readonly spec?: PodSpec;
  readonly labels?: Record<string, string>;
}

const makePod = (
  name: string,
  { amount = 1, priority = 0, node, started, spec = {}, labels }: Wanted = {},
) => {
  const startTime = started && `2026-01-01T00:00:0${started}Z`;
  return harness.seed('v1', 'pods', 'default', {
    metadata: { name, labels, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      priority,
      schedulerName: 'default-scheduler',
      ...(node ? { nodeName: node } : {}),
      containers: [{ name: 'c', image: 'i', resources: { requests: { [foo]: String(amount) } } }],
      ...spec,
    },
    status: { phase: node ? 'Running' : 'Pending', ...(startTime ? { startTime } : {}) },
  });
};

const podOf = (name: string): Pod | undefined =>
  harness.registry.view.collection('core/pods').get('default', name)?.object() as Pod | undefined;
const statusOf = (name: string): PodStatus => podOf(name)?.status ?? {};
const conditionOf = (name: string, type: string) =>
  statusOf(name).conditions?.find((condition) => condition.type === type);

/** The pods that are being deleted. */
const leaving = (): string[] =>
  harness
    .all('core/pods')
    .filter((entry) => entry.peek().metadata.deletionTimestamp)
    .map(({ name }) => name)
    .sort();

const end = (name: string) =>
  remove(
    harness.writing,
    asTester('delete'),
    targetOf(harness.registry.view.collection('core/pods').get('default', name)!),
    { gracePeriodSeconds: 0 },
  );

async function waits(name: string): Promise<void> {
  await expect.poll(() => conditionOf(name, 'PodScheduled')?.status).toBe('False');
  await harness.settled();
}

describe('a pod of higher priority', () => {
  it('takes the place of a lower one, which is told why', async () => {
    await makeNode('n1');
    await makePod('low', { amount: 3, node: 'n1', priority: 1 });
    await makePod('medium', { node: 'n1', priority: 100 });
    harness.start(['scheduler']);
    const { uid } = await makePod('high', { amount: 3, priority: 1000 });
    await waits('high');
    expect(leaving()).toEqual(['low']);
    expect(conditionOf('low', 'DisruptionTarget')).toMatchObject({
      status: 'True',
      reason: 'PreemptionByScheduler',
      message: 'default-scheduler: preempting to accommodate a higher priority pod',
    });
    expect(statusOf('high').nominatedNodeName).toBe('n1');
    expect(conditionOf('high', 'PodScheduled')).toMatchObject({
      reason: 'Unschedulable',
      message: `0/1 nodes are available: 1 Insufficient ${foo}.`,
    });
    const told = harness.all('core/events').map((entry) => entry.object() as unknown as Event);
    expect(told).toContainEqual(
      expect.objectContaining({
        type: 'Normal',
        reason: 'Preempted',
        action: 'Preempting',
        message: `Preempted by pod ${uid} on node n1`,
        involvedObject: expect.objectContaining({ name: 'low' }),
      }),
    );
    await end('low');
    await expect.poll(() => podOf('high')?.spec?.nodeName).toBe('n1');
    expect(statusOf('high').nominatedNodeName).toBeUndefined();
  });

  it('keeps the place that it waits for from lower ones', async () => {
    await makeNode('n1', 2);
    await makePod('low', { amount: 2, node: 'n1' });
    harness.start(['scheduler']);
    await makePod('high', { amount: 2, priority: 10 });
    await waits('high');
    expect(leaving()).toEqual(['low']);
    await makeNode('n2', 0);
    await makePod('late', { amount: 1, priority: 5 });
    await waits('late');
    await end('low');
    await expect.poll(() => podOf('high')?.spec?.nodeName).toBe('n1');
    expect(podOf('late')?.spec?.nodeName).toBeUndefined();
  });

  it('does not preempt more while those it has preempted are leaving', async () => {
    await makeNode('n1', 2);
    await makePod('a', { node: 'n1', started: '1' });
    await makePod('b', { node: 'n1', started: '2' });
    harness.start(['scheduler']);
    await makePod('high', { priority: 10 });
    await waits('high');
    expect(leaving()).toEqual(['b']);
    // A change of the cluster lets the scheduler try again.
    await makeNode('n2', 0);
    await expect
      .poll(() => conditionOf('high', 'PodScheduled')?.message)
      .toMatch(/preemption: not eligible due to a terminating pod on the nominated node\.$/);
    expect(leaving()).toEqual(['b']);
    expect(statusOf('high').nominatedNodeName).toBe('n1');
  });

  it('with preemptionPolicy Never waits', async () => {
    await makeNode('n1', 1);
    await makePod('low', { node: 'n1' });
    harness.start(['scheduler']);
    await makePod('meek', { priority: 10, spec: { preemptionPolicy: 'Never' } });
    await waits('meek');
    expect(conditionOf('meek', 'PodScheduled')?.message).toBe(
      `0/1 nodes are available: 1 Insufficient ${foo}. preemption: not eligible due to preemptionPolicy=Never.`,
    );
    expect(leaving()).toEqual([]);
  });

  it('preempts nothing where that would not help, or priorities are the same', async () => {
    await makeNode('n1', 1);
    await makePod('low', { node: 'n1' });
    harness.start(['scheduler']);
    await makePod('equal');
    await makePod('huge', { amount: 2, priority: 10 });
    await makePod('elsewhere', { priority: 10, spec: { nodeSelector: { a: 'b' } } });
    for (const name of ['equal', 'huge', 'elsewhere']) await waits(name);
    expect(leaving()).toEqual([]);
    expect(conditionOf('huge', 'PodScheduled')?.message).toBe(
      `0/1 nodes are available: 1 Insufficient ${foo}. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.`,
    );
    expect(statusOf('huge').nominatedNodeName).toBeUndefined();
  });

  it('gets a host port, or the distance that anti-affinity wants', async () => {
    await makeNode('n1');
    const port = { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80, hostPort: 80 }] }] };
    const term = { labelSelector: { matchLabels: { app: 'x' } }, topologyKey: 'kubernetes.io/hostname' };
    const apart = {
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    };
    await makePod('web', { node: 'n1', spec: port });
    await makePod('near', { node: 'n1', labels: { app: 'x' } });
    harness.start(['scheduler']);
    await makePod('port', { priority: 10, spec: port });
    await waits('port');
    expect(leaving()).toEqual(['web']);
    await makePod('apart', { priority: 10, spec: apart });
    await waits('apart');
    expect(leaving()).toEqual(['near', 'web']);
  });
});

describe('of several nodes, the one is taken where', () => {
  const victimsOf = async (): Promise<string[]> => {
    harness.start(['scheduler']);
    await makePod('high', { amount: 4, priority: 1000 });
    await waits('high');
    return leaving();
  };

  it('no disruption budget is violated', async () => {
    await makeNode('n1');
    await makeNode('n2');
    await makePod('guarded', { node: 'n1', priority: 1, labels: { app: 'db' } });
    await makePod('free', { node: 'n2', priority: 2 });
    await harness.seed('policy/v1', 'poddisruptionbudgets', 'default', {
      metadata: { name: 'db' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'db' } } },
      status: { disruptionsAllowed: 0 },
    });
    expect(await victimsOf()).toEqual(['free']);
  });

  it('the highest priority of the victims is the lowest', async () => {
    await makeNode('n1');
    await makeNode('n2');
    await makePod('a', { node: 'n1', priority: 5 });
    for (const name of ['b', 'c']) await makePod(name, { node: 'n2', amount: 2, priority: 4 });
    expect(await victimsOf()).toEqual(['b', 'c']);
  });

  it('fewer go', async () => {
    await makeNode('n1');
    await makeNode('n2');
    for (const name of ['a', 'b']) await makePod(name, { node: 'n1', amount: 2, priority: 4 });
    await makePod('c', { node: 'n2', priority: 4 });
    expect(await victimsOf()).toEqual(['c']);
  });

  it('the victims have run for the shortest time', async () => {
    await makeNode('n1');
    await makeNode('n2');
    await makePod('old', { node: 'n1', priority: 4, started: '1' });
    await makePod('young', { node: 'n2', priority: 4, started: '5' });
    expect(await victimsOf()).toEqual(['young']);
  });

  it('on a node, the least important go, and guarded ones last', async () => {
    await makeNode('n1');
    await makePod('first', { node: 'n1', amount: 2, priority: 1, started: '1' });
    await makePod('second', { node: 'n1', amount: 2, priority: 1, started: '2', labels: { app: 'db' } });
    await harness.seed('policy/v1', 'poddisruptionbudgets', 'default', {
      metadata: { name: 'db' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'db' } } },
      status: { disruptionsAllowed: 0 },
    });
    harness.start(['scheduler']);
    await makePod('high', { amount: 2, priority: 10 });
    await waits('high');
    expect(leaving()).toEqual(['first']);
  });
});
