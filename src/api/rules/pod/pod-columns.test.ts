// Proves the cells of pods in tables (kinds.md 8.2, 8.3), with every value of the Status column.
import { describe, expect, test } from 'vitest';
import type { Pod, PodSpec, PodStatus } from '../../generated/types.ts';
import { columnDefinitions, tableRow } from '../../kind/table.ts';
import { now } from '../../kinds/core/pod.fixture.ts';
import { pod } from '../../kinds/core/pod.ts';
import { shownCells } from '../../kinds/kind.fixture.ts';
import { timeToMs } from '../../values/time.ts';

const nowMs = timeToMs(now);
const minuteAgo = '2024-05-01T11:59:00Z';

const podOf = (status: PodStatus, spec: PodSpec = {}, metadata: object = {}): Pod => ({
  metadata: { name: 'p', creationTimestamp: minuteAgo, ...metadata },
  spec: { containers: [{ name: 'a' }, { name: 'b' }], ...spec },
  status,
});
const cells = (object: Pod): unknown[] => shownCells(pod, object, nowMs);

test('columns', () => {
  expect(columnDefinitions(pod).map(({ name, priority }) => [name, priority])).toEqual([
    ['Name', 0],
    ['Ready', 0],
    ['Status', 0],
    ['Restarts', 0],
    ['Age', 0],
    ['IP', 1],
    ['Node', 1],
    ['Nominated Node', 1],
    ['Readiness Gates', 1],
  ]);
  expect(columnDefinitions(pod)[0]).toMatchObject({ type: 'string', format: 'name' });
});

test('a new pod', () => {
  expect(cells(podOf({ phase: 'Pending' }))).toEqual([
    'p',
    '0/2',
    'Pending',
    '0',
    '60s',
    '<none>',
    '<none>',
    '<none>',
    '<none>',
  ]);
});

test('a running pod', () => {
  const running = (name: string, ready: boolean) => ({ name, ready, state: { running: {} } });
  const status: PodStatus = {
    phase: 'Running',
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
    nominatedNodeName: 'm',
    conditions: [
      { type: 'x/a', status: 'True' },
      { type: 'x/b', status: 'False' },
    ],
    containerStatuses: [running('a', true), running('b', false)],
  };
  const readinessGates = ['x/a', 'x/b', 'x/c'].map((conditionType) => ({ conditionType }));
  expect(cells(podOf(status, { nodeName: 'n', readinessGates }))).toEqual([
    'p',
    '1/2',
    'Running',
    '0',
    '60s',
    '10.0.0.1',
    'n',
    'm',
    '1/3',
  ]);
});

