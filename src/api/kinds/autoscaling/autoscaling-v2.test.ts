/** Proves the defaults and rules of autoscalers in autoscaling/v2, and the cells of their table. */
import { describe, expect, test } from 'vitest';
import {
  cells,
  createdAge,
  createErrors,
  error,
  shownCells,
  statusErrors,
  updateErrors,
  written,
} from '../kind.fixture.ts';
import { autoscalingV2 as autoscaler } from './autoscaling-v2.ts';

const spec = { scaleTargetRef: { kind: 'ReplicationController', name: 'rc' }, maxReplicas: 3 };
const path = 'spec.scaleTargetRef';
const errors = (change: object) => createErrors(autoscaler, { spec: { ...spec, ...change } });

describe('defaults', () => {
  test('one metric', () => {
    expect(written(autoscaler, { spec, status: { currentReplicas: 4 } })).toMatchObject({
      spec: {
        ...spec,
        minReplicas: 1,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
          },
        ],
      },
      status: { desiredReplicas: 0 },
    });
  });

  test('behavior, where there is one', () => {
    const policies = [{ type: 'Pods', value: 1, periodSeconds: 60 }];
    expect(written(autoscaler, { spec }).spec).not.toHaveProperty('behavior');
    expect(
      written(autoscaler, {
        spec: { ...spec, behavior: { scaleUp: { policies }, scaleDown: { selectPolicy: 'Disabled' } } },
      }).spec,
    ).toMatchObject({
      behavior: {
        scaleUp: { stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies },
        scaleDown: {
          selectPolicy: 'Disabled',
          policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
        },
      },
    });
  });
});

test.each<[name: string, change: object, errors: ReturnType<typeof error>[]]>([
  ['fine', {}, []],
  [
    'min 0',
    { minReplicas: 0 },
    [
      error('I', 'spec.minReplicas', 'Invalid value: 0: must be greater than or equal to 1'),
      error(
        'F',
        'spec.metrics',
        'Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
      ),
    ],
  ],
  [
    'max missing',
    { maxReplicas: 0 },
    [
      error('R', 'spec.maxReplicas', 'Required value: must be set and greater than 0'),
      error('I', 'spec.maxReplicas', 'Invalid value: 0: must be greater than or equal to `minReplicas`'),
    ],
  ],
  [
    'no reference',
    { scaleTargetRef: {} },
    [
      error('R', `${path}.kind`, 'Required value'),
      error('R', `${path}.name`, 'Required value'),
      error('I', `${path}.apiVersion`, 'Invalid value: "": apiVersion must specify API group'),
    ],
  ],
  [
    'reference with slashes',
    { scaleTargetRef: { kind: 'a/b', name: 'c%', apiVersion: 'apps/v1' } },
    [
      error('I', `${path}.kind`, 'Invalid value: "a/b": may not contain \'/\''),
      error('I', `${path}.name`, 'Invalid value: "c%": may not contain \'%\''),
    ],
  ],
  ['reference to a group', { scaleTargetRef: { kind: 'X', name: 'x', apiVersion: 'apps/v1' } }, []],
  [
    'reference without a group',
    { scaleTargetRef: { kind: 'X', name: 'x', apiVersion: 'v1' } },
    [error('I', `${path}.apiVersion`, 'Invalid value: "v1": apiVersion must specify API group')],
  ],
  [
    'reference to too much',
    { scaleTargetRef: { kind: 'X', name: 'x', apiVersion: 'a/b/c' } },
    [error('I', `${path}.apiVersion`, 'Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c')],
  ],
])('spec: %s', (_, change, expected) => {
  expect(errors(change)).toEqual(expected);
});

test('a reference that was there already is not looked at again', () => {
  const old = { spec: { ...spec, scaleTargetRef: { kind: 'X', name: 'x' } } };
  const change = (scaleTargetRef: object) =>
    updateErrors(autoscaler, { spec: { ...spec, scaleTargetRef } }, old);
  expect(change({ kind: 'X', name: 'y' })).toEqual([]);
  expect(change({ kind: 'Y', name: 'x' })).toHaveLength(1);
  expect(change({ kind: 'X', name: 'x', apiVersion: 'v1' })).toHaveLength(1);
});

describe('behavior', () => {
  const up = 'spec.behavior.scaleUp';
  const rules = (scaleUp: object) => errors({ behavior: { scaleUp } });
  const policy = (fields: object) =>
    rules({ policies: [{ type: 'Pods', value: 1, periodSeconds: 1, ...fields }] });

  test.each<[object, ReturnType<typeof error>[]]>([
    [{ stabilizationWindowSeconds: 3600, selectPolicy: 'Min', tolerance: '100m' }, []],
    [
      { stabilizationWindowSeconds: -1 },
      [
        error(
          'I',
          `${up}.stabilizationWindowSeconds`,
          'Invalid value: -1: must be greater than or equal to zero',
        ),
      ],
    ],
    [
      { stabilizationWindowSeconds: 3601 },
      [
        error(
          'I',
          `${up}.stabilizationWindowSeconds`,
          'Invalid value: 3601: must be less than or equal to 3600',
        ),
      ],
    ],
    [
      { selectPolicy: 'X' },
      [
        error(
          'N',
          `${up}.selectPolicy`,
          'Unsupported value: "X": supported values: "Disabled", "Max", "Min"',
        ),
      ],
    ],
    [
      { tolerance: '-1' },
      [error('I', `${up}.tolerance`, 'Invalid value: "-1": must be greater than or equal to 0')],
    ],
  ])('%j', (scaleUp, expected) => {
    expect(rules(scaleUp)).toEqual(expected);
  });

  test.each<[object, ReturnType<typeof error>[]]>([
    [{ periodSeconds: 1800 }, []],
    [
      { type: 'X' },
      [error('N', `${up}.policies[0].type`, 'Unsupported value: "X": supported values: "Percent", "Pods"')],
    ],
    [{ value: 0 }, [error('I', `${up}.policies[0].value`, 'Invalid value: 0: must be greater than zero')]],
    [
      { periodSeconds: 0 },
      [error('I', `${up}.policies[0].periodSeconds`, 'Invalid value: 0: must be greater than zero')],
    ],
    [
      { periodSeconds: 1801 },
      [
        error(
          'I',
          `${up}.policies[0].periodSeconds`,
          'Invalid value: 1801: must be less than or equal to 1800',
        ),
      ],
    ],
  ])('policy %j', (fields, expected) => {
    expect(policy(fields)).toEqual(expected);
  });
});

test.each(['currentReplicas', 'desiredReplicas'])('status: %s', (field) => {
  expect(statusErrors(autoscaler, { status: { [field]: 0 } }, { spec })).toEqual([]);
  expect(statusErrors(autoscaler, { status: { [field]: -1 } }, { spec })).toEqual([
    error('I', `status.${field}`, 'Invalid value: -1: must be greater than or equal to 0'),
  ]);
});

test('cells', () => {
  expect(cells(autoscaler, { spec, status: { currentReplicas: 2 } })).toEqual({
    Name: 'a',
    Reference: 'ReplicationController/rc',
    Targets: 'cpu: <unknown>/80%',
    MinPods: '1',
    MaxPods: 3,
    Replicas: 2,
    Age: createdAge,
  });
  const bare = { metadata: { name: 'a' }, spec: {} };
  expect(shownCells(autoscaler, bare, 0)).toMatchObject({ 1: '/', 2: '<none>', 3: '<unset>', 4: 0 });
});
