/** Proves that the status of a pod follows from its containers, by examples and for generated containers. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContainerStatus, Pod, PodSpec, PodStatus } from '../../api/generated/types.ts';
import { podStatusErrors } from '../../api/rules/pod/pod-status.ts';
import { type PodStatusFacts, podStatus } from './pod-status.ts';
import { statusPatch } from './status-patch.ts';

const now = '2026-01-02T03:04:05Z';
const earlier = '2026-01-01T00:00:00Z';

type Shape = 'new' | 'running' | 'ready' | 'ok' | 'failed' | 'looping';

function statusOf(name: string, shape: Shape): ContainerStatus {
  const base = { name, image: 'i', imageID: '', restartCount: 0, ready: false, started: false };
  const terminated = (exitCode: number) => ({
    terminated: { exitCode, reason: exitCode ? 'Error' : 'Completed' },
  });
  switch (shape) {
    case 'new':
      return { ...base, state: { waiting: { reason: 'ContainerCreating' } } };
    case 'running':
      return { ...base, state: { running: { startedAt: now } } };
    case 'ready':
      return { ...base, ready: true, started: true, state: { running: { startedAt: now } } };
    case 'ok':
      return { ...base, state: terminated(0) };
    case 'failed':
      return { ...base, state: terminated(1) };
    case 'looping':
      return { ...base, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: terminated(1) };
  }
}

function facts(
  spec: PodSpec,
  init: Shape[],
  containers: Shape[],
  more: Partial<PodStatusFacts> = {},
): PodStatusFacts {
  const initStatuses = init.map((shape, i) => {
    const status = statusOf(`i${i}`, shape);
    return shape === 'ok' ? { ...status, ready: true } : status;
  });
  return {
    pod: {
      metadata: { name: 'p', uid: 'u', generation: 1 },
      spec: {
        initContainers: init.map((_, i) => ({ name: `i${i}` })),
        containers: containers.map((_, i) => ({ name: `c${i}` })),
        ...spec,
      },
      status: { phase: 'Pending', qosClass: 'BestEffort' },
    },
    last: {},
    now,
    hostIP: '192.0.2.1',
    podIP: '10.0.0.1',
    startTime: now,
    placed: true,
    init: initStatuses,
    containers: containers.map((shape, i) => statusOf(`c${i}`, shape)),
    ephemeral: [],
    over: false,
    ...more,
  };
}

const phase = (policy: string, init: Shape[], ...containers: Shape[]) =>
  podStatus(facts({ restartPolicy: policy }, init, containers)).phase;

describe('the phase', () => {
  it.each([
    ['Always', [], ['new'], 'Pending'],
    ['Always', [], ['running', 'new'], 'Pending'],
    ['Always', [], ['running', 'looping'], 'Running'],
    ['Always', [], ['ok'], 'Running'],
    ['Always', [], ['looping'], 'Running'],
    ['OnFailure', [], ['ok'], 'Succeeded'],
    ['OnFailure', [], ['ok', 'failed'], 'Running'],
    ['OnFailure', [], ['ok', 'looping'], 'Running'],
    ['Never', [], ['ok', 'failed'], 'Failed'],
    ['Never', [], ['ok', 'ok'], 'Succeeded'],
    ['Never', [], ['ok', 'running'], 'Running'],
    ['Always', ['running'], ['new'], 'Pending'],
    ['Always', ['failed'], ['new'], 'Pending'],
    ['Never', ['failed'], ['new'], 'Failed'],
    ['Never', ['ok'], ['ready'], 'Running'],
  ] as [string, Shape[], Shape[], string][])(
    '%s, init %j, containers %j: %s',
    (policy, init, containers, expected) => {
      expect(phase(policy, init, ...containers)).toBe(expected);
    },
  );

  it('of a pod that is over is a last one', () => {
    const over = (...containers: Shape[]) => podStatus(facts({}, [], containers, { over: true })).phase;
    expect(over('ok', 'ok')).toBe('Succeeded');
    expect(over('ok', 'failed')).toBe('Failed');
    expect(over('new')).toBe('Failed');
  });

  it('is never taken back', () => {
    const given = facts({}, [], ['running']);
    given.pod.status!.phase = 'Failed';
    expect(podStatus(given).phase).toBe('Failed');
  });
});

describe('conditions', () => {
  it('keep their time while they keep their status, and those of others stay', () => {
    const given = facts({}, [], ['ready']);
    given.pod.status!.conditions = [
      { type: 'Ready', status: 'True', lastTransitionTime: earlier },
      { type: 'ContainersReady', status: 'False', lastTransitionTime: earlier },
      {
        type: 'DisruptionTarget',
        status: 'True',
        lastTransitionTime: earlier,
        reason: 'EvictionByEvictionAPI',
      },
    ];
    const conditions = podStatus({ ...given, last: given.pod.status! }).conditions!;
    const time = (type: string) => conditions.find((one) => one.type === type)?.lastTransitionTime;
    expect(time('Ready')).toBe(earlier);
    expect(time('ContainersReady')).toBe(now);
    expect(conditions).toContainEqual(given.pod.status!.conditions[2]);
  });

  it('keep the time that was chosen first while the API still shows another', () => {
    const given = facts({}, [], ['ready']);
    given.pod.status!.conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime: earlier }];
    const last = podStatus({ ...given, now: earlier });
    given.pod.status!.conditions = podStatus(given).conditions;
    expect(podStatus({ ...given, last }).conditions).toEqual(last.conditions);
  });

  it('name the containers that are not ready, in order', () => {
    const { conditions } = podStatus(facts({}, [], ['running', 'ready', 'new']));
    expect(conditions!.find(({ type }) => type === 'ContainersReady')).toEqual({
      type: 'ContainersReady',
      status: 'False',
      observedGeneration: 1,
      lastTransitionTime: now,
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [c0 c2]',
    });
  });
});

const shapes = fc.constantFrom<Shape>('new', 'running', 'ready', 'ok', 'failed', 'looping');
const anyFacts = fc
  .record({
    policy: fc.constantFrom('Always', 'OnFailure', 'Never'),
    init: fc.array(shapes, { maxLength: 3 }),
    containers: fc.array(shapes, { minLength: 1, maxLength: 3 }),
    over: fc.boolean(),
    placed: fc.boolean(),
  })
  .map(({ policy, init, containers, over, placed }) => {
    const runs = [...init, ...containers].some((shape) => shape === 'running' || shape === 'ready');
    return facts({ restartPolicy: policy }, init, containers, { over: over && !runs, placed });
  });

describe('any status', () => {
  const conditionOf = (status: PodStatus, type: string) =>
    status.conditions!.find((one) => one.type === type)!.status;

  it('is one the API takes, and does not contradict itself', () => {
    fc.assert(
      fc.property(anyFacts, (given) => {
        const status = podStatus(given);
        const pod: Pod = { ...given.pod, status };
        expect([...podStatusErrors(pod, given.pod)]).toEqual([]);
        const last = status.phase === 'Succeeded' || status.phase === 'Failed';
        const runs = given.containers.some(({ state }) => state?.running);
        if (given.over) expect(last).toBe(true);
        if (status.phase === 'Succeeded')
          expect(given.containers.every(({ state }) => state?.terminated?.exitCode === 0)).toBe(true);
        if (last && given.init.every(({ ready }) => ready)) expect(runs).toBe(false);
        if (last) expect(conditionOf(status, 'Ready')).toBe('False');
        if (conditionOf(status, 'Ready') === 'True') {
          expect(conditionOf(status, 'ContainersReady')).toBe('True');
          expect(given.containers.every(({ ready }) => ready)).toBe(true);
        }
        expect(new Set(status.conditions!.map(({ type }) => type)).size).toBe(status.conditions!.length);
      }),
    );
  });

  it('said again says nothing new', () => {
    fc.assert(
      fc.property(anyFacts, (given) => {
        const status = podStatus(given);
        const pod: Pod = { ...given.pod, status };
        const again = podStatus({ ...given, now: '2027-01-01T00:00:00Z', pod, last: status });
        expect(statusPatch(status, again)).toBeUndefined();
      }),
    );
  });
});

describe('a patch', () => {
  it('holds what is different, and nothing else', () => {
    const before = {
      phase: 'Pending',
      podIPs: [{ ip: '1.1.1.1' }],
      reason: 'x',
      conditions: [
        { type: 'Ready', status: 'False', reason: 'r', lastProbeTime: null },
        { type: 'Other', status: 'True' },
      ],
    };
    const after = {
      phase: 'Running',
      podIPs: [{ ip: '2.2.2.2' }],
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Other', status: 'True' },
      ],
    };
    expect(statusPatch(before, after)).toEqual({
      phase: 'Running',
      podIPs: [{ $patch: 'replace' }, { ip: '2.2.2.2' }],
      reason: null,
      conditions: [{ type: 'Ready', status: 'True', reason: null }],
    });
    expect(statusPatch(after, { ...after, initContainerStatuses: [], message: undefined })).toBeUndefined();
  });
});
