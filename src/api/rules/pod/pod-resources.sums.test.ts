// Proves the sums of kinds.md 26.3, which quota, limit ranges and the scheduler count with.
import { expect, test } from 'vitest';
import type { Container, PodSpec } from '../../generated/types.ts';
import { podLimits, podRequests } from './pod-resources.ts';

const asking = (cpu: string, restartPolicy?: string): Container => ({
  restartPolicy,
  resources: { requests: { cpu }, limits: { cpu } },
});
const sums = (spec: PodSpec) => [podRequests(spec)['cpu'], podLimits(spec)['cpu']];

test.each<[string, PodSpec, string | undefined, string | undefined]>([
  ['nothing', { containers: [{}] }, undefined, undefined],
  ['containers add up', { containers: [asking('100m'), asking('200m')] }, '300m', '300m'],
  [
    'the largest init container',
    { containers: [asking('1')], initContainers: [asking('3'), asking('2')] },
    '3',
    '3',
  ],
  [
    'sidecars run with the containers',
    { containers: [asking('1')], initContainers: [asking('2', 'Always')] },
    '3',
    '3',
  ],
  [
    'and with the init containers after them',
    { containers: [asking('1')], initContainers: [asking('5'), asking('2', 'Always'), asking('4')] },
    '6',
    '6',
  ],
  ['overhead comes on top', { containers: [asking('1')], overhead: { cpu: '500m' } }, '1500m', '1500m'],
  [
    'but is no limit by itself',
    { containers: [{ resources: { requests: { cpu: '1' } } }], overhead: { cpu: '1' } },
    '2',
    undefined,
  ],
  [
    'values of the pod replace the sum',
    { containers: [asking('1')], resources: { requests: { cpu: '4' }, limits: { cpu: '5' } } },
    '4',
    '5',
  ],
])('%s', (_name, spec, requests, limits) => {
  expect(sums(spec)).toEqual([requests, limits]);
});
