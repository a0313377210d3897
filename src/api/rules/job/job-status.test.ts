// Proves the rules for the status of a batch/v1 job, and that final states cannot be undone.
import { describe, expect, test } from 'vitest';
import type { JobSpecV1, JobStatusV1 } from '../../generated/types.ts';
import { brief } from '../../kinds/core/pod.fixture.ts';
import { collect } from '../shared/findings.ts';
import { jobStatusErrors } from './job-status.ts';

const metadata = { name: 'j' };
const errors = (status: JobStatusV1, old: JobStatusV1 = {}, spec: JobSpecV1 = { completions: 10 }) =>
  brief(collect(jobStatusErrors({ metadata, spec, status }, { metadata, spec, status: old })));
const conditions = (...types: string[]) => types.map((type) => ({ type, status: 'True' }));
const startTime = '2024-05-01T12:00:00Z';
const completionTime = '2024-05-01T12:01:00Z';
const completed: JobStatusV1 = {
  startTime,
  completionTime,
  conditions: conditions('SuccessCriteriaMet', 'Complete'),
};
const failed: JobStatusV1 = { startTime, conditions: conditions('FailureTarget', 'Failed') };
const inConditions = (text: string) => ['status.conditions', 'I', `Invalid value: ${text}`];

test('a job begins, goes on, and ends', () => {
  expect(errors({ startTime, active: 2, ready: 1 })).toEqual([]);
  expect(errors(completed, { startTime, active: 1 })).toEqual([]);
  expect(errors(failed, { startTime, active: 1 })).toEqual([]);
});

describe('counts', () => {
  test.each(['active', 'succeeded', 'failed', 'ready', 'terminating'])('negative %s', (name) => {
    expect(errors({ [name]: -1 }, { [name]: -1 })).toEqual([
      [`status.${name}`, 'I', 'Invalid value: -1: must be greater than or equal to 0'],
    ]);
  });

  test('of pods not counted yet', () => {
    const uncountedTerminatedPods = { succeeded: ['a', ''], failed: ['a'] };
    expect(errors({ uncountedTerminatedPods })).toEqual([
      ['status.uncountedTerminatedPods.succeeded[1]', 'I', 'Invalid value: "": must not be empty'],
      ['status.uncountedTerminatedPods.failed[0]', 'D', 'Duplicate value: "a"'],
    ]);
  });

  test('only rise', () => {
    expect(errors({ succeeded: 1, failed: 1 }, { succeeded: 2, failed: 2 })).toEqual([
      ['status.failed', 'I', 'Invalid value: 1: cannot decrease the failed counter'],
      ['status.succeeded', 'I', 'Invalid value: 1: cannot decrease the succeeded counter'],
    ]);
    const elastic = { completionMode: 'Indexed', completions: 1, parallelism: 1 };
    expect(errors({ succeeded: 1 }, { succeeded: 2 }, elastic)).toEqual([]);
  });

  test('of ready pods', () => {
    expect(errors({ active: 1, ready: 2 })).toEqual([
      ['status.ready', 'I', 'Invalid value: 2: cannot set more ready pods than active'],
    ]);
  });
});

describe('conditions', () => {
  test('announce the end', () => {
    expect(errors({ ...completed, conditions: conditions('Complete') })).toEqual([
      inConditions('cannot set Complete=True condition without the SuccessCriteriaMet=true condition'),
    ]);
    expect(errors({ ...failed, conditions: conditions('Failed') })).toEqual([
      inConditions('cannot set Failed=True condition without the FailureTarget=true condition'),
    ]);
  });

  test('contradict each other', () => {
    const all = conditions('Complete', 'Failed', 'FailureTarget', 'SuccessCriteriaMet');
    expect(errors({ ...completed, conditions: all })).toEqual([
      inConditions('cannot set Complete=True and Failed=true conditions'),
      inConditions('cannot set Complete=True and FailureTarget=true conditions'),
      inConditions('cannot set SuccessCriteriaMet=True and Failed=true conditions'),
      inConditions('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions'),
    ]);
  });

  test('stay', () => {
    expect(errors({ startTime }, { ...failed, startTime })).toEqual([
      inConditions('cannot disable the terminal Failed=True condition'),
      inConditions('cannot disable the terminal FailureTarget=True condition'),
    ]);
    expect(errors({ startTime }, completed)).toEqual([
      inConditions('cannot disable the terminal Complete=True condition'),
      inConditions('cannot disable the SuccessCriteriaMet=True condition'),
    ]);
  });

  test('that are odd already stay as they are', () => {
    const odd: JobStatusV1 = { conditions: conditions('Complete') };
    expect(errors({ ...odd, active: 0 }, odd)).toEqual([]);
    expect(errors({ conditions: conditions('Complete', 'SuccessCriteriaMet') }, odd)).toEqual([
      inConditions('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions'),
    ]);
  });
});

