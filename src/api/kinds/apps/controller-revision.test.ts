// Proves ControllerRevision of apps/v1: what it must hold, that it does not change, table.
import { describe, expect, test } from 'vitest';
import type { ControllerRevision } from '../../generated/types.ts';
import { columns, notNegative } from '../../rules/workload/workload.fixture.ts';
import { brief } from '../core/pod.fixture.ts';
import { cells, createErrors, updateErrors } from '../kind.fixture.ts';
import { controllerRevision } from './controller-revision.ts';

const data = { spec: { template: { $patch: 'replace', x: null } } };

describe('rules', () => {
  const errorsOf = (body: object) => brief(createErrors(controllerRevision, body));

  test('data is an object of any form', () => {
    expect(errorsOf({ data, revision: 3 })).toEqual([]);
    expect(errorsOf({ data: {} })).toEqual([]);
    for (const body of [{}, { data: null }])
      expect(errorsOf(body)).toEqual([['data', 'R', 'Required value: data is mandatory']]);
    for (const value of ['text', 5, ['a'], true])
      expect(errorsOf({ data: value })).toEqual([
        ['data', 'R', 'Required value: data must be a valid JSON object'],
      ]);
  });

  test('revision is not below zero', () => {
    expect(errorsOf({ data, revision: -1 })).toEqual([['revision', 'I', notNegative(-1)]]);
  });

  test('the number may change, the data not', () => {
    const old = { data, revision: 1 };
    expect(updateErrors(controllerRevision, { data, revision: 9 }, old)).toEqual([]);
    expect(brief(updateErrors(controllerRevision, { data, revision: -9 }, old))).toEqual([
      ['revision', 'I', notNegative(-9)],
    ]);
    expect(brief(updateErrors(controllerRevision, { data: { a: 1 } }, old))).toEqual([
      ['data', 'I', 'Invalid value: {"a":1}: field is immutable'],
    ]);
    expect(brief(updateErrors(controllerRevision, {}, old))).toEqual([
      ['data', 'I', 'Invalid value: null: field is immutable'],
    ]);
  });

  test('the order of keys is no change', () => {
    expect(updateErrors(controllerRevision, { data: { b: 1, a: 2 } }, { data: { a: 2, b: 1 } })).toEqual([]);
  });
});

test('is in no category, and has neither status nor generation', () => {
  const { categories, subresources, generationOf, shortNames } = controllerRevision;
  expect([categories, subresources, generationOf, shortNames]).toEqual([[], [], undefined, []]);
});

test('table', () => {
  expect(columns(controllerRevision)).toEqual([
    ['Name', 'string', 0],
    ['Controller', 'string', 0],
    ['Revision', 'string', 0],
    ['Age', 'string', 0],
  ]);
  const row = (...ownerReferences: NonNullable<ControllerRevision['metadata']['ownerReferences']>) =>
    cells(controllerRevision, { metadata: { ownerReferences }, data, revision: 2 });
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'u' };
  expect(row()).toEqual({ Name: 'a', Controller: '<none>', Revision: 2, Age: '2m5s' });
  expect(row(owner)).toMatchObject({ Controller: '<none>' });
  expect(row({ ...owner, name: 'other' }, { ...owner, controller: true })).toMatchObject({
    Controller: 'statefulset.apps/web',
  });
  expect(row({ ...owner, apiVersion: 'v1', kind: 'Pod', controller: true })).toMatchObject({
    Controller: 'pod/web',
  });
});
