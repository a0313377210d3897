/** Proves the defaults and rules of autoscalers, and the cells of their table. */
import { expect, test } from 'vitest';
import {
  cells,
  createdAge,
  createErrors,
  error,
  shownCells,
  statusErrors,
  written,
} from '../kind.fixture.ts';
import { horizontalPodAutoscaler as autoscaler } from './horizontal-pod-autoscaler.ts';

const spec = { scaleRef: { kind: 'ReplicationController', name: 'rc' }, maxReplicas: 3 };

test('defaults', () => {
  expect(written(autoscaler, { spec, status: { currentReplicas: 4 } })).toMatchObject({
    spec: {
      ...spec,
      scaleRef: { ...spec.scaleRef, subresource: 'scale' },
      minReplicas: 1,
    },
    status: { currentReplicas: 0, desiredReplicas: 0 },
  });
  expect(written(autoscaler, { spec: { ...spec, cpuUtilization: { targetPercentage: 50 } } })).toMatchObject({
    spec: { cpuUtilization: { targetPercentage: 50 } },
  });
});

const belowMin = 'must be greater than or equal to `minReplicas`';

test.each<[name: string, change: object, errors: ReturnType<typeof error>[]]>([
  ['fine', {}, []],
  ['min equal to max', { minReplicas: 3 }, []],
  [
    'min 0',
    { minReplicas: 0 },
    [error('I', 'spec.minReplicas', 'Invalid value: 0: must be greater than or equal to 1')],
  ],
  [
    'max 0',
    { maxReplicas: 0 },
    [
      error('R', 'spec.maxReplicas', 'Required value: must be set and greater than 0'),
      error('I', 'spec.maxReplicas', `Invalid value: 0: ${belowMin}`),
    ],
  ],
  [
    'max negative',
    { maxReplicas: -1 },
    [
      error('I', 'spec.maxReplicas', 'Invalid value: -1: must be greater than or equal to 1'),
      error('I', 'spec.maxReplicas', `Invalid value: -1: ${belowMin}`),
    ],
  ],
  ['max below min', { minReplicas: 4 }, [error('I', 'spec.maxReplicas', `Invalid value: 3: ${belowMin}`)]],
  [
    'target 0',
    { cpuUtilization: {} },
    [error('I', 'spec.cpuUtilization.targetPercentage', 'Invalid value: 0: must be greater than 0')],
  ],
  [
    'no reference',
    { scaleRef: {} },
    [error('R', 'spec.scaleRef.kind', 'Required value'), error('R', 'spec.scaleRef.name', 'Required value')],
  ],
  [
    'reference with slashes',
    { scaleRef: { kind: 'a/b', name: '..' } },
    [
      error('I', 'spec.scaleRef.kind', 'Invalid value: "a/b": may not contain \'/\''),
      error('I', 'spec.scaleRef.name', 'Invalid value: "..": may not be \'..\''),
    ],
  ],
  [
    'reference with percent',
    { scaleRef: { kind: 'a', name: 'b%' } },
    [error('I', 'spec.scaleRef.name', 'Invalid value: "b%": may not contain \'%\'')],
  ],
])('spec: %s', (_, change, errors) => {
  expect(createErrors(autoscaler, { spec: { ...spec, ...change } })).toEqual(errors);
});

test.each(['currentReplicas', 'desiredReplicas'])('status: %s', (field) => {
  expect(statusErrors(autoscaler, { status: { [field]: 0 } }, { spec })).toEqual([]);
  expect(statusErrors(autoscaler, { status: { [field]: -1 } }, { spec })).toEqual([
    error('I', `status.${field}`, 'Invalid value: -1: must be greater than or equal to 0'),
  ]);
});

test('cells', () => {
  const cpuUtilization = { targetPercentage: 80 };
  expect(cells(autoscaler, { spec: { ...spec, cpuUtilization } })).toEqual({
    Name: 'a',
    Reference: 'ReplicationController/rc',
    Targets: 'cpu: <unknown>/80%',
    MinPods: '1',
    MaxPods: 3,
    Replicas: 0,
    Age: createdAge,
  });
  const status = { currentReplicas: 2, currentCPUUtilizationPercentage: 30 };
  expect(cells(autoscaler, { spec: { ...spec, cpuUtilization }, status })).toMatchObject({
    Targets: 'cpu: 30%/80%',
    Replicas: 2,
  });
  const bare = { metadata: { name: 'a' }, spec: {} };
  expect(shownCells(autoscaler, bare, 0)).toMatchObject({ 2: '<none>', 3: '<unset>', 4: 0 });
});
