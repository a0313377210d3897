// Proves Job in batch/v1 (kinds.md 21.1): defaults, labels and selector of its own, rules for spec and updates, table.
import { describe, expect, test } from 'vitest';
import type { JobV1 } from '../../generated/types.ts';
import { brief, container, type Expected, made, now, stored, uid } from '../core/pod.fixture.ts';
import { shownCells } from '../kind.fixture.ts';
import { batchJob } from './batch-job.ts';

const template = (spec: object = {}, labels: object = { a: 'b' }) => ({
  metadata: { labels },
  spec: { containers: [container()], restartPolicy: 'Never', ...spec },
});
const make = (spec: object = {}, metadata: object = {}): JobV1 =>
  made(batchJob, { metadata: { name: 'j', ...metadata }, spec: { template: template(), ...spec } });
const errorsOf = (object: JobV1) => brief(batchJob.validate!(object));
const own = {
  'batch.kubernetes.io/controller-uid': uid,
  'controller-uid': uid,
  'batch.kubernetes.io/job-name': 'j',
  'job-name': 'j',
};

describe('defaults', () => {
  test('of everything', () => {
    expect(make().spec).toMatchObject({
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      manualSelector: false,
      podReplacementPolicy: 'TerminatingOrFailed',
    });
  });

  test.each([
    [{ completions: 3 }, 3, 1],
    [{ parallelism: 2 }, undefined, 2],
    [{ completions: 0, parallelism: 0 }, 0, 0],
  ])('%j', (spec, completions, parallelism) => {
    expect([make(spec).spec!.completions, make(spec).spec!.parallelism]).toEqual([completions, parallelism]);
  });

  test('depend on what else is said', () => {
    expect(make({ backoffLimitPerIndex: 1 }).spec!.backoffLimit).toBe(2 ** 31 - 1);
    expect(make({ podFailurePolicy: {} }).spec!.podReplacementPolicy).toBe('Failed');
    expect(make({ backoffLimit: 0, suspend: true }).spec).toMatchObject({ backoffLimit: 0, suspend: true });
  });
});

describe('selector', () => {
  test('is made from the uid, and so are labels', () => {
    const { metadata, spec } = make();
    expect(spec!.selector).toEqual({ matchLabels: { 'batch.kubernetes.io/controller-uid': uid } });
    expect(spec!.template!.metadata!.labels).toEqual({ a: 'b', ...own });
    expect(metadata.labels).toEqual({ a: 'b', ...own });
  });

  test('of the author stays, if that is asked for', () => {
    const { metadata, spec } = make({
      manualSelector: true,
      selector: { matchLabels: { a: 'b' } },
    });
    expect(spec!.selector).toEqual({ matchLabels: { a: 'b' } });
    expect(spec!.template!.metadata!.labels).toEqual({ a: 'b' });
    expect(metadata.labels).toEqual({ a: 'b' });
    expect(errorsOf(make({ manualSelector: true }))).toEqual([
      ['spec.selector', 'R', 'Required value'],
      [
        'spec.template.metadata.labels',
        'I',
        'Invalid value: {"a":"b"}: `selector` does not match template `labels`',
      ],
    ]);
  });

  test('survives an update', () => {
    const old = stored<JobV1>(batchJob, make());
    const object = structuredClone(old);
    batchJob.defaults!(object);
    batchJob.prepareForUpdate!(object, old, { now });
    expect([...batchJob.validate!(object, old), ...batchJob.validateUpdate!(object, old)]).toEqual([]);
  });

  test('cannot be another', () => {
    const selector = { matchLabels: { x: 'y' } };
    expect(errorsOf(make({ selector }))).toEqual([
      ['spec.selector', 'I', expect.stringMatching(/: `selector` not auto-generated$/)],
      [
        'spec.template.metadata.labels',
        'I',
        expect.stringMatching(/: `selector` does not match template `labels`$/),
      ],
    ]);
    expect(errorsOf(make({ template: template({}, { 'job-name': 'x' }) }))).toEqual([
      ['spec.template.metadata.labels[job-name]', 'I', expect.stringMatching(/: must be 'j'$/)],
    ]);
  });
});

