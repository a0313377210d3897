/** Proves what happens to pods when many nodes, or all of them, fall silent. The clock is moved by hand. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from '../../src/testing/index.ts';

const names = ['simulated-1', 'simulated-2', 'simulated-3', 'simulated-4'];
const patient = { timeoutMs: 60_000 };
let cluster: TestCluster;
beforeAll(async () => {
  cluster = await testCluster({ simulatedNodes: names.length });
});
beforeEach(async () => {
  await cluster.reset();
  cluster.clock.freeze();
});
afterAll(() => cluster.close());

const read = async (path: string): Promise<any> => (await fetch(cluster.url + path)).json();
const isUnknown = (node: any): boolean =>
  node?.status.conditions.some((one: any) => one.type === 'Ready' && one.status === 'Unknown');

/** A pod for each node, which leaves a lost node at once. */
async function runPods(): Promise<void> {
  for (const nodeName of names) {
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `on-${nodeName}` },
      spec: {
        nodeName,
        containers: [{ name: 'main', image: 'work' }],
        tolerations: ['not-ready', 'unreachable'].map((key) => ({
          key: `node.kubernetes.io/${key}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 0,
        })),
      },
    });
    await cluster.waitFor(`Pod/on-${nodeName}`, 'Ready', patient);
  }
}

async function silence(...silent: string[]): Promise<void> {
  for (const name of silent) await cluster.faults.dropNode(name);
  await cluster.clock.advance('2m');
  for (const name of silent) await cluster.waitFor(`Node/${name}`, isUnknown, patient);
  await cluster.settled();
}

/** Names of nodes whose pods are evicted: by taint, and by the pods that are going. */
async function evicted(): Promise<{ nodes: string[]; pods: string[] }> {
  const { items: nodes } = await read('/api/v1/nodes');
  const { items: pods } = await read('/api/v1/namespaces/default/pods');
  const going = new Set(names.map((name) => `on-${name}`));
  for (const { metadata } of pods) if (!metadata.deletionTimestamp) going.delete(metadata.name);
  return {
    nodes: nodes
      .filter(({ spec }: any) => spec.taints?.some(({ effect }: any) => effect === 'NoExecute'))
      .map(({ metadata }: any) => metadata.name),
    pods: [...going].map((name) => name.slice('on-'.length)),
  };
}

describe('nodes that fall silent', () => {
  it('keep their pods when all of them do, and get no new ones', async () => {
    await runPods();
    await silence(...names);
    await cluster.clock.advance('3m');
    await cluster.settled();
    expect(await evicted()).toEqual({ nodes: [], pods: [] });
    for (const name of names) {
      const { spec } = await read(`/api/v1/nodes/${name}`);
      expect(spec.taints.map(({ key, effect }: any) => `${key}:${effect}`)).toEqual([
        'node.kubernetes.io/unreachable:NoSchedule',
      ]);
    }
    // One of four is back: that the others are lost is no fault of this server, but there are too many of them.
    await cluster.faults.restartNode(names[0]!);
    await cluster.waitFor(`Node/${names[0]}`, 'Ready', patient);
    await cluster.clock.advance('3m');
    await cluster.settled();
    expect(await evicted()).toEqual({ nodes: [], pods: [] });
    // With two of four, the others are given up one by one.
    await cluster.faults.restartNode(names[1]!);
    await cluster.waitFor(`Node/${names[1]}`, 'Ready', patient);
    await cluster.clock.advance('1s');
    await cluster.settled();
    const first = await evicted();
    expect(first.nodes).toHaveLength(1);
    expect(first.pods).toEqual(first.nodes);
    await cluster.clock.advance('5s');
    await cluster.settled();
    expect(await evicted()).toEqual(first);
    await cluster.clock.advance('6s');
    await cluster.settled();
    expect(await evicted()).toEqual({ nodes: names.slice(2), pods: names.slice(2) });
  });

  it('lose their pods when few do, and keep what is left of them when the others follow', async () => {
    await runPods();
    await silence(names[3]!);
    expect(await evicted()).toEqual({ nodes: [names[3]], pods: [names[3]] });
    await silence(...names.slice(0, 3));
    await cluster.clock.advance('3m');
    await cluster.settled();
    expect(await evicted()).toEqual({ nodes: [], pods: [names[3]] });
  });
});
