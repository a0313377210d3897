/** Proves that the rules of placed pods, which may be very long, are read once, and not for every pod that is scheduled. */
import { expect, it } from 'vitest';
import type { Node, Pod, PodAffinityTerm } from '../../api/generated/types.ts';
import { optimized } from '../../switches.ts';
import { ClusterFacts } from './cluster-facts.ts';
import { PodAffinity } from './pod-affinity.ts';
import { podFacts } from './pod-facts.ts';

const podIn = (namespace: string, name: string, labels: Record<string, string>, term?: PodAffinityTerm) =>
  podFacts({
    metadata: { name, namespace, uid: `${namespace}/${name}`, labels },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term ? [term] : [] } },
    },
  } as Pod);

const topologyKey = 'kubernetes.io/hostname';
const labelsOf = (): Record<string, string> => ({});

function clusterWith(term: PodAffinityTerm): ClusterFacts {
  const cluster = new ClusterFacts();
  const node = { metadata: { name: 'n', labels: { [topologyKey]: 'n' } } } as unknown as Node;
  cluster.describeNode('n', node);
  cluster.place(podIn('default', 'placed', {}, term), 'n');
  return cluster;
}

it.runIf(optimized)('a term is read once for many pods', () => {
  let readings = 0;
  const cluster = clusterWith({
    topologyKey,
    get labelSelector() {
      readings++;
      return { matchLabels: { a: 'b' } };
    },
  });
  for (let i = 0; i < 10; i++)
    expect(PodAffinity.of(podIn('default', `p${i}`, {}), cluster, labelsOf)).toBeDefined();
  expect(readings).toBe(1);
});

it('a term is about pods in the namespace of its pod, in named ones, or in selected ones', () => {
  const asked = (term: Partial<PodAffinityTerm>, namespace: string): boolean => {
    const cluster = clusterWith({ topologyKey, labelSelector: { matchLabels: { a: 'b' } }, ...term });
    const affinity = PodAffinity.of(podIn(namespace, 'p', { a: 'b' }), cluster, (name) => ({ name }));
    return affinity!.failure(cluster.nodes[0]!) !== undefined;
  };
  expect(asked({}, 'default')).toBe(true);
  expect(asked({}, 'other')).toBe(false);
  expect(asked({ namespaces: ['other'] }, 'default')).toBe(false);
  expect(asked({ namespaces: ['other'] }, 'other')).toBe(true);
  expect(asked({ namespaceSelector: { matchLabels: { name: 'other' } } }, 'other')).toBe(true);
  expect(asked({ namespaceSelector: { matchLabels: { name: 'other' } } }, 'default')).toBe(false);
});
