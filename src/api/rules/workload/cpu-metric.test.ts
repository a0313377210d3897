/** Proves that the CPU metric of older versions is found, set and removed among other metrics. */
import { expect, test } from 'vitest';
import type { MetricSpec, MetricStatus } from '../../generated/types.ts';
import { cpuCurrent, cpuMetric, cpuTarget, withCpuCurrent, withCpuTarget } from './cpu-metric.ts';

const memory: MetricSpec = {
  type: 'Resource',
  resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 50 } },
};
/** A CPU target by amount, which older versions cannot express. */
const amount: MetricSpec = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '100m' } },
};

test('the target', () => {
  expect(cpuTarget(undefined)).toBeUndefined();
  expect(cpuTarget([memory, amount])).toBeUndefined();
  expect(cpuTarget([memory, amount, cpuMetric(30), cpuMetric(40)])).toBe(30);
});

test('another target stands where the old one stood', () => {
  expect(withCpuTarget([cpuMetric(30), memory], 40)).toEqual([cpuMetric(40), memory]);
  expect(withCpuTarget([memory], 40)).toEqual([memory, cpuMetric(40)]);
  expect(withCpuTarget([memory, cpuMetric(30), amount, cpuMetric(50)], 40)).toEqual([
    memory,
    cpuMetric(40),
    amount,
  ]);
  expect(withCpuTarget([amount, cpuMetric(30)], undefined)).toEqual([amount]);
});

test('no metrics at all stand for the default', () => {
  expect(withCpuTarget(undefined, undefined)).toEqual([cpuMetric(80)]);
  expect(withCpuTarget([cpuMetric(30)], undefined)).toEqual([cpuMetric(80)]);
  expect(withCpuTarget([memory], undefined)).toEqual([memory]);
});

const measured = (name: string, current: object): MetricStatus => ({
  type: 'Resource',
  resource: { name, current },
});

test('what was measured', () => {
  const cpu = measured('cpu', { averageUtilization: 30, averageValue: '100m' });
  const others = measured('memory', { averageUtilization: 10 });
  expect(cpuCurrent([others, cpu])).toBe(30);
  expect(withCpuCurrent([others, cpu], 30)).toEqual([others, cpu]);
  // A measured amount that belonged to another percentage is dropped.
  expect(withCpuCurrent([others, cpu], 31)).toEqual([others, measured('cpu', { averageUtilization: 31 })]);
  expect(withCpuCurrent([others, cpu], undefined)).toEqual([others]);
  expect(withCpuCurrent(undefined, 5)).toEqual([measured('cpu', { averageUtilization: 5 })]);
});