describe('times', () => {
  test('of the end belong to a complete job', () => {
    expect(errors({ startTime, completionTime })).toEqual([
      ['status.completionTime', 'I', expect.any(String)],
    ]);
    expect(errors({ ...completed, completionTime: undefined })).toEqual([
      ['status.completionTime', 'R', 'Required value: completionTime is required for Complete jobs'],
    ]);
    expect(errors({ ...completed, startTime: '2024-05-01T12:02:00Z' })).toEqual([
      [
        'status.completionTime',
        'I',
        `Invalid value: "${completionTime}": completionTime cannot be set before startTime`,
      ],
    ]);
    const later = '2024-05-01T12:03:00Z';
    expect(errors({ ...completed, completionTime: later }, completed)).toEqual([
      ['status.completionTime', 'I', `Invalid value: "${later}": completionTime cannot be mutated`],
    ]);
  });

  test('of the start', () => {
    expect(errors({ ...completed, startTime: undefined })).toEqual([
      ['status.startTime', 'R', 'Required value: startTime is required for finished job'],
    ]);
    const empty = { suspend: true, completions: 0 };
    expect(errors({ ...completed, startTime: undefined }, {}, empty)).toEqual([]);
    const removed = [
      ['status.startTime', 'R', 'Required value: startTime cannot be removed for unsuspended job'],
    ];
    expect(errors({}, { startTime })).toEqual(removed);
    expect(errors({}, { startTime }, { suspend: true })).toEqual([]);
    expect(errors({ startTime: completionTime }, { startTime, conditions: conditions('Suspended') })).toEqual(
      [],
    );
  });
});

test('a finished job has nothing running', () => {
  const uncountedTerminatedPods = { failed: ['a'] };
  expect(errors({ ...completed, active: 1, terminating: 1, uncountedTerminatedPods })).toEqual([
    ['status.active', 'I', expect.any(String)],
    ['status.uncountedTerminatedPods', 'I', expect.any(String)],
    ['status.terminating', 'I', expect.any(String)],
  ]);
});

test('indexes', () => {
  const spec = { completionMode: 'Indexed', completions: 10, backoffLimitPerIndex: 1 };
  expect(errors({ completedIndexes: '0-2', failedIndexes: '3' }, {}, spec)).toEqual([]);
  expect(errors({ completedIndexes: '0-2', failedIndexes: '2-4' }, {}, spec)).toEqual([
    [
      'status.failedIndexes',
      'I',
      'Invalid value: "2-4": failedIndexes and completedIndexes overlap at index: 2',
    ],
  ]);
  expect(errors({ completedIndexes: '11', failedIndexes: 'x' }, {}, spec)).toEqual([
    [
      'status.completedIndexes',
      'I',
      'Invalid value: "11": error parsing completedIndexes: too large index: "11"',
    ],
    [
      'status.failedIndexes',
      'I',
      'Invalid value: "x": error parsing failedIndexes: cannot convert string to integer for index: "x"',
    ],
  ]);
  expect(errors({ completedIndexes: '1', failedIndexes: '2' })).toEqual([
    ['status.completedIndexes', 'I', expect.any(String)],
    ['status.failedIndexes', 'I', expect.any(String)],
  ]);
  // After a job was made smaller its status has indexes that are too large, until its controller has removed them.
  expect(errors({ completedIndexes: '11', active: 1 }, { completedIndexes: '11' }, spec)).toEqual([]);
});
