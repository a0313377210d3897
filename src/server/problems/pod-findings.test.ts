/** Proves what is found about a pod for every failure that agents and the scheduler write into it. */
import { describe, expect, it } from 'vitest';
import type { Examine } from './finding.ts';
import { podFindings } from './pod-findings.ts';

const time = '2026-01-01T00:00:00Z';
const timeMs = Date.parse(time);
const metadata = { name: 'x', namespace: 'shop', uid: 'u', creationTimestamp: time };
const condition = (type: string, status: string, reason?: string, message?: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: time,
});
const texts = (examine: Examine, object: object) => examine({ metadata, ...object }).map(({ text }) => text);

describe('a pod', () => {
  const spec = {
    containers: [{ name: 'main', image: 'web:1' }],
    initContainers: [{ name: 'first', image: 'init:1' }],
  };
  const main = (fields: object) => ({
    spec,
    status: {
      phase: 'Pending',
      startTime: time,
      containerStatuses: [{ name: 'main', image: '', ...fields }],
    },
  });
  const waiting = (reason: string, message?: string, fields: object = {}) =>
    main({ state: { waiting: { reason, message } }, ...fields });
  const ended = { exitCode: 3, reason: 'Error', finishedAt: time };

  it.each([
    ['not found', waiting('ErrImagePull', 'not found'), 'image web:1 cannot be pulled: not found'],
    [
      'backing off',
      waiting('ImagePullBackOff', 'Back-off pulling image "web:1": ErrImagePull: no such host'),
      'image web:1 cannot be pulled: no such host',
    ],
    [
      'backing off, no reason',
      waiting('ImagePullBackOff', 'Back-off pulling image "web:1"'),
      'image web:1 cannot be pulled: it is tried again with growing pauses',
    ],
    [
      'no program of this name',
      waiting(
        'ImagePullBackOff',
        'Back-off pulling image "web:1": ErrImagePull: image "web:1" cannot be pulled: containers are processes of this machine.',
      ),
      'image web:1 cannot be pulled: containers are processes of this machine.',
    ],
    [
      "not found, in an engine's words",
      waiting(
        'ErrImagePull',
        'rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/web:1": not found',
      ),
      'image web:1 cannot be pulled: not found',
    ],
    [
      'never pulled',
      waiting('ErrImageNeverPull', 'Container image "web:1" is not present'),
      'image web:1 cannot be pulled: Container image "web:1" is not present',
    ],
    [
      'a bad name',
      waiting('InvalidImageName', 'invalid reference'),
      'image web:1 cannot be pulled: invalid reference',
    ],
    [
      'no such secret',
      waiting('CreateContainerConfigError', 'secret "s" not found'),
      'container main cannot start: CreateContainerConfigError: secret "s" not found',
    ],
    [
      'not created',
      waiting('CreateContainerError', 'no command'),
      'container main cannot start: CreateContainerError: no command',
    ],
    [
      'not run',
      waiting('RunContainerError', 'no such file'),
      'container main cannot start: RunContainerError: no such file',
    ],
    [
      'a hook',
      waiting('PostStartHookError', 'exit 1'),
      'container main cannot start: PostStartHookError: exit 1',
    ],
    [
      'a crash loop',
      waiting('CrashLoopBackOff', 'back-off', { lastState: { terminated: ended }, restartCount: 4 }),
      'crash loop of container main: exit code 3',
    ],
    [
      'last words',
      waiting('CrashLoopBackOff', '', {
        lastState: { terminated: { ...ended, message: 'hello\nno database\n' } },
      }),
      'crash loop of container main: exit code 3, last line: no database',
    ],
    [
      'memory',
      waiting('CrashLoopBackOff', '', { lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }),
      'crash loop of container main: too much memory (OOMKilled)',
    ],
    [
      'a program that cannot run',
      waiting('CrashLoopBackOff', '', {
        lastState: { terminated: { exitCode: 128, reason: 'ContainerCannotRun' } },
      }),
      'crash loop of container main: exit code 128 (ContainerCannotRun)',
    ],
    ['slow creation', waiting('ContainerCreating'), 'container main does not start'],
    [
      'just ended',
      main({ state: { terminated: ended }, restartCount: 1 }),
      'container main has restarted once after exit code 3',
    ],
    [
      'restarted',
      main({ state: { running: {} }, ready: true, lastState: { terminated: ended }, restartCount: 2 }),
      'container main has restarted 2 times, last after exit code 3',
    ],
    [
      'an init container',
      {
        spec,
        status: {
          phase: 'Pending',
          initContainerStatuses: [
            { name: 'first', state: { waiting: { reason: 'ErrImagePull', message: 'denied' } } },
          ],
          containerStatuses: [{ name: 'main', state: { waiting: { reason: 'PodInitializing' } } }],
        },
      },
      'image init:1 cannot be pulled: denied',
    ],
    [
      'no node',
      {
        spec,
        status: {
          phase: 'Pending',
          conditions: [
            condition(
              'PodScheduled',
              'False',
              'Unschedulable',
              '0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No victims.',
            ),
          ],
        },
      },
      'cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu.',
    ],
    [
      'gates',
      {
        spec,
        status: {
          phase: 'Pending',
          conditions: [condition('PodScheduled', 'False', 'SchedulingGated', 'Scheduling is blocked')],
        },
      },
      'waits for its scheduling gates: Scheduling is blocked',
    ],
    [
      'eviction',
      { spec, status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory' } },
      'failed: Evicted: The node was low on memory',
    ],
    [
      'a deadline',
      { spec, status: { phase: 'Failed', reason: 'DeadlineExceeded' } },
      'failed: DeadlineExceeded',
    ],
    [
      'no room',
      { spec, status: { phase: 'Failed', reason: 'OutOfcpu', message: 'too little' } },
      'failed: OutOfcpu: too little',
    ],
    ['a taken port', { spec, status: { phase: 'Failed', reason: 'NodePorts' } }, 'failed: NodePorts'],
    [
      'its end',
      {
        spec,
        status: { phase: 'Failed', containerStatuses: [{ name: 'main', state: { terminated: ended } }] },
      },
      'failed: container main ended with exit code 3',
    ],
    [
      'a probe',
      {
        spec,
        status: {
          phase: 'Running',
          conditions: [condition('Ready', 'False', 'ContainersNotReady')],
          containerStatuses: [{ name: 'main', ready: false, state: { running: {} } }],
        },
      },
      'container main is not ready',
    ],
    [
      'a readiness gate',
      {
        spec,
        status: {
          phase: 'Running',
          conditions: [condition('Ready', 'False', 'ReadinessGatesNotReady', 'gate g')],
          containerStatuses: [{ name: 'main', ready: true, state: { running: {} } }],
        },
      },
      'not ready: ReadinessGatesNotReady: gate g',
    ],
    [
      'a resize',
      {
        spec,
        status: {
          phase: 'Running',
          conditions: [condition('PodResizePending', 'True', 'Infeasible', 'too much')],
          containerStatuses: [{ name: 'main', ready: true, state: { running: {} } }],
        },
      },
      'cannot be resized: too much',
    ],
  ])('because of %s', (_, pod, text) => {
    expect(texts(podFindings, pod)).toEqual([text]);
  });

  it('that is well, done, of a job, or has only begun is no problem', () => {
    const running = {
      phase: 'Running',
      conditions: [condition('Ready', 'True')],
      containerStatuses: [{ name: 'main', ready: true, state: { running: {} }, restartCount: 0 }],
    };
    expect(texts(podFindings, { spec, status: running })).toEqual([]);
    expect(texts(podFindings, { spec, status: { phase: 'Succeeded' } })).toEqual([]);
    expect(texts(podFindings, { spec, status: { phase: 'Pending' } })).toEqual([]);
    const ofJob = { ...metadata, ownerReferences: [{ kind: 'Job', controller: true, uid: 'j', name: 'j' }] };
    const failed = podFindings({ metadata: ofJob, spec, status: { phase: 'Failed', reason: 'Error' } });
    expect(failed).toMatchObject([{ explainsJob: true, text: 'Error' }]);
    expect(podFindings({ metadata, ...waiting('ContainerCreating') })[0]!.afterMs).toBe(timeMs + 60_000);
    const unready = {
      phase: 'Running',
      conditions: [condition('Ready', 'False')],
      containerStatuses: [{ name: 'main', state: { running: {} } }],
    };
    expect(podFindings({ metadata, spec, status: unready })[0]!.afterMs).toBe(timeMs + 30_000);
  });

  it('that is deleted for too long says what it waits for', () => {
    const deleted = { ...metadata, deletionTimestamp: time, finalizers: ['a/b'] };
    expect(podFindings({ metadata: deleted, spec, status: {} })).toMatchObject([
      { text: 'deletion does not end: waits for finalizer a/b', afterMs: timeMs + 60_000 },
    ]);
  });

  it('shares its cause with pods of the same image, or of the same workload', () => {
    const causeOf = (name: string, owner: string, pod: object) =>
      podFindings({
        metadata: { ...metadata, name, ownerReferences: [{ controller: true, uid: owner }] },
        ...pod,
      })[0]!.cause;
    const crash = waiting('CrashLoopBackOff', '', { lastState: { terminated: ended } });
    expect(causeOf('a', 'one', crash)).toBe(causeOf('b', 'one', crash));
    expect(causeOf('a', 'one', crash)).not.toBe(causeOf('b', 'two', crash));
    const pull = waiting('ErrImagePull', 'x');
    expect(causeOf('a', 'one', pull)).toBe(causeOf('b', 'two', pull));
  });
});