describe('rules', () => {
  const cases: [name: string, spec: object, ...errors: Expected[]][] = [
    ['nothing wrong', {}],
    ...['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished'].map(
      (name): [string, object, Expected] => [
        `negative ${name}`,
        { [name]: -1 },
        [`spec.${name}`, 'I', 'Invalid value: -1: must be greater than or equal to 0'],
      ],
    ),
    [
      'restartPolicy Always',
      { template: template({ restartPolicy: undefined }) },
      ['spec.template.spec.restartPolicy', 'R', 'Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      'restartPolicy with a failure policy',
      {
        podFailurePolicy: { rules: [{ action: 'Ignore', onExitCodes: { operator: 'In', values: [1] } }] },
        template: template({ restartPolicy: 'OnFailure' }),
      },
      [
        'spec.template.spec.restartPolicy',
        'I',
        'Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified',
      ],
    ],
    [
      'template',
      { template: template({ containers: [] }) },
      ['spec.template.spec.containers', 'R', 'Required value'],
    ],
    ['indexed', { completionMode: 'Indexed', completions: 3 }],
  ];
  test.each(cases.map(([name, spec, ...errors]) => ({ name, spec, errors })))('$name', ({ spec, errors }) => {
    expect(errorsOf(make(spec))).toEqual(errors);
  });

  test('pods of an indexed job need names', () => {
    const name = 'n'.repeat(62);
    expect(errorsOf(make({ completionMode: 'Indexed', completions: 1 }, { name }))).toEqual([
      [
        'metadata.name',
        'I',
        `Invalid value: "${name}": will not able to create pod with invalid DNS label: ${name}-0`,
      ],
    ]);
    expect(errorsOf(make({}, { name }))).toEqual([]);
  });
});

describe('update', () => {
  const changes = (before: object, after: object, status: object = {}) =>
    brief(batchJob.validateUpdate!(make(after), { ...stored<JobV1>(batchJob, make(before)), status }));

  test.each([
    [{}, { parallelism: 5, completions: 1 }],
    [{}, { activeDeadlineSeconds: 9 }],
    [{}, { suspend: true }],
    [{}, { backoffLimit: 1, ttlSecondsAfterFinished: 1 }],
    [
      { completionMode: 'Indexed', completions: 2, parallelism: 2 },
      { completionMode: 'Indexed', completions: 3, parallelism: 3 },
    ],
  ])('%j may become %j', (before, after) => {
    expect(changes(before, after)).toEqual([]);
  });

  const indexed = { completionMode: 'Indexed', completions: 2 };
  const policy = { rules: [{ action: 'Ignore', onExitCodes: { operator: 'In', values: [1] } }] };
  test.each([
    ['completions', { completions: 1 }, { completions: 2 }],
    ['selector', {}, { selector: { matchLabels: { a: 'b' } } }],
    ['template', {}, { template: template({ hostNetwork: true }) }],
    ['completionMode', { completions: 2 }, indexed],
    ['podFailurePolicy', { podReplacementPolicy: 'Failed' }, { podFailurePolicy: policy }],
    ['backoffLimitPerIndex', indexed, { ...indexed, backoffLimitPerIndex: 1 }],
    ['managedBy', {}, { managedBy: 'example.com/a' }],
    ['successPolicy', indexed, { ...indexed, successPolicy: { rules: [{ succeededCount: 1 }] } }],
  ])('%s may not change', (field, before, after) => {
    expect(changes(before, after)).toEqual([
      [`spec.${field}`, 'I', expect.stringMatching(/: field is immutable$/)],
    ]);
  });

  test('an indexed job grows as a whole', () => {
    expect(changes(indexed, { ...indexed, completions: 3 })).toEqual([
      ['spec.completions', 'I', 'Invalid value: 3: can only be modified in tandem with spec.parallelism'],
    ]);
  });

  describe('of the template of a suspended job', () => {
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }],
      },
    };
    const moved = template(
      {
        nodeSelector: { zone: 'a' },
        tolerations: [{ operator: 'Exists' }],
        schedulingGates: [{ name: 'queue' }],
        affinity: { nodeAffinity },
      },
      { a: 'b', c: 'd' },
    );
    const paused = { suspend: true };

    test('where it runs may change, until it has run', () => {
      expect(changes(paused, { ...paused, template: moved })).toEqual([]);
      expect(changes({ ...paused, template: moved }, paused)).toEqual([]);
      const refused = [['spec.template', 'I', expect.stringMatching(/: field is immutable$/)]];
      expect(changes({}, { template: moved })).toEqual(refused);
      expect(changes(paused, { ...paused, template: moved }, { startTime: now })).toEqual(refused);
    });

    test('what it runs may not', () => {
      for (const spec of [{ hostNetwork: true }, { affinity: { podAffinity: {} } }])
        expect(changes(paused, { ...paused, template: template(spec) })).toHaveLength(1);
    });
  });
});

test('warnings', () => {
  expect(batchJob.warnings!(make({}, { name: 'a.b' }), undefined)).toEqual([
    expect.stringMatching(/^metadata\.name: this is used in Pod names and hostnames/),
  ]);
  const large = { completionMode: 'Indexed', completions: 100_001, parallelism: 10_001 };
  expect(batchJob.warnings!(make(large), undefined)).toEqual([
    expect.stringMatching(/^spec: In Indexed Jobs/),
  ]);
});

test('table', () => {
  const object = make({ completions: 5 });
  expect(shownCells(batchJob, object, Date.parse(now))).toEqual([
    'j',
    'Running',
    '0/5',
    '',
    '0s',
    'c',
    'i:1',
    `batch.kubernetes.io/controller-uid=${uid}`,
  ]);
  expect(batchJob.columns!.map(({ name }) => name)).toHaveLength(8);
  expect(
    batchJob.selectableFields['status.successful']!({ ...object, status: { succeeded: 2 } } as JobV1),
  ).toBe('2');
});
