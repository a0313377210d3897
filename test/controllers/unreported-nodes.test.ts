/** Proves that a node that no agent ever reported is marked by `serve` as by `up`, by the clock, and that others stay. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from '../../src/testing/index.ts';

const conditionTypes = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
const createdAt = '2031-05-01T10:00:00Z';

describe.each([
  ['the controllers of wherry serve', ['housekeeping']],
  ['all controllers', ['*']],
])('with %s', (_what, controllers) => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await testCluster({ controllers });
  });
  beforeEach(async () => {
    await cluster.reset();
    cluster.clock.freeze(createdAt);
  });
  afterAll(() => cluster.close());

  const node = async (name: string): Promise<any> =>
    (await fetch(`${cluster.url}/api/v1/nodes/${name}`)).json();
  const taintsOf = ({ spec }: any): string[] =>
    (spec.taints ?? []).map(({ key, effect }: any) => `${key}:${effect}`);
  const make = (name: string, more: object = {}) =>
    cluster.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name }, ...more });

  it('it is marked when the time for its first report is over, not before', async () => {
    await make('bare', { spec: { taints: [{ key: 'mine', value: 'yes', effect: 'NoSchedule' }] } });
    await cluster.clock.advance('59s');
    expect((await node('bare')).status.conditions).toBeUndefined();
    expect(taintsOf(await node('bare'))).toEqual([
      'mine:NoSchedule',
      'node.kubernetes.io/not-ready:NoSchedule',
    ]);
    await cluster.clock.advance('1s');
    const marked = await node('bare');
    expect(marked.status.conditions).toEqual(
      conditionTypes.map((type) => ({
        type,
        status: 'Unknown',
        reason: 'NodeStatusNeverUpdated',
        message: 'Kubelet never posted node status.',
        lastHeartbeatTime: createdAt,
        lastTransitionTime: '2031-05-01T10:01:00Z',
      })),
    );
    expect(taintsOf(marked)).toEqual(['mine:NoSchedule', 'node.kubernetes.io/unreachable:NoSchedule']);
    await cluster.clock.advance('3m');
    expect((await node('bare')).metadata.resourceVersion).toBe(marked.metadata.resourceVersion);
  });

  it('it is freed when it reports after all', async () => {
    await make('late');
    await cluster.clock.advance('2m');
    expect(taintsOf(await node('late'))).toEqual(['node.kubernetes.io/unreachable:NoSchedule']);
    const lastHeartbeatTime = cluster.clock.now.toISOString().replace('.000', '');
    const conditions = conditionTypes.map((type) => ({
      type,
      status: type === 'Ready' ? 'True' : 'False',
      reason: 'Reported',
      lastHeartbeatTime,
    }));
    await fetch(`${cluster.url}/api/v1/nodes/late/status`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
      body: JSON.stringify({ status: { conditions } }),
    });
    await cluster.clock.advance('1s');
    expect(taintsOf(await node('late'))).toEqual([]);
  });
});

it('with the controllers of wherry serve, nodes that were ever reported stay as they are', async () => {
  const cluster = await testCluster({ controllers: ['housekeeping'] });
  try {
    const ready = [{ type: 'Ready', status: 'True' }];
    await cluster.apply([
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'fixed' }, status: { conditions: ready } },
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'leased' } },
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'leased', namespace: 'kube-node-lease' },
        spec: { holderIdentity: 'leased' },
      },
    ]);
    await cluster.clock.advance('3m');
    const nodes = (await (await fetch(`${cluster.url}/api/v1/nodes`)).json()) as { items: any[] };
    expect(nodes.items.map(({ status }) => status.conditions)).toMatchObject([ready, undefined]);
  } finally {
    await cluster.close();
  }
});
