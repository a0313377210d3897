/** Proves which words and figures sound good, worrying or bad. */
import { describe, expect, it } from 'vitest';
import { readinessTone, type Tone, toneOf, usageTone } from './tone.ts';

const words: Readonly<Record<Tone, readonly string[]>> = {
  good: [
    'Running',
    'Ready',
    'Completed',
    'Complete',
    'Succeeded',
    'Bound',
    'Active',
    'Available',
    'True',
    '3/3',
  ],
  warn: [
    ...[
      'Pending',
      'Terminating',
      'ContainerCreating',
      'PodInitializing',
      'Init:0/1',
      'Init:1/2',
      'SchedulingGated',
    ],
    ...['Ready,SchedulingDisabled', 'Warning', 'Released', 'Suspended', '1/2', '0/1'],
  ],
  bad: [
    ...[
      'ErrImagePull',
      'ImagePullBackOff',
      'Init:ErrImagePull',
      'Init:ImagePullBackOff',
      'ErrImageNeverPull',
    ],
    ...['InvalidImageName', 'ImageInspectError', 'RegistryUnavailable', 'SignatureValidationFailed'],
    ...['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError', 'StartError'],
    ...[
      'ContainerCannotRun',
      'PostStartHookError',
      'CrashLoopBackOff',
      'Init:CrashLoopBackOff',
      'Init:Error',
    ],
    ...[
      'Error',
      'Failed',
      'OOMKilled',
      'DeadlineExceeded',
      'ContainerStatusUnknown',
      'Signal:9',
      'ExitCode:3',
    ],
    ...['Init:Signal:9', 'Init:ExitCode:1', 'Evicted', 'Preempting', 'OutOfcpu', 'OutOfpods', 'NodeAffinity'],
    ...[
      'UnexpectedAdmissionError',
      'NodeShutdown',
      'NodeLost',
      'Unschedulable',
      'Unknown',
      'NotReady',
      'Lost',
    ],
    ...['NotReady,SchedulingDisabled', 'BackoffLimitExceeded', 'False', 'False (MissingEndpoints)', 'Denied'],
  ],
};

describe('the tone of a word', () => {
  for (const [tone, list] of Object.entries(words))
    it(`is ${tone}`, () => {
      expect(list.filter((word) => toneOf(word) !== tone)).toEqual([]);
    });

  it('is neither for words that are no states', () => {
    expect(['Recreate', 'ClusterIP', 'web', ''].map(toneOf)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

it('is worse the fuller something is, and better the more are ready', () => {
  expect([usageTone(37, 40), usageTone(32, 40), usageTone(2, 40), usageTone(0, 0)]).toEqual([
    'bad',
    'warn',
    undefined,
    undefined,
  ]);
  expect([readinessTone(37, 40), readinessTone(0, 2), readinessTone(40, 40), readinessTone(0, 0)]).toEqual([
    'warn',
    'bad',
    'good',
    'good',
  ]);
});
