// Proves ReplicationController (kinds.md 14.1, 14.2, 8.2): defaults, rules for spec and status, table.
import { describe, expect, test } from 'vitest';
import type { ReplicationController } from '../../generated/types.ts';
import { columnDefinitions } from '../../kind/table.ts';
import { shownCells } from '../kind.fixture.ts';
import { brief, container, type Expected, made, now, stored } from './pod.fixture.ts';
import { replicationController } from './replication-controller.ts';

const template = (spec: object = {}, labels: object = { a: 'b' }) => ({
  metadata: { labels },
  spec: { containers: [container()], ...spec },
});
const make = (spec: object, metadata: object = {}): ReplicationController =>
  made(replicationController, { metadata: { name: 'r', ...metadata }, spec });

describe('defaults', () => {
  test('from the template', () => {
    const { metadata, spec } = make({ template: template() });
    expect(metadata.labels).toEqual({ a: 'b' });
    expect(spec).toMatchObject({ replicas: 1, selector: { a: 'b' } });
    expect(spec!.template!.spec).toMatchObject({ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' });
    expect(spec!.template!.spec!.enableServiceLinks).toBeUndefined();
    expect(spec!.selector).not.toBe(spec!.template!.metadata!.labels);
  });

  test('what is given stays', () => {
    const { metadata, spec } = make(
      { replicas: 0, selector: { c: 'd' }, template: template() },
      { labels: { e: 'f' } },
    );
    expect([metadata.labels, spec!.replicas, spec!.selector]).toEqual([{ e: 'f' }, 0, { c: 'd' }]);
  });

  test('a controller without a template gets none', () => {
    expect(make({}).spec).toEqual({ replicas: 1 });
  });
});

describe('rules', () => {
  const cases: [name: string, spec: object, ...errors: Expected[]][] = [
    ['nothing wrong', { template: template() }],
    ['empty', {}, ['spec.selector', 'R', 'Required value'], ['spec.template', 'R', 'Required value']],
    [
      'negative numbers',
      { replicas: -1, minReadySeconds: -2, template: template() },
      ['spec.minReadySeconds', 'I', 'Invalid value: -2: must be greater than or equal to 0'],
      ['spec.replicas', 'I', 'Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'selector for other pods',
      { selector: { a: 'c' }, template: template() },
      [
        'spec.template.metadata.labels',
        'I',
        'Invalid value: {"a":"b"}: `selector` does not match template `labels`',
      ],
    ],
    [
      'selector for pods without labels',
      { selector: { a: 'c' }, template: template({}, {}) },
      [
        'spec.template.metadata.labels',
        'I',
        'Invalid value: null: `selector` does not match template `labels`',
      ],
    ],
    [
      'restartPolicy',
      { template: template({ restartPolicy: 'Never' }) },
      ['spec.template.spec.restartPolicy', 'N', 'Unsupported value: "Never": supported values: "Always"'],
    ],
    [
      'activeDeadlineSeconds',
      { template: template({ activeDeadlineSeconds: 1 }) },
      [
        'spec.template.spec.activeDeadlineSeconds',
        'F',
        'Forbidden: activeDeadlineSeconds in ReplicationController is not Supported',
      ],
    ],
    [
      'template',
      { template: template({ containers: [] }) },
      ['spec.template.spec.containers', 'R', 'Required value'],
    ],
  ];
  test.each(cases.map(([name, spec, ...errors]) => ({ name, spec, errors })))('$name', ({ spec, errors }) => {
    expect(brief(replicationController.validate!(make(spec)))).toEqual(errors);
  });

  test('nothing in the spec is immutable', () => {
    expect(replicationController.validateUpdate).toBeUndefined();
  });
});

describe('status', () => {
  const counts = [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
  ];
  const errorsOf = (status: object) => {
    const object = { ...make({ template: template() }), status };
    return brief(replicationController.changes.status!.validate!(object, object));
  };
  test.each(counts)('negative %s', (name) => {
    expect(errorsOf({ replicas: name === 'replicas' ? -1 : 0, [name]: -1 })).toContainEqual([
      `status.${name}`,
      'I',
      'Invalid value: -1: must be greater than or equal to 0',
    ]);
  });

  test.each(['fullyLabeledReplicas', 'readyReplicas'])('%s above replicas', (name) => {
    expect(errorsOf({ replicas: 1, [name]: 2 })).toEqual([
      [`status.${name}`, 'I', 'Invalid value: 2: cannot be greater than status.replicas'],
    ]);
  });

  test('availableReplicas', () => {
    expect(errorsOf({ replicas: 2, readyReplicas: 3, availableReplicas: 3 })).toEqual([
      ['status.readyReplicas', 'I', 'Invalid value: 3: cannot be greater than status.replicas'],
      ['status.availableReplicas', 'I', 'Invalid value: 3: cannot be greater than status.replicas'],
    ]);
    expect(errorsOf({ replicas: 2, readyReplicas: 1, availableReplicas: 2 })).toEqual([
      ['status.availableReplicas', 'I', 'Invalid value: 2: cannot be greater than readyReplicas'],
    ]);
    expect(errorsOf({ replicas: 2, readyReplicas: 2, availableReplicas: 2 })).toEqual([]);
  });
});

test('warnings', () => {
  const nodeSelector = { 'beta.kubernetes.io/os': 'linux' };
  const object = make({ template: template({ nodeSelector }) }, { name: 'a.b' });
  const text =
    'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead';
  expect(replicationController.warnings!(object, undefined)).toEqual([
    'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
    text,
  ]);
  const old = stored<ReplicationController>(replicationController, object);
  expect(replicationController.warnings!(object, old)).toEqual([]);
  object.metadata.generation = 2;
  expect(replicationController.warnings!(object, old)).toEqual([text]);
});

test('table', () => {
  expect(
    columnDefinitions(replicationController).map(({ name, type, priority }) => [name, type, priority]),
  ).toEqual([
    ['Name', 'string', 0],
    ['Desired', 'integer', 0],
    ['Current', 'integer', 0],
    ['Ready', 'integer', 0],
    ['Age', 'string', 0],
    ['Containers', 'string', 1],
    ['Images', 'string', 1],
    ['Selector', 'string', 1],
  ]);
  const object = make({ replicas: 3, template: template() });
  object.status = { replicas: 2, readyReplicas: 1 };
  expect(shownCells(replicationController, object, Date.parse(now) + 5000)).toEqual([
    'r',
    3,
    2,
    1,
    '5s',
    'c',
    'i:1',
    'a=b',
  ]);
});
