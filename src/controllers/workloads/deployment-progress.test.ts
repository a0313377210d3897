/** Proves the status of a deployment during a rollout: counters, availability, progress, deadline and failures. */
import { describe, expect, it } from 'vitest';
import type {
  Deployment,
  DeploymentCondition,
  DeploymentStatus,
  ReplicaSet,
} from '../../api/generated/types.ts';
import {
  countsOf,
  deadlineInMs,
  isComplete,
  withAvailability,
  withCondition,
  withFailure,
  withPause,
  withProgress,
} from './deployment-progress.ts';

const nowMs = Date.parse('2026-01-02T00:10:00Z');
const now = '2026-01-02T00:10:00Z';
const before = '2026-01-02T00:00:00Z';

const progressing = (reason: string, status = 'True', at = before): DeploymentCondition => ({
  type: 'Progressing',
  status,
  reason,
  message: '',
  lastUpdateTime: at,
  lastTransitionTime: at,
});

const deployment = (status: DeploymentStatus = {}, spec: object = {}): Deployment => ({
  metadata: { name: 'web', generation: 2 },
  spec: { replicas: 3, progressDeadlineSeconds: 600, ...spec },
  status,
});

const set = (name: string, replicas: number, status: object = {}): ReplicaSet => ({
  metadata: { name },
  spec: { replicas },
  status: { replicas, readyReplicas: replicas, availableReplicas: replicas, ...status },
});

const complete = {
  replicas: 3,
  updatedReplicas: 3,
  readyReplicas: 3,
  availableReplicas: 3,
  observedGeneration: 2,
};
const step = (from: DeploymentStatus, to: DeploymentStatus, condition?: DeploymentCondition, spec = {}) =>
  withProgress(deployment(from, spec), set('web-x', 3), to, condition ? [condition] : [], nowMs, now);

it('numbers are those of all replica sets', () => {
  const newSet = set('new', 3, {
    replicas: 2,
    readyReplicas: 1,
    availableReplicas: 0,
    terminatingReplicas: 1,
  });
  const old = set('old', 2, { terminatingReplicas: 2 });
  expect(countsOf(deployment({ collisionCount: 4 }), newSet, [old])).toEqual({
    observedGeneration: 2,
    replicas: 4,
    updatedReplicas: 2,
    readyReplicas: 3,
    availableReplicas: 2,
    // The sets have five replicas.
    unavailableReplicas: 3,
    terminatingReplicas: 3,
    collisionCount: 4,
  });
  expect(countsOf(deployment(), undefined, [])).toMatchObject({ replicas: 0, updatedReplicas: 0 });
});

it('a condition keeps its times while it says the same', () => {
  const one = withCondition([], 'Available', ['False', 'A', 'a'], before);
  expect(withCondition(one, 'Available', ['False', 'A', 'other words'], now)).toEqual(one);
  expect(withCondition(one, 'Available', ['False', 'B', 'b'], now)).toEqual([
    {
      type: 'Available',
      status: 'False',
      reason: 'B',
      message: 'b',
      lastUpdateTime: now,
      lastTransitionTime: before,
    },
  ]);
  expect(withCondition(one, 'Available', ['True', 'B', 'b'], now)[0]).toMatchObject({
    lastTransitionTime: now,
  });
});

it('availability is measured by the pods that may be missing', () => {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } };
  const reason = (availableReplicas: number) =>
    withAvailability({ replicas: 3, strategy }, { availableReplicas }, [], now)[0]?.reason;
  expect([1, 2, 3].map(reason)).toEqual([
    'MinimumReplicasUnavailable',
    'MinimumReplicasAvailable',
    'MinimumReplicasAvailable',
  ]);
});

