// Proves Job (kinds.md 21.1, 8.2): defaults, its own selector, rules for spec, updates and status, table.
import { describe, expect, test } from 'vitest';
import type { Job, JobStatus } from '../../generated/types.ts';
import { columnDefinitions } from '../../kind/table.ts';
import { brief, container, type Expected, made, now, stored, uid } from '../core/pod.fixture.ts';
import { shownCells } from '../kind.fixture.ts';
import { job } from './job.ts';

const template = (spec: object = {}, labels: object = { a: 'b' }) => ({
  metadata: { labels },
  spec: { containers: [container()], restartPolicy: 'Never', ...spec },
});
const make = (spec: object = {}, metadata: object = {}): Job =>
  made(job, { metadata: { name: 'j', ...metadata }, spec: { template: template(), ...spec } });
const errorsOf = (object: Job) => brief(job.validate!(object));

describe('defaults', () => {
  test.each([
    [{}, 1, 1],
    [{ completions: 3 }, 3, 1],
    [{ parallelism: 2 }, undefined, 2],
    [{ completions: 3, parallelism: 0 }, 3, 0],
  ])('%j', (spec, completions, parallelism) => {
    expect(make(spec).spec).toMatchObject({ parallelism });
    expect(make(spec).spec!.completions).toBe(completions);
  });

  test('selector and labels from the template', () => {
    const { metadata, spec } = make();
    expect(metadata.labels).toEqual({ a: 'b' });
    expect(spec!.selector).toEqual({ matchLabels: { a: 'b' } });
    expect(spec!.template!.spec).toMatchObject({ dnsPolicy: 'ClusterFirst', restartPolicy: 'Never' });
  });

  test('what is given stays', () => {
    const { metadata, spec } = make({ selector: {} }, { labels: { c: 'd' } });
    expect([metadata.labels, spec!.selector]).toEqual([{ c: 'd' }, {}]);
  });
});

describe('selector of its own', () => {
  const own = {
    'batch.kubernetes.io/controller-uid': uid,
    'controller-uid': uid,
    'batch.kubernetes.io/job-name': 'j',
    'job-name': 'j',
  };
  test('is made from the uid', () => {
    const object = make({ autoSelector: true });
    expect(object.spec!.selector).toEqual({ matchLabels: { 'batch.kubernetes.io/controller-uid': uid } });
    expect(object.spec!.template!.metadata!.labels).toEqual({ a: 'b', ...own });
    expect(object.metadata.labels).toEqual({ a: 'b', ...own });
    expect(errorsOf(object)).toEqual([]);
  });

  test('needs no labels, and leaves those of the job alone', () => {
    const object = make({ autoSelector: true, template: template({}, {}) }, { labels: { x: 'y' } });
    expect(object.spec!.template!.metadata!.labels).toEqual(own);
    expect(object.metadata.labels).toEqual({ x: 'y' });
    expect(errorsOf(object)).toEqual([]);
  });

  test('survives an update', () => {
    const old = stored<Job>(job, make({ autoSelector: true }));
    const object = structuredClone(old);
    job.defaults!(object);
    job.prepareForUpdate!(object, old, { now });
    expect([...job.validate!(object), ...job.validateUpdate!(object, old)]).toEqual([]);
  });

  test('cannot be another', () => {
    const selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': 'x' } };
    expect(errorsOf(make({ autoSelector: true, selector }))).toEqual([
      [
        'spec.template.metadata.labels',
        'I',
        expect.stringContaining('`selector` does not match template `labels`'),
      ],
      [
        'spec.selector',
        'I',
        'Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"x"}}: `selector` not auto-generated',
      ],
    ]);
  });

  test('nor can its labels go away', () => {
    const old = stored<Job>(job, make({ autoSelector: true }));
    const object = structuredClone(old);
    delete object.spec!.template!.metadata!.labels!['job-name'];
    expect(errorsOf(object)).toEqual([
      ['spec.template.metadata.labels[job-name]', 'R', "Required value: must be 'j'"],
    ]);
  });

  test('nor can the labels', () => {
    const object = make({ autoSelector: true, template: template({}, { 'job-name': 'x' }) });
    expect(errorsOf(object)).toEqual([
      ['spec.template.metadata.labels[job-name]', 'I', expect.stringMatching(/: must be 'j'$/)],
    ]);
  });
});

