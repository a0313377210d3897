// Proves DaemonSet of apps/v1: defaults, the count of templates, rules for spec, update and status, table.
import { describe, expect, test } from 'vitest';
import type { DaemonSet } from '../../generated/types.ts';
import {
  columns,
  notNegative,
  template,
  templateCases,
  testSpecs,
  unmatched,
  workload,
} from '../../rules/workload/workload.fixture.ts';
import { brief, made, now } from '../core/pod.fixture.ts';
import { shownCells, statusErrors, statusUpdated, updated, updateErrors, written } from '../kind.fixture.ts';
import { daemonSet } from './daemon-set.ts';

const make = (spec: object = {}, metadata: object = {}): DaemonSet =>
  made(daemonSet, workload(spec, metadata));

describe('defaults', () => {
  test('of everything', () => {
    expect(make().spec).toMatchObject({
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      revisionHistoryLimit: 10,
      template: { spec: { restartPolicy: 'Always' } },
    });
  });

  test('what is given stays', () => {
    const rollingUpdate = { maxUnavailable: 0, maxSurge: '10%' };
    const spec = { updateStrategy: { rollingUpdate }, revisionHistoryLimit: 0 };
    expect(make(spec).spec).toMatchObject(spec);
    expect(make({ updateStrategy: { type: 'OnDelete' } }).spec!.updateStrategy).toEqual({ type: 'OnDelete' });
  });
});

describe('templates are counted', () => {
  const name = 'deprecated.daemonset.template.generation';
  const count = ({ metadata }: { metadata: DaemonSet['metadata'] }) => metadata.annotations?.[name];

  test('from one', () => {
    expect(make().metadata.annotations).toEqual({ [name]: '1' });
    expect(count(make({}, { annotations: { [name]: '7' } }))).toBe('7');
    for (const text of ['0', '-3', 'x', ''])
      expect(count(make({}, { annotations: { [name]: text } }))).toBe('1');
  });

  test('when they change, and only then', () => {
    const old = written(daemonSet, workload());
    const counted = (spec: object, metadata: object = {}) =>
      count(updated(daemonSet, workload(spec, metadata), old));
    expect(counted({ template: template({ hostNetwork: true }) })).toBe('2');
    expect(counted({ minReadySeconds: 5 })).toBe('1');
    expect(counted({}, { annotations: { [name]: '9' } })).toBe('1');
    expect(count(statusUpdated(daemonSet, workload({}, { annotations: { [name]: '9' } }), old))).toBe('1');
  });
});

const strategy = (rollingUpdate: object) => ({ updateStrategy: { rollingUpdate } });
const rolling = 'spec.updateStrategy.rollingUpdate';

describe('rules', () => {
  testSpecs(daemonSet, [
    ...templateCases('DaemonSet'),
    // Kubernetes does not report a missing selector as required.
    ['no selector', { selector: undefined }, unmatched('{"a":"b"}')],
    [
      'a selector of everything',
      { selector: {} },
      ['spec.selector', 'I', 'Invalid value: {}: empty selector is invalid for daemonset'],
    ],
    [
      'a selector that makes no sense',
      { selector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } },
      [
        'spec.selector.matchExpressions[0].operator',
        'I',
        'Invalid value: "Like": not a valid selector operator',
      ],
    ],
    [
      'negative numbers',
      { minReadySeconds: -1, revisionHistoryLimit: -2 },
      ['spec.minReadySeconds', 'I', notNegative(-1)],
      ['spec.revisionHistoryLimit', 'I', notNegative(-2)],
    ],
    [
      'an unknown strategy',
      { updateStrategy: { type: 'Recreate' } },
      [
        'spec.updateStrategy',
        'N',
        'Unsupported value: {"type":"Recreate"}: supported values: "RollingUpdate", "OnDelete"',
      ],
    ],
    ['a percentage', strategy({ maxUnavailable: '100%' })],
    ['the new pod first', strategy({ maxUnavailable: 0, maxSurge: '10%' })],
    [
      'both zero',
      strategy({ maxUnavailable: 0 }),
      [`${rolling}.maxUnavailable`, 'R', 'Required value: cannot be 0 when maxSurge is 0'],
    ],
    [
      'neither zero',
      strategy({ maxSurge: 1 }),
      [`${rolling}.maxSurge`, 'I', 'Invalid value: 1: may not be set when maxUnavailable is non-zero'],
    ],
    [
      'more than all',
      strategy({ maxUnavailable: 0, maxSurge: '101%' }),
      [`${rolling}.maxSurge`, 'I', 'Invalid value: "101%": must not be greater than 100%'],
    ],
    ['below zero', strategy({ maxUnavailable: -1 }), [`${rolling}.maxUnavailable`, 'I', notNegative(-1)]],
  ]);
});

