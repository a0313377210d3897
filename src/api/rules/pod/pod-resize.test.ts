// Proves what a resize of a pod may change, and the messages of all refusals.
import { describe, expect, test } from 'vitest';
import type { Container, Pod } from '../../generated/types.ts';
import { pod as kind } from '../../kinds/core/pod.ts';
import { created, stored } from '../../kinds/kind.fixture.ts';

const container = (name: string, cpu?: string, more: Partial<Container> = {}): Container => ({
  name,
  image: 'i:1',
  ...(cpu ? { resources: { requests: { cpu, memory: '64Mi' } } } : {}),
  ...more,
});

const made = (...containers: Container[]): Pod => podOf({ containers });

function podOf(spec: object, metadata: object = {}): Pod {
  return stored(kind, created(kind, { metadata, spec })) as Pod;
}

/** The result of a resize, and its errors. */
function resized(old: Pod, change: (pod: Pod) => void): { pod: Pod; errors: string[] } {
  const pod = structuredClone(old);
  change(pod);
  kind.changes.resize!.restore!(pod, old);
  const errors = kind.changes.resize!.validate!(pod, old).map(({ field, message }) => `${field}: ${message}`);
  return { pod, errors };
}

const resourcesOf = (pod: Pod, i = 0) => pod.spec!.containers![i]!.resources!;

describe('a resize', () => {
  test('changes cpu and memory, and nothing else', () => {
    const { pod, errors } = resized(made(container('a', '1'), container('b', '2')), (pod) => {
      resourcesOf(pod, 1).requests = { cpu: '3', memory: '1Gi' };
      resourcesOf(pod, 1).limits = { memory: '2Gi' };
      pod.spec!.containers![0]!.image = 'other';
      pod.metadata.labels = { a: 'b' };
      pod.spec!.activeDeadlineSeconds = 5;
      pod.status!.phase = 'Failed';
    });
    expect(errors).toEqual([]);
    expect(resourcesOf(pod, 1)).toEqual({
      requests: { cpu: '3', memory: '1Gi' },
      limits: { memory: '2Gi' },
    });
    expect(pod.spec!.containers![0]!.image).toBe('i:1');
    expect(pod.metadata.labels).toBeUndefined();
    expect(pod.spec!.activeDeadlineSeconds).toBeUndefined();
    expect(pod.status!.phase).toBe('Pending');
  });

  const both = (cpu: string) => ({ cpu, memory: '64Mi' });
  test.each<[string, Pod, (pod: Pod) => void, string[]]>([
    [
      'the class of service',
      made(container('a', '1')),
      (pod) => {
        resourcesOf(pod).limits = both('1');
      },
      ['spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing'],
    ],
    [
      'a request that goes',
      made(container('a', '1')),
      (pod) => {
        resourcesOf(pod).requests = { cpu: '1' };
      },
      ['spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed'],
    ],
    [
      'a limit that goes',
      made(container('a', '1', { resources: { requests: both('1'), limits: { cpu: '2' } } })),
      (pod) => {
        resourcesOf(pod).limits = undefined;
      },
      ['spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed'],
    ],
    [
      'more than the limit',
      made(container('a', '1', { resources: { requests: both('1'), limits: { cpu: '2' } } })),
      (pod) => {
        resourcesOf(pod).requests = both('3');
      },
      [
        'spec.containers[0].resources.requests: Invalid value: "3": must be less than or equal to cpu limit of 2',
      ],
    ],
    [
      'another resource',
      made(container('a', '1')),
      (pod) => {
        resourcesOf(pod).requests = { ...both('1'), 'ephemeral-storage': '1Gi' };
      },
      ['spec: Forbidden: only cpu and memory resources are mutable'],
    ],
    [
      'the policy of resizing',
      made(container('a', '1')),
      (pod) => {
        pod.spec!.containers![0]!.resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }];
      },
      ['spec: Forbidden: only cpu and memory resources are mutable'],
    ],
    [
      'a container more',
      made(container('a', '1')),
      (pod) => {
        pod.spec!.containers!.push({ ...pod.spec!.containers![0]!, name: 'b' });
      },
      ['spec.containers: Forbidden: containers may not be added or removed on resize'],
    ],
    [
      'another order',
      made(container('a', '1'), container('b', '1')),
      (pod) => {
        pod.spec!.containers!.reverse();
      },
      [
        'spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize',
        'spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize',
      ],
    ],
    [
      'an init container',
      podOf({ containers: [container('a', '1')], initContainers: [container('i', '1')] }),
      (pod) => {
        pod.spec!.initContainers![0]!.resources = { requests: both('2') };
      },
      ['spec: Forbidden: resources for non-sidecar init containers are immutable'],
    ],
    [
      'a sidecar, which may',
      podOf({
        containers: [container('a', '1')],
        initContainers: [container('i', '1', { restartPolicy: 'Always' })],
      }),
      (pod) => {
        pod.spec!.initContainers![0]!.resources = { requests: both('2') };
      },
      [],
    ],
    [
      'a static pod',
      podOf(
        { nodeName: 'n', containers: [container('a', '1')] },
        { annotations: { 'kubernetes.io/config.mirror': 'x' } },
      ),
      (pod) => {
        resourcesOf(pod).requests = both('2');
      },
      [': Forbidden: static pods cannot be resized'],
    ],
    [
      'a pod with resources of its own',
      podOf({ containers: [container('a', '1')], resources: { requests: both('4') } }),
      (pod) => {
        resourcesOf(pod).requests = both('2');
      },
      [': Forbidden: pods with pod-level resources cannot be resized'],
    ],
  ])('and %s', (_what, old, change, errors) => {
    expect(resized(old, change).errors).toEqual(errors);
  });

  test('is not for a node that does not tell what its containers have', () => {
    const old = made(container('a', '1'));
    const running = {
      name: 'a',
      state: { running: {} },
      imageID: '',
      image: 'i:1',
      ready: true,
      restartCount: 0,
    };
    old.status!.containerStatuses = [running];
    const change = (pod: Pod) => {
      resourcesOf(pod).requests = both('2');
    };
    expect(resized(old, change).errors).toEqual([
      'spec: Forbidden: Pod running on node without support for resize',
    ]);
    old.status!.containerStatuses = [{ ...running, resources: { requests: both('1') } }];
    expect(resized(old, change).errors).toEqual([]);
  });
});
