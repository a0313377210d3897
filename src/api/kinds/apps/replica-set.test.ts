// Proves ReplicaSet of apps/v1: defaults, rules for spec, update and status, table.
import { describe, expect, test } from 'vitest';
import type { ReplicaSet } from '../../generated/types.ts';
import {
  columns,
  notNegative,
  selectorCases,
  template,
  templateCases,
  testSpecs,
  workload,
} from '../../rules/workload/workload.fixture.ts';
import { brief, made, now } from '../core/pod.fixture.ts';
import { shownCells, statusErrors, updateErrors } from '../kind.fixture.ts';
import { replicaSet } from './replica-set.ts';

test('defaults', () => {
  expect(made<ReplicaSet>(replicaSet, workload()).spec).toMatchObject({
    replicas: 1,
    template: { spec: { restartPolicy: 'Always' } },
  });
  expect(made<ReplicaSet>(replicaSet, workload({ replicas: 0 })).spec!.replicas).toBe(0);
});

describe('rules', () => {
  testSpecs(replicaSet, [
    ...templateCases('ReplicaSet'),
    ...selectorCases('deployment'),
    [
      'negative numbers',
      { replicas: -1, minReadySeconds: -2 },
      ['spec.replicas', 'I', notNegative(-1)],
      ['spec.minReadySeconds', 'I', notNegative(-2)],
    ],
  ]);
});

test('updates may change all but the selector', () => {
  const change = { replicas: 3, template: template({ hostNetwork: true }), minReadySeconds: 1 };
  expect(updateErrors(replicaSet, workload(change), workload())).toEqual([]);
  const matchExpressions = [{ key: 'a', operator: 'Exists' }];
  expect(brief(updateErrors(replicaSet, workload({ selector: { matchExpressions } }), workload()))).toEqual([
    [
      'spec.selector',
      'I',
      'Invalid value: {"matchExpressions":[{"key":"a","operator":"Exists"}]}: field is immutable',
    ],
  ]);
});

describe('status', () => {
  const errorsOf = (status: object) => brief(statusErrors(replicaSet, { status }, workload()));

  test.each([
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
    'terminatingReplicas',
  ])('%s is not below zero', (name) => {
    expect(errorsOf({ [name]: -1 })).toContainEqual([`status.${name}`, 'I', notNegative(-1)]);
  });

  test('has no part that is more than the whole', () => {
    const parts = { fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 2 };
    expect(errorsOf({ replicas: 2, ...parts })).toEqual([]);
    expect(errorsOf({ replicas: 1, ...parts }).map(([field]) => field)).toEqual(
      Object.keys(parts).map((name) => `status.${name}`),
    );
    expect(errorsOf({ replicas: 2, availableReplicas: 1 })).toEqual([
      ['status.availableReplicas', 'I', 'Invalid value: 1: cannot be greater than readyReplicas'],
    ]);
  });
});

test('warnings', () => {
  const object = made<ReplicaSet>(replicaSet, workload({}, { name: 'a.b' }));
  expect(replicaSet.warnings!(object, undefined)).toHaveLength(1);
});

test('is selected by name and namespace only', () => {
  expect(replicaSet.selectableFields).toEqual({});
});

test('table', () => {
  expect(columns(replicaSet)).toEqual([
    ['Name', 'string', 0],
    ['Desired', 'integer', 0],
    ['Current', 'integer', 0],
    ['Ready', 'integer', 0],
    ['Age', 'string', 0],
    ['Containers', 'string', 1],
    ['Images', 'string', 1],
    ['Selector', 'string', 1],
  ]);
  const matchExpressions = [{ key: 'a', operator: 'In', values: ['c', 'b'] }];
  const object = made<ReplicaSet>(replicaSet, workload({ replicas: 3, selector: { matchExpressions } }));
  object.status = { replicas: 2, readyReplicas: 1 };
  expect(shownCells(replicaSet, object, Date.parse(now) + 5000)).toEqual([
    'w',
    3,
    2,
    1,
    '5s',
    'c',
    'i:1',
    'a in (b,c)',
  ]);
});
