/** Proves that pods of a controller are counted the same on every node, read from the node or counted on all hosts. */
import { expect, it } from 'vitest';
import type { Node, Pod } from '../../api/generated/types.ts';
import { ClusterFacts } from './cluster-facts.ts';
import { podFacts } from './pod-facts.ts';
import { TopologySpread } from './topology-spread.ts';

const pod = (name: string, owner: string, deletionTimestamp?: string) =>
  podFacts({
    metadata: {
      name,
      namespace: 'default',
      uid: name,
      ownerReferences: [
        { apiVersion: 'v1', kind: 'ReplicationController', name: owner, uid: owner, controller: true },
      ],
      ...(deletionTimestamp ? { deletionTimestamp } : {}),
    },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  } as Pod);

const node = (host?: string): Node =>
  ({
    metadata: { name: 'n', labels: host ? { 'kubernetes.io/hostname': host } : {} },
    status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } },
  }) as unknown as Node;

/** How crowded each node is, counted in both ways. */
function crowds(cluster: ClusterFacts): number[] {
  const next = pod('next', 'a');
  const read = new TopologySpread(next, cluster, { ownerUid: 'a' });
  const counted = new TopologySpread(next, cluster, ({ ownerUid }) => ownerUid === 'a');
  const all = cluster.nodes.map((one) => read.crowd(one));
  expect(all).toEqual(cluster.nodes.map((one) => counted.crowd(one)));
  return all;
}

it('counts pods that stay, of the same controller, by host', () => {
  const cluster = new ClusterFacts();
  for (const name of ['n0', 'n1', 'n2']) cluster.describeNode(name, node());
  cluster.place(pod('p0', 'a'), 'n0');
  cluster.place(pod('p1', 'a'), 'n0');
  cluster.place(pod('p2', 'b'), 'n1');
  cluster.place(pod('p3', 'a', '2026-01-01T00:00:00Z'), 'n2');
  expect(crowds(cluster)).toEqual([2, 0, 0]);
  cluster.place(pod('p4', 'a'), 'n1');
  cluster.displace('p0');
  expect(crowds(cluster)).toEqual([1, 1, 0]);
  // Now two nodes say that they are on the same host, then no more, and then one has the name of another.
  cluster.describeNode('n1', node('h'));
  cluster.describeNode('n2', node('h'));
  expect(crowds(cluster)).toEqual([1, 1, 1]);
  cluster.describeNode('n2', node());
  expect(crowds(cluster)).toEqual([1, 1, 0]);
  cluster.describeNode('n2', node('n0'));
  expect(crowds(cluster)).toEqual([1, 1, 1]);
  cluster.describeNode('n0', undefined);
  expect(crowds(cluster)).toEqual([1, 0]);
});
