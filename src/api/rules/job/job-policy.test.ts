// Proves the rules of what only batch/v1 jobs can say: completion modes, failure, success and replacement policies.
import { describe, expect, test } from 'vitest';
import type { JobSpecV1 } from '../../generated/types.ts';
import { brief } from '../../kinds/core/pod.fixture.ts';
import { collect } from '../shared/findings.ts';
import { policyErrors } from './job-policy.ts';

const indexed: JobSpecV1 = { completionMode: 'Indexed', completions: 10, parallelism: 1 };
const errors = (spec: JobSpecV1) => brief(collect(policyErrors(spec, 'spec')));

test.each<[spec: JobSpecV1, ...errors: [string, string, string][]]>([
  [{}],
  [indexed],
  [{ backoffLimit: -1 }, ['spec.backoffLimit', 'I', 'Invalid value: -1: must be greater than or equal to 0']],
  [
    { completionMode: 'X' },
    ['spec.completionMode', 'N', 'Unsupported value: "X": supported values: "NonIndexed", "Indexed"'],
  ],
  [
    { completionMode: 'Indexed' },
    ['spec.completions', 'R', 'Required value: when completion mode is Indexed'],
  ],
  [
    { ...indexed, parallelism: 100_001 },
    [
      'spec.parallelism',
      'I',
      'Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed',
    ],
  ],
  [
    { backoffLimitPerIndex: 1, maxFailedIndexes: 2 },
    ['spec.backoffLimitPerIndex', 'I', 'Invalid value: 1: requires indexed completion mode'],
    ['spec.maxFailedIndexes', 'I', 'Invalid value: 2: requires indexed completion mode'],
  ],
  [
    { ...indexed, maxFailedIndexes: 11 },
    ['spec.backoffLimitPerIndex', 'R', 'Required value: when maxFailedIndexes is specified'],
    ['spec.maxFailedIndexes', 'I', 'Invalid value: 11: must be less than or equal to completions'],
  ],
  [
    { ...indexed, completions: 200_000, backoffLimitPerIndex: 1, parallelism: 10_001 },
    ['spec.maxFailedIndexes', 'R', 'Required value: must be specified when completions is above 100000'],
    [
      'spec.parallelism',
      'I',
      'Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index',
    ],
  ],
  [
    { managedBy: 'x' },
    ['spec.managedBy', 'I', 'Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")'],
  ],
  [{ managedBy: '' }, ['spec.managedBy', 'R', 'Required value']],
  [{ managedBy: 'example.com/a b' }, ['spec.managedBy', 'I', expect.stringMatching(/"a b": Invalid path/)]],
  [
    { managedBy: `example.com/${'x'.repeat(60)}` },
    ['spec.managedBy', 'TL', 'Too long: may not be more than 63 bytes'],
  ],
  [{ managedBy: 'example.com/a' }],
  [
    { podReplacementPolicy: 'X' },
    [
      'spec.podReplacementPolicy',
      'N',
      'Unsupported value: "X": supported values: "Failed", "TerminatingOrFailed"',
    ],
  ],
  [
    { podReplacementPolicy: 'TerminatingOrFailed', podFailurePolicy: {} },
    [
      'spec.podReplacementPolicy',
      'N',
      'Unsupported value: "TerminatingOrFailed": supported values: "Failed"',
    ],
  ],
])('%j', (spec, ...expected) => {
  expect(errors(spec)).toEqual(expected);
});