describe('status', () => {
  const waiting = (reason?: string) => ({ name: 'a', state: { waiting: { reason } } });
  const ended = (exitCode: number, reason?: string, signal?: number) => ({
    name: 'a',
    state: { terminated: { exitCode, reason, signal } },
  });
  const ready = { name: 'b', ready: true, state: { running: {} } };
  const yes = (type: string) => ({ type, status: 'True' });
  const main = (...containerStatuses: object[]): PodStatus => ({ phase: 'Running', containerStatuses });
  const init = (...initContainerStatuses: object[]): PodStatus => ({
    phase: 'Pending',
    initContainerStatuses: initContainerStatuses.map((one, i) => ({ ...one, name: `i${i}` })),
  });
  const sidecars: PodSpec = {
    initContainers: [{ name: 'i0', restartPolicy: 'Always' }, { name: 'i1' }],
  };
  const plain: PodSpec = { initContainers: [{ name: 'i0' }, { name: 'i1' }] };
  const cases: [name: string, status: PodStatus, spec: PodSpec, text: string][] = [
    ['phase', { phase: 'Unknown' }, {}, 'Unknown'],
    ['reason before phase', { phase: 'Failed', reason: 'Evicted' }, {}, 'Evicted'],
    [
      'gated',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] },
      {},
      'SchedulingGated',
    ],
    ['waiting', main(waiting('CrashLoopBackOff'), ready), {}, 'CrashLoopBackOff'],
    ['waiting for nothing in particular', main(waiting()), {}, 'Running'],
    ['the first container has the last word', main(waiting('A'), waiting('B')), {}, 'A'],
    ['ended with a reason', main(ended(1, 'Error')), {}, 'Error'],
    ['ended by a signal', main(ended(137, undefined, 9)), {}, 'Signal:9'],
    ['ended with a code', main(ended(3)), {}, 'ExitCode:3'],
    ['completed', main(ended(0, 'Completed')), {}, 'Completed'],
    [
      'completed, another one runs, ready',
      { ...main(ended(0, 'Completed'), ready), conditions: [yes('Ready')] },
      {},
      'Running',
    ],
    ['completed, another one runs, not ready', main(ended(0, 'Completed'), ready), {}, 'NotReady'],
    ['completed, another one failed', main(ended(0, 'Completed'), ended(1, 'Error')), {}, 'Error'],
    ['init: first of two', init({ state: { running: {} } }), plain, 'Init:0/2'],
    ['init: second of two', init(ended(0), { state: { running: {} } }), plain, 'Init:1/2'],
    ['init: ended with a reason', init(ended(1, 'Error')), plain, 'Init:Error'],
    ['init: ended by a signal', init(ended(137, undefined, 9)), plain, 'Init:Signal:9'],
    ['init: ended with a code', init(ended(2)), plain, 'Init:ExitCode:2'],
    ['init: waiting', init(waiting('ErrImagePull')), plain, 'Init:ErrImagePull'],
    ['init: waiting for its turn', init(waiting('PodInitializing')), plain, 'Init:0/2'],
    ['init: all ended', { ...init(ended(0), ended(0)), phase: 'Running' }, plain, 'Running'],
    [
      'init: a sidecar has started',
      init({ started: true, ready: true, state: { running: {} } }, { state: { running: {} } }),
      sidecars,
      'Init:1/2',
    ],
    ['init: a sidecar has not started', init({ state: { running: {} } }), sidecars, 'Init:0/2'],
    [
      'init: over, as the condition says',
      { ...init(ended(1)), ...main(waiting('X')), conditions: [yes('Initialized')] },
      plain,
      'X',
    ],
  ];
  test.each(cases)('%s', (_name, status, spec, text) => {
    expect(cells(podOf(status, spec))[2]).toBe(text);
  });

  test.each([
    [{ phase: 'Running' }, 'Terminating'],
    [{ phase: 'Running', reason: 'NodeLost' }, 'Unknown'],
    [{ phase: 'Succeeded' }, 'Succeeded'],
    [{ phase: 'Failed' }, 'Failed'],
  ])('being deleted, %j', (status, text) => {
    expect(cells(podOf(status, {}, { deletionTimestamp: now }))[2]).toBe(text);
  });

  test('sidecars count among the containers', () => {
    const status = {
      ...init({ started: true, ready: true, state: { running: {} } }, ended(0)),
      ...main(ready),
    };
    expect(cells(podOf(status, sidecars))[1]).toBe('2/3');
  });
});

describe('restarts', () => {
  const restarted = (name: string, restartCount: number, finishedAt?: string, fields: object = {}) => ({
    name,
    restartCount,
    lastState: finishedAt ? { terminated: { finishedAt } } : {},
    ...fields,
  });
  const shown = (status: PodStatus, spec: PodSpec = {}) => cells(podOf(status, spec))[3];

  test('of all containers, with the last time', () => {
    expect(
      shown({ containerStatuses: [restarted('a', 2, '2024-05-01T11:00:00Z'), restarted('b', 1, minuteAgo)] }),
    ).toBe('3 (60s ago)');
  });

  test('without a time', () => {
    expect(shown({ containerStatuses: [restarted('a', 2)] })).toBe('2');
  });

  test('none, whatever ended', () => {
    expect(shown({ containerStatuses: [restarted('a', 0, minuteAgo)] })).toBe('0');
  });

  test('of init containers while they run, of sidecars always', () => {
    const spec: PodSpec = { initContainers: [{ name: 's', restartPolicy: 'Always' }, { name: 'i' }] };
    const sidecar = restarted('s', 3, undefined, { started: true });
    const initial = restarted('i', 4, undefined, { state: { running: {} } });
    const over = restarted('i', 4, undefined, { state: { terminated: { exitCode: 0 } } });
    expect(shown({ initContainerStatuses: [sidecar, initial] }, spec)).toBe('7');
    const containerStatuses = [restarted('a', 1)];
    expect(shown({ initContainerStatuses: [sidecar, over], containerStatuses }, spec)).toBe('4');
  });
});

test('rows of finished pods say so', () => {
  const conditions = (phase: string) =>
    tableRow(pod, podOf({ phase }), 'None', 'meta.k8s.io/v1', nowMs).conditions;
  expect(conditions('Succeeded')).toEqual([
    {
      type: 'Completed',
      status: 'True',
      reason: 'Succeeded',
      message: 'The pod has completed successfully.',
    },
  ]);
  expect(conditions('Failed')).toEqual([
    { type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' },
  ]);
  expect(conditions('Running')).toBeUndefined();
});
