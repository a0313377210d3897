/** Proves on which nodes a daemon set wants a pod, and how the pod is directed to its node. */
import { describe, expect, it } from 'vitest';
import type { Pod, PodSpec, Taint } from '../../api/generated/types.ts';
import type { IndexedPod } from '../shared/indexed-pod.ts';
import { DaemonPlacement, daemonTolerations, targetNode } from './daemon-placement.ts';

const node = (taints: Taint[] = [], labels: Record<string, string> = {}) => ({ name: 'n1', labels, taints });
const on = (spec: PodSpec, taints?: Taint[], labels?: Record<string, string>): string => {
  const { runs, stays } = new DaemonPlacement(spec).on(node(taints, labels));
  return runs ? 'runs' : stays ? 'stays' : 'goes';
};

const ssd: PodSpec = { nodeSelector: { disk: 'ssd' } };
const required = (key: string, operator: string, values?: string[]): PodSpec => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
      },
    },
  },
});
const taint = (key: string, effect: string): Taint => ({ key, effect });
const own = (name: string, effect: string): Taint => taint(`node.kubernetes.io/${name}`, effect);

describe('a node', () => {
  it.each<[string, PodSpec, Taint[], Record<string, string>, string]>([
    ['without anything special', {}, [], {}, 'runs'],
    ['that is named', { nodeName: 'n1' }, [], {}, 'runs'],
    ['that is not the one named', { nodeName: 'n2' }, [], {}, 'goes'],
    ['with the label asked for', ssd, [], { disk: 'ssd' }, 'runs'],
    ['with another value', ssd, [], { disk: 'hdd' }, 'goes'],
    ['that fits the affinity', required('zone', 'In', ['a', 'b']), [], { zone: 'b' }, 'runs'],
    ['that does not', required('zone', 'NotIn', ['a', 'b']), [], { zone: 'b' }, 'goes'],
    ['with a taint', {}, [taint('mine', 'NoSchedule')], {}, 'stays'],
    ['with a taint that drives out', {}, [taint('mine', 'NoExecute')], {}, 'goes'],
    ['with a taint that is a wish', {}, [taint('mine', 'PreferNoSchedule')], {}, 'runs'],
    [
      'with a taint that is tolerated',
      { tolerations: [{ key: 'mine', operator: 'Exists' }] },
      [taint('mine', 'NoExecute')],
      {},
      'runs',
    ],
    [
      'that has fallen silent',
      {},
      [own('unreachable', 'NoExecute'), own('unreachable', 'NoSchedule')],
      {},
      'stays',
    ],
    [
      'that is short of room',
      {},
      [own('disk-pressure', 'NoSchedule'), own('pid-pressure', 'NoSchedule')],
      {},
      'runs',
    ],
    ['that is closed', {}, [own('unschedulable', 'NoSchedule')], {}, 'runs'],
    ['without a network', {}, [own('network-unavailable', 'NoSchedule')], {}, 'stays'],
    [
      'without a network, which is not needed',
      { hostNetwork: true },
      [own('network-unavailable', 'NoSchedule')],
      {},
      'runs',
    ],
  ])('%s', (_, spec, taints, labels, verdict) => {
    expect(on(spec, taints, labels)).toBe(verdict);
  });
});

it('its own tolerations stand behind those of the template, and for ever', () => {
  const mine = { key: 'mine', operator: 'Exists' };
  const hurried = {
    key: 'node.kubernetes.io/not-ready',
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 5,
  };
  const all = daemonTolerations({ tolerations: [hurried, mine] });
  expect(all[0]).toEqual(mine);
  expect(all.filter(({ key }) => key === hurried.key)).toEqual([
    { key: hurried.key, operator: 'Exists', effect: 'NoExecute' },
  ]);
});

describe('a pod', () => {
  it('asks for its node by name, and keeps its other wishes', () => {
    const spec = required('zone', 'Exists');
    const preferred = [{ weight: 1, preference: { matchFields: [] } }];
    spec.affinity!.nodeAffinity!.preferredDuringSchedulingIgnoredDuringExecution = preferred;
    spec.affinity!.podAntiAffinity = {};
    const pod: Pod = { metadata: {}, spec: structuredClone(spec) };
    new DaemonPlacement(spec).aim(pod, 'n7');
    expect(pod.spec!.affinity).toEqual({
      podAntiAffinity: {},
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: preferred,
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n7'] }] }],
        },
      },
    });
    const indexed = (nodeName: string): IndexedPod =>
      ({ nodeName, entry: { peek: () => pod } }) as unknown as IndexedPod;
    expect(targetNode(indexed(''))).toBe('n7');
    expect(targetNode(indexed('n8'))).toBe('n8');
  });

  it('that asks for no node by name is meant for none', () => {
    const pod = { metadata: {}, spec: required('zone', 'Exists') };
    expect(targetNode({ nodeName: '', entry: { peek: () => pod } } as unknown as IndexedPod)).toBeUndefined();
  });
});