describe('rules', () => {
  const cases: [name: string, spec: object, ...errors: Expected[]][] = [
    ['nothing wrong', {}],
    ...['parallelism', 'completions', 'activeDeadlineSeconds'].map((name): [string, object, Expected] => [
      `negative ${name}`,
      { [name]: -1 },
      [`spec.${name}`, 'I', 'Invalid value: -1: must be greater than or equal to 0'],
    ]),
    [
      'no selector',
      { template: template({}, {}) },
      ['spec.selector', 'R', 'Required value'],
      [
        'spec.template.metadata.labels',
        'I',
        'Invalid value: null: `selector` does not match template `labels`',
      ],
    ],
    [
      'bad selector',
      { selector: { matchExpressions: [{ key: 'a', operator: 'X' }] } },
      [
        'spec.selector.matchExpressions[0].operator',
        'I',
        'Invalid value: "X": not a valid selector operator',
      ],
    ],
    [
      'selector for other pods',
      { selector: { matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] } },
      [
        'spec.template.metadata.labels',
        'I',
        'Invalid value: {"a":"b"}: `selector` does not match template `labels`',
      ],
    ],
    ...[undefined, 'Always'].map((restartPolicy): [string, object, Expected] => [
      `restartPolicy ${restartPolicy}`,
      { template: template({ restartPolicy }) },
      ['spec.template.spec.restartPolicy', 'R', 'Required value: valid values: "OnFailure", "Never"'],
    ]),
    [
      'other restartPolicy',
      { template: template({ restartPolicy: 'X' }) },
      [
        'spec.template.spec.restartPolicy',
        'N',
        'Unsupported value: "X": supported values: "Always", "OnFailure", "Never"',
      ],
      [
        'spec.template.spec.restartPolicy',
        'N',
        'Unsupported value: "X": supported values: "OnFailure", "Never"',
      ],
    ],
    [
      'template',
      { template: template({ containers: [] }) },
      ['spec.template.spec.containers', 'R', 'Required value'],
    ],
  ];
  test.each(cases.map(([name, spec, ...errors]) => ({ name, spec, errors })))('$name', ({ spec, errors }) => {
    expect(errorsOf(make(spec))).toEqual(errors);
  });
});

describe('update', () => {
  const changes = (before: object, after: object) =>
    brief(job.validateUpdate!(make(after), stored(job, make(before))));

  test('parallelism and deadline may change', () => {
    expect(changes({ parallelism: 1, completions: 1 }, { parallelism: 5, completions: 1 })).toEqual([]);
    expect(changes({}, { activeDeadlineSeconds: 9 })).toEqual([]);
  });

  test('completions, selector and template may not', () => {
    expect(changes({ completions: 1 }, { completions: 2 })).toEqual([
      ['spec.completions', 'I', 'Invalid value: 2: field is immutable'],
    ]);
    expect(changes({}, { selector: {} })).toEqual([
      ['spec.selector', 'I', 'Invalid value: {}: field is immutable'],
    ]);
    expect(changes({}, { template: template({ hostNetwork: true }) })).toEqual([
      ['spec.template', 'I', expect.stringMatching(/^Invalid value: \{.*\}: field is immutable$/)],
    ]);
  });
});

describe('status', () => {
  test.each(['active', 'succeeded', 'failed'])('negative %s', (name) => {
    const object: Job = { ...make(), status: { [name]: -1 } };
    expect(brief(job.changes.status!.validate!(object, object))).toEqual([
      [`status.${name}`, 'I', 'Invalid value: -1: must be greater than or equal to 0'],
    ]);
  });
});

test('a name with dots is warned of', () => {
  expect(job.warnings!(make({}, { name: 'a.b' }), undefined)).toEqual([
    'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
  ]);
});

describe('table', () => {
  const nowMs = Date.parse(now);
  const cells = (object: Job, status: JobStatus = {}) => shownCells(job, { ...object, status }, nowMs);

  test('columns', () => {
    expect(columnDefinitions(job).map(({ name, priority }) => [name, priority])).toEqual([
      ['Name', 0],
      ['Status', 0],
      ['Completions', 0],
      ['Duration', 0],
      ['Age', 0],
      ['Containers', 1],
      ['Images', 1],
      ['Selector', 1],
    ]);
  });

  test('a new job', () => {
    expect(cells(make())).toEqual(['j', 'Running', '0/1', '', '0s', 'c', 'i:1', 'a=b']);
  });

  test.each([
    [['Complete', 'SuccessCriteriaMet'], undefined, 'Complete'],
    [['FailureTarget', 'Failed'], undefined, 'Failed'],
    [['Suspended'], now, 'Terminating'],
    [['Complete'], now, 'Complete'],
    [['Suspended'], undefined, 'Suspended'],
    [['FailureTarget'], undefined, 'FailureTarget'],
    [['SuccessCriteriaMet'], undefined, 'SuccessCriteriaMet'],
    [[], undefined, 'Running'],
  ])('status of %j, deleted %s', (types, deletionTimestamp, text) => {
    const object = make();
    object.metadata.deletionTimestamp = deletionTimestamp;
    const conditions = [
      { type: 'Other', status: 'True' },
      ...types.map((type) => ({ type, status: 'True' })),
    ];
    expect(cells(object, { conditions })[1]).toBe(text);
  });

  test('conditions that are not true do not count', () => {
    expect(cells(make(), { conditions: [{ type: 'Complete', status: 'False' }] })[1]).toBe('Running');
  });

  test.each([
    [{ completions: 5 }, '2/5'],
    [{ parallelism: 3 }, '2/1 of 3'],
    [{ parallelism: 1 }, '2/1'],
  ])('completions of %j', (spec, text) => {
    expect(cells(make(spec), { succeeded: 2 })[2]).toBe(text);
  });

  test('duration, to the end or until now', () => {
    const startTime = '2024-05-01T11:50:00Z';
    expect(cells(make(), { startTime })[3]).toBe('10m');
    expect(cells(make(), { startTime, completionTime: '2024-05-01T11:50:30Z' })[3]).toBe('30s');
  });
});