describe('failure policy', () => {
  const path = 'spec.podFailurePolicy.rules[0]';
  const template = { spec: { containers: [{ name: 'main' }] } };
  const rule = (rule: object) => errors({ template, podFailurePolicy: { rules: [rule] } });
  const codes = (fields: object) =>
    rule({ action: 'Ignore', onExitCodes: { operator: 'In', values: [1], ...fields } });

  test('that is right', () => {
    expect(codes({ containerName: 'main' })).toEqual([]);
    const onPodConditions = [{ type: 'DisruptionTarget', status: 'True' }];
    expect(rule({ action: 'Count', onPodConditions })).toEqual([]);
  });

  test('actions', () => {
    const onPodConditions = [{ type: 'Ready', status: 'True' }];
    expect(rule({ onPodConditions })).toEqual([
      [`${path}.action`, 'R', 'Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'],
    ]);
    expect(rule({ action: 'X', onPodConditions })[0]).toEqual([`${path}.action`, 'N', expect.any(String)]);
    expect(rule({ action: 'FailIndex', onPodConditions })).toEqual([
      [`${path}.action`, 'I', 'Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set'],
    ]);
  });

  test('exit codes', () => {
    const at = `${path}.onExitCodes`;
    expect(codes({ operator: 'X' })).toEqual([
      [`${at}.operator`, 'N', 'Unsupported value: "X": supported values: "In", "NotIn"'],
    ]);
    expect(codes({ containerName: 'other' })).toEqual([[`${at}.containerName`, 'I', expect.any(String)]]);
    expect(codes({ values: [] })).toEqual([
      [`${at}.values`, 'I', 'Invalid value: null: at least one value is required'],
    ]);
    expect(codes({ values: [0, 2, 1, 1] })).toEqual([
      [`${at}.values[0]`, 'I', 'Invalid value: 0: must not be 0 for the In operator'],
      [`${at}.values[3]`, 'D', 'Duplicate value: 1'],
      [`${at}.values`, 'I', 'Invalid value: [0,2,1,1]: must be ordered'],
    ]);
    expect(codes({ operator: 'NotIn', values: [0] })).toEqual([]);
    expect(codes({ values: Array.from({ length: 256 }, (_, i) => i + 1) })).toEqual([
      [`${at}.values`, undefined, 'Too many: 256: must have at most 255 items'],
    ]);
  });

  test('pod conditions', () => {
    const at = `${path}.onPodConditions[0]`;
    expect(rule({ action: 'Count', onPodConditions: [{ type: 'a b' }] })).toEqual([
      [`${at}.type`, 'I', expect.stringMatching(/name part/)],
      [`${at}.status`, 'R', 'Required value: valid values: ["False" "True" "Unknown"]'],
    ]);
  });

  test('one of the two', () => {
    expect(rule({ action: 'Count' })).toEqual([
      [path, 'I', 'Invalid value: specifying one of OnExitCodes and OnPodConditions is required'],
    ]);
    const onPodConditions = [{ type: 'Ready', status: 'True' }];
    expect(rule({ action: 'Count', onExitCodes: { operator: 'In', values: [1] }, onPodConditions })).toEqual([
      [path, 'I', 'Invalid value: specifying both OnExitCodes and OnPodConditions is not supported'],
    ]);
  });
});

describe('success policy', () => {
  const path = 'spec.successPolicy.rules';
  const rules = (...rules: object[]) => errors({ ...indexed, successPolicy: { rules } });

  test('that is right', () => {
    expect(rules({ succeededIndexes: '0-2,5', succeededCount: 4 }, { succeededCount: 10 })).toEqual([]);
  });

  test('needs indexes', () => {
    expect(errors({ successPolicy: { rules: [{ succeededCount: 1 }] } })).toEqual([
      [
        'spec.successPolicy',
        'I',
        'Invalid value: {"rules":[{"succeededCount":1}]}: requires indexed completion mode',
      ],
    ]);
  });

  test('that is wrong', () => {
    expect(rules()).toEqual([
      [path, 'R', 'Required value: at least one rules must be specified when the successPolicy is specified'],
    ]);
    expect(rules({})).toEqual([
      [
        `${path}[0]`,
        'R',
        'Required value: at least one of succeededCount or succeededIndexes must be specified',
      ],
    ]);
    expect(rules({ succeededIndexes: '20' })).toEqual([
      [
        `${path}[0].succeededIndexes`,
        'I',
        'Invalid value: "20": error parsing succeededIndexes: too large index: "20"',
      ],
    ]);
    expect(rules({ succeededIndexes: '1-2', succeededCount: 11 })).toEqual([
      [
        `${path}[0].succeededCount`,
        'I',
        'Invalid value: 11: must be less than or equal to 10 (the number of specified completions)',
      ],
      [
        `${path}[0].succeededCount`,
        'I',
        'Invalid value: 11: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)',
      ],
    ]);
    expect(rules({ succeededCount: -1 })).toEqual([[`${path}[0].succeededCount`, 'I', expect.any(String)]]);
  });
});
