// Proves the life of a pod: what create resets, how it is deleted, what it warns of (kinds.md 1.4, 2, 10).
import { describe, expect, test } from 'vitest';
import type { Pod } from '../../generated/types.ts';
import { decodeObject } from '../../model/decode.ts';
import { qosClass } from '../../rules/pod/pod-resources.ts';
import { container, makePod, now, stored } from './pod.fixture.ts';
import { pod } from './pod.ts';

describe('create', () => {
  test('the status is that of a new pod, whatever was sent', () => {
    expect(makePod({}).status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
  });

  test('a gated pod says so', () => {
    expect(makePod({ schedulingGates: [{ name: 'a.b/c' }] }).status!.conditions).toEqual([
      {
        type: 'PodScheduled',
        status: 'False',
        lastTransitionTime: now,
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ]);
  });

  test('a pod may come with its node, and nobody says that it was scheduled', () => {
    const object = makePod({ nodeName: 'n1' });
    expect(pod.validate!(object)).toEqual([]);
    expect(object.status!.conditions).toBeUndefined();
  });

  test('an account that admission chose gets its old name, too', () => {
    const object = decodeObject(pod.model, { metadata: { name: 'x' } }) as unknown as Pod;
    pod.defaults!(object);
    object.spec!.serviceAccountName = 'default';
    pod.prepareForCreate!(object, { now });
    expect(object.spec!.serviceAccount).toBe('default');
  });

  test('modern fields are kept', () => {
    const modern = {
      hostUsers: false,
      setHostnameAsFQDN: true,
      resourceClaims: [{ name: 'r', resourceClaimName: 'c' }],
      hostnameOverride: 'h',
    };
    const object = makePod(modern);
    expect(object.spec).toMatchObject(modern);
    expect(pod.validate!(object)).toEqual([]);
  });
});

describe('qosClass', () => {
  const cpuAndMemory = { cpu: '1', memory: '1Gi' };
  const of = (...resources: object[]) => ({
    containers: resources.map((one, i) => container({ name: `c${i}`, resources: one })),
  });
  test.each([
    ['nothing', of({}), 'BestEffort'],
    ['zeros', of({ requests: { cpu: '0' }, limits: { memory: '0' } }), 'BestEffort'],
    ['other resources', of({ limits: { 'ephemeral-storage': '1Gi' } }), 'BestEffort'],
    ['a request', of({ requests: { cpu: '1' } }), 'Burstable'],
    ['limits of one', of({ limits: { cpu: '1' } }), 'Burstable'],
    ['all limits', of({ limits: cpuAndMemory }), 'Guaranteed'],
    [
      'written differently',
      of({ limits: cpuAndMemory, requests: { cpu: '1000m', memory: '1024Mi' } }),
      'Guaranteed',
    ],
    ['lower requests', of({ limits: cpuAndMemory, requests: { cpu: '500m' } }), 'Burstable'],
    ['one container without', of({ limits: cpuAndMemory }, {}), 'Burstable'],
    [
      'init container without',
      { ...of({ limits: cpuAndMemory }), initContainers: [{ name: 'i', image: 'i' }] },
      'Burstable',
    ],
  ])('%s', (_name, spec, expected) => {
    const object = makePod(spec);
    expect(object.status!.qosClass).toBe(expected);
    expect(qosClass(object.spec!)).toBe(expected);
  });
});

describe('deletion', () => {
  const grace = (spec: object, phase: string, requested?: number) => {
    const object = makePod(spec);
    object.status!.phase = phase;
    return pod.deletion.gracePeriodSeconds!(object, requested);
  };
  test.each([
    ['default', { nodeName: 'n' }, 'Running', undefined, 30],
    ['of the pod', { nodeName: 'n', terminationGracePeriodSeconds: 5 }, 'Running', undefined, 5],
    ['asked for', { nodeName: 'n' }, 'Running', 7, 7],
    ['by force', { nodeName: 'n' }, 'Running', 0, 0],
    ['negative', { nodeName: 'n', terminationGracePeriodSeconds: -1 }, 'Running', undefined, 1],
    ['unscheduled', {}, 'Pending', 7, 0],
    ['succeeded', { nodeName: 'n' }, 'Succeeded', 7, 0],
    ['failed', { nodeName: 'n' }, 'Failed', undefined, 0],
  ] as const)('%s', (_name, spec, phase, requested, seconds) => {
    expect(grace(spec, phase, requested)).toBe(seconds);
  });
});

describe('warnings', () => {
  const warnings = (spec: object, name = 'x') => pod.warnings!(makePod(spec, { name }), undefined);
  test.each([
    [
      'name',
      {},
      'a.b',
      [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
      ],
    ],
    [
      'repeated variable',
      { containers: [container({ env: [{ name: 'a' }, { name: 'a' }, { name: 'a', value: 'x$(a)' }] })] },
      'x',
      ['spec.containers[0].env[1]: hides previous definition of "a", which may be dropped when using apply'],
    ],
    [
      'repeated port',
      { containers: [container({ ports: [{ containerPort: 1 }, { containerPort: 1 }] })] },
      'x',
      ['spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]'],
    ],
    [
      'gitRepo',
      { volumes: [{ name: 'v', gitRepo: { repository: 'r' } }] },
      'x',
      ['spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+'],
    ],
    [
      'old labels of nodes',
      { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } },
      'x',
      ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
    ],
    ['nothing to warn of', { nodeSelector: { 'kubernetes.io/os': 'linux' } }, 'x', []],
  ])('%s', (_name, spec, name, expected) => {
    expect(warnings(spec, name)).toEqual(expected);
  });

  test('a name is only worth a warning while it can be changed', () => {
    const object = makePod({}, { name: 'a.b' });
    expect(pod.warnings!(object, stored(pod, object))).toEqual([]);
  });

  test('they have a bound', () => {
    const env = Array.from({ length: 1000 }, () => ({ name: 'a' }));
    expect(warnings({ containers: [container({ env })] })).toHaveLength(110);
  });
});
