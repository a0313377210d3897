/** Proves that the state of a pod is named in the words of `kubectl get`. */
import { expect, it } from 'vitest';
import { podState } from './pod-state.ts';

const pod = (status: object, { spec = {}, metadata = {} } = {}) =>
  podState({ metadata: { name: 'p', uid: 'u', resourceVersion: '1', ...metadata }, spec, status });
const container = (state: object, ready = false, name = 'a') => ({ name, state, ready });
const isReady = [{ type: 'Ready', status: 'True' }];

it.each([
  [
    'Running',
    { phase: 'Running', containerStatuses: [container({ running: {} }, true)], conditions: isReady },
  ],
  [
    'CrashLoopBackOff',
    { phase: 'Running', containerStatuses: [container({ waiting: { reason: 'CrashLoopBackOff' } })] },
  ],
  [
    'ErrImagePull',
    { phase: 'Pending', containerStatuses: [container({ waiting: { reason: 'ErrImagePull' } })] },
  ],
  [
    'Error',
    { phase: 'Running', containerStatuses: [container({ terminated: { reason: 'Error', exitCode: 1 } })] },
  ],
  ['ExitCode:3', { phase: 'Failed', containerStatuses: [container({ terminated: { exitCode: 3 } })] }],
  [
    'Signal:9',
    { phase: 'Failed', containerStatuses: [container({ terminated: { exitCode: 137, signal: 9 } })] },
  ],
  ['Evicted', { phase: 'Failed', reason: 'Evicted' }],
  [
    'Evicted',
    {
      phase: 'Failed',
      reason: 'Evicted',
      containerStatuses: [container({ terminated: { reason: 'Completed', exitCode: 0 } })],
    },
  ],
  ['Pending', { phase: 'Pending' }],
  [
    'SchedulingGated',
    { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] },
  ],
  [
    'Completed',
    {
      phase: 'Succeeded',
      containerStatuses: [container({ terminated: { reason: 'Completed', exitCode: 0 } })],
    },
  ],
  ['Unknown', {}],
])('is %s', (state, status) => {
  expect(pod(status)).toBe(state);
});

it('names the container that fails beside one that runs, and none for one that is done', () => {
  const runs = container({ running: {} }, true, 'b');
  const crashes = container({ waiting: { reason: 'CrashLoopBackOff' } });
  const done = container({ terminated: { reason: 'Completed', exitCode: 0 } });
  expect(pod({ phase: 'Running', containerStatuses: [crashes, runs] })).toBe('CrashLoopBackOff');
  expect(pod({ phase: 'Running', containerStatuses: [runs, crashes] })).toBe('CrashLoopBackOff');
  expect(pod({ phase: 'Running', containerStatuses: [done, runs], conditions: isReady })).toBe('Running');
  expect(pod({ phase: 'Running', containerStatuses: [done, runs] })).toBe('NotReady');
  const failed = container({ terminated: { reason: 'Error', exitCode: 1 } }, false, 'b');
  expect(pod({ phase: 'Running', containerStatuses: [done, failed] })).toBe('Error');
});

it('tells how far init containers are, and which one fails', () => {
  const spec = { initContainers: [{ name: 'i' }, { name: 'j' }] };
  const init = (i: object, j: object) =>
    pod(
      {
        phase: 'Pending',
        initContainerStatuses: [
          { name: 'i', state: i },
          { name: 'j', state: j },
        ],
        containerStatuses: [container({ waiting: { reason: 'PodInitializing' } })],
      },
      { spec },
    );
  const done = { terminated: { exitCode: 0 } };
  expect(init({ running: {} }, { waiting: { reason: 'PodInitializing' } })).toBe('Init:0/2');
  expect(init(done, { running: {} })).toBe('Init:1/2');
  expect(init(done, { waiting: { reason: 'ErrImagePull' } })).toBe('Init:ErrImagePull');
  expect(init({ terminated: { reason: 'Error', exitCode: 1 } }, {})).toBe('Init:Error');
  expect(init(done, done)).toBe('PodInitializing');
  const sidecar = { initContainers: [{ name: 'i', restartPolicy: 'Always' }] };
  const running = {
    phase: 'Running',
    initContainerStatuses: [{ name: 'i', started: true, state: { running: {} } }],
  };
  expect(pod(running, { spec: sidecar })).toBe('Running');
});

it('is Terminating while it is deleted, and Unknown when its node is lost', () => {
  const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  expect(pod({ phase: 'Running' }, { metadata })).toBe('Terminating');
  expect(pod({ phase: 'Running', reason: 'NodeLost' }, { metadata })).toBe('Unknown');
  expect(pod({ phase: 'Succeeded' }, { metadata })).toBe('Succeeded');
});