test('updates may change all but the selector', () => {
  const change = { template: template({ hostNetwork: true }), updateStrategy: { type: 'OnDelete' } };
  expect(updateErrors(daemonSet, workload(change), workload())).toEqual([]);
  const other = { selector: { matchLabels: { c: 'd' } }, template: template({}, { c: 'd' }) };
  expect(brief(updateErrors(daemonSet, workload(other), workload()))).toEqual([
    ['spec.selector', 'I', 'Invalid value: {"matchLabels":{"c":"d"}}: field is immutable'],
  ]);
});

describe('status', () => {
  test.each([
    'currentNumberScheduled',
    'numberMisscheduled',
    'desiredNumberScheduled',
    'numberReady',
    'observedGeneration',
    'updatedNumberScheduled',
    'numberAvailable',
    'numberUnavailable',
    'collisionCount',
  ])('%s is not below zero', (name) => {
    expect(brief(statusErrors(daemonSet, { status: { [name]: -1 } }, workload()))).toEqual([
      [`status.${name}`, 'I', notNegative(-1)],
    ]);
    expect(statusErrors(daemonSet, { status: { [name]: 5 } }, workload())).toEqual([]);
  });

  test('counts collisions upwards', () => {
    const old = { ...written(daemonSet, workload()), status: { collisionCount: 2 } };
    const status = { collisionCount: 1 };
    const errors = daemonSet.changes.status!.validate!(statusUpdated(daemonSet, { status }, old), old);
    expect(brief(errors)).toEqual([
      ['status.collisionCount', 'I', 'Invalid value: 1: cannot be decremented'],
    ]);
  });
});

test('warnings come with a new template, whatever the name', () => {
  const spec = { template: template({ nodeSelector: { 'beta.kubernetes.io/os': 'linux' } }) };
  const object = make(spec, { name: 'a.b' });
  const text =
    'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead';
  expect(daemonSet.warnings!(object, undefined)).toEqual([text]);
  const slower = updated(daemonSet, workload({ ...spec, minReadySeconds: 1 }), object);
  expect(daemonSet.warnings!(slower, object)).toEqual([]);
  expect(daemonSet.warnings!(updated(daemonSet, workload(spec), make()), make())).toEqual([text]);
});

test('table', () => {
  expect(columns(daemonSet)).toEqual([
    ['Name', 'string', 0],
    ['Desired', 'integer', 0],
    ['Current', 'integer', 0],
    ['Ready', 'integer', 0],
    ['Up-to-date', 'integer', 0],
    ['Available', 'integer', 0],
    ['Node Selector', 'string', 0],
    ['Age', 'string', 0],
    ['Containers', 'string', 1],
    ['Images', 'string', 1],
    ['Selector', 'string', 1],
  ]);
  const object = make({ template: template({ nodeSelector: { y: '2', x: '1' } }) });
  const row = () => shownCells(daemonSet, object, Date.parse(now) + 5000);
  expect(row()).toEqual(['w', 0, 0, 0, 0, 0, 'x=1,y=2', '5s', 'c', 'i:1', 'a=b']);
  object.status = {
    desiredNumberScheduled: 5,
    currentNumberScheduled: 4,
    numberReady: 3,
    updatedNumberScheduled: 2,
    numberAvailable: 1,
  };
  expect(row().slice(0, 6)).toEqual(['w', 5, 4, 3, 2, 1]);
  expect(shownCells(daemonSet, make(), 0)[6]).toBe('<none>');
});