describe('progress', () => {
  it('is complete when all pods are new and available, and the spec was seen', () => {
    expect(isComplete(deployment(), complete)).toBe(true);
    for (const less of ['replicas', 'updatedReplicas', 'availableReplicas', 'observedGeneration'])
      expect(isComplete(deployment(), { ...complete, [less]: 1 }), less).toBe(false);
    expect(step({}, complete)).toMatchObject([
      {
        status: 'True',
        reason: 'NewReplicaSetAvailable',
        message: 'ReplicaSet "web-x" has successfully progressed.',
      },
    ]);
  });

  it('is said again with every better number, so that the deadline runs anew', () => {
    const from = { replicas: 3, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3 };
    const said = progressing('ReplicaSetUpdated');
    for (const better of [
      { updatedReplicas: 2 },
      { replicas: 2 },
      { readyReplicas: 4 },
      { availableReplicas: 4 },
    ])
      expect(step(from, { ...from, ...better }, said)).toEqual([
        {
          ...said,
          message: 'ReplicaSet "web-x" is progressing.',
          lastUpdateTime: now,
        },
      ]);
    const timedOut = progressing('ProgressDeadlineExceeded', 'False');
    expect(step(from, { ...from, updatedReplicas: 2 }, timedOut)).toMatchObject([
      { status: 'True', reason: 'ReplicaSetUpdated', lastTransitionTime: now },
    ]);
  });

  it('that is not made ends with the deadline', () => {
    const stuck = { replicas: 3, updatedReplicas: 1 };
    expect(
      step(stuck, stuck, progressing('ReplicaSetUpdated', 'True', '2026-01-02T00:00:01Z')),
    ).toMatchObject([{ reason: 'ReplicaSetUpdated' }]);
    expect(step(stuck, stuck, progressing('ReplicaSetUpdated'))).toMatchObject([
      {
        status: 'False',
        reason: 'ProgressDeadlineExceeded',
        message: 'ReplicaSet "web-x" has timed out progressing.',
        lastTransitionTime: now,
      },
    ]);
  });

  it('is no longer measured once it was complete, though pods may fail later', () => {
    const said = [progressing('NewReplicaSetAvailable')];
    expect(step(complete, { ...complete, availableReplicas: 1 }, said[0])).toEqual(said);
  });

  it('is not told of without a deadline', () => {
    expect(step({}, complete, progressing('x'), { progressDeadlineSeconds: undefined })).toEqual([]);
    expect(step({}, complete, progressing('x'), { progressDeadlineSeconds: 2 ** 31 - 1 })).toEqual([]);
  });
});

it('a deadline is near only while somebody gets on', () => {
  const spec = { progressDeadlineSeconds: 900 };
  expect(deadlineInMs(spec, progressing('ReplicaSetUpdated'), nowMs)).toBe(300_000);
  for (const reason of ['NewReplicaSetAvailable', 'ProgressDeadlineExceeded'])
    expect(deadlineInMs(spec, progressing(reason), nowMs)).toBe(Number.POSITIVE_INFINITY);
  expect(deadlineInMs(spec, undefined, nowMs)).toBe(Number.POSITIVE_INFINITY);
});

it('a pause is said when it begins and when it ends, but not over a deadline that has passed', () => {
  const reasons = (paused: boolean, ...conditions: DeploymentCondition[]) =>
    withPause({ paused }, conditions, now).map(({ reason, status }) => `${reason} ${status}`);
  expect(reasons(true)).toEqual(['DeploymentPaused Unknown']);
  expect(reasons(true, progressing('ReplicaSetUpdated'))).toEqual(['DeploymentPaused Unknown']);
  expect(reasons(false, progressing('DeploymentPaused', 'Unknown'))).toEqual(['DeploymentResumed Unknown']);
  expect(reasons(false, progressing('ReplicaSetUpdated'))).toEqual(['ReplicaSetUpdated True']);
  expect(reasons(false)).toEqual([]);
  expect(reasons(true, progressing('ProgressDeadlineExceeded', 'False'))).toEqual([
    'ProgressDeadlineExceeded False',
  ]);
});

it('failures of replica sets are told as the deployment’s own, until they are over', () => {
  const failing = (name: string) =>
    set(name, 1, {
      conditions: [
        {
          type: 'ReplicaFailure',
          status: 'True',
          reason: 'FailedCreate',
          message: name,
          lastTransitionTime: before,
        },
      ],
    });
  const both = withFailure(failing('new'), [failing('old')], []);
  expect(both).toEqual([
    {
      type: 'ReplicaFailure',
      status: 'True',
      reason: 'FailedCreate',
      message: 'new',
      lastUpdateTime: before,
      lastTransitionTime: before,
    },
  ]);
  expect(withFailure(set('new', 1), [failing('old')], [])[0]?.message).toBe('old');
  expect(withFailure(set('new', 1), [], both)).toEqual([]);
});
