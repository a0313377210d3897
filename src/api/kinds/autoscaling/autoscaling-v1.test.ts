/** Proves the defaults and rules of autoscalers in autoscaling/v1, with the names its fields have there. */
import { expect, test } from 'vitest';
import { cells, createErrors, error, statusErrors, updateErrors, written } from '../kind.fixture.ts';
import { autoscalingV1 as autoscaler } from './autoscaling-v1.ts';

const spec = { scaleTargetRef: { kind: 'ReplicationController', name: 'rc' }, maxReplicas: 3 };

test('defaults', () => {
  const defaults = { minReplicas: 1, targetCPUUtilizationPercentage: 80 };
  expect(written(autoscaler, { spec }).spec).toEqual({ ...spec, ...defaults });
});

test('parts of the status in annotations are dropped', () => {
  const prefix = 'autoscaling.alpha.kubernetes.io';
  const annotations = { [`${prefix}/conditions`]: '[]', [`${prefix}/current-metrics`]: '[]', boat: 'sloop' };
  expect(written(autoscaler, { metadata: { annotations }, spec }).metadata.annotations).toEqual({
    boat: 'sloop',
  });
});

test.each<[name: string, change: object, errors: ReturnType<typeof error>[]]>([
  ['fine', { targetCPUUtilizationPercentage: 1 }, []],
  [
    'min 0',
    { minReplicas: 0 },
    [error('I', 'spec.minReplicas', 'Invalid value: 0: must be greater than or equal to 1')],
  ],
  [
    'target 0',
    { targetCPUUtilizationPercentage: 0 },
    [error('I', 'spec.targetCPUUtilizationPercentage', 'Invalid value: 0: must be greater than 0')],
  ],
  [
    'reference without a group',
    { scaleTargetRef: { kind: 'X', name: 'x' } },
    [error('I', 'spec.scaleTargetRef.apiVersion', 'Invalid value: "": apiVersion must specify API group')],
  ],
])('spec: %s', (_, change, errors) => {
  expect(createErrors(autoscaler, { spec: { ...spec, ...change } })).toEqual(errors);
});

test('a reference that was there already is not looked at again', () => {
  const odd = { spec: { ...spec, scaleTargetRef: { kind: 'X', name: 'x' } } };
  expect(updateErrors(autoscaler, odd, odd)).toEqual([]);
});

test('status', () => {
  expect(statusErrors(autoscaler, { status: { currentReplicas: -1 } }, { spec })).toEqual([
    error('I', 'status.currentReplicas', 'Invalid value: -1: must be greater than or equal to 0'),
  ]);
});

test('cells', () => {
  const status = { currentCPUUtilizationPercentage: 30 };
  expect(cells(autoscaler, { spec: { ...spec, targetCPUUtilizationPercentage: 50 }, status })).toMatchObject({
    Reference: 'ReplicationController/rc',
    Targets: 'cpu: 30%/50%',
  });
  expect(cells(autoscaler, { spec })).toMatchObject({ Targets: '<none>' });
});
