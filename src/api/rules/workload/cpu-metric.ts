/**
 * The CPU metric of an autoscaler: the only metric of versions before autoscaling/v2, where it is one of many. On
 * conversion the other metrics are taken from the stored object, and keep their places in the list.
 */
import type {
  HorizontalPodAutoscalerStatusV1,
  HorizontalPodAutoscalerStatusV2,
  MetricSpec,
  MetricStatus,
} from '../../generated/types.ts';

/** The target, in percent, of an autoscaler without metrics. */
export const cpuTargetDefault = 80;

export const cpuMetric = (averageUtilization: number): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});

/** The default target of an autoscaler. */
export const defaultMetric = (): MetricSpec => cpuMetric(cpuTargetDefault);

const isCpu = ({ type, resource }: MetricSpec | MetricStatus): boolean =>
  type === 'Resource' && resource?.name === 'cpu';

const isTarget = (metric: MetricSpec): boolean =>
  isCpu(metric) && metric.resource?.target?.averageUtilization !== undefined;

const isMeasured = (metric: MetricStatus): boolean =>
  isCpu(metric) && metric.resource?.current?.averageUtilization !== undefined;

export const cpuTarget = (metrics: readonly MetricSpec[] = []): number | undefined =>
  metrics.find(isTarget)?.resource?.target?.averageUtilization;

export const cpuCurrent = (metrics: readonly MetricStatus[] = []): number | undefined =>
  metrics.find(isMeasured)?.resource?.current?.averageUtilization;

/** The stored metrics with the CPU target replaced or removed. An empty list stands for the default. */
export function withCpuTarget(
  metrics: readonly MetricSpec[] = [],
  percentage: number | undefined,
): MetricSpec[] {
  const said = percentage === undefined ? [] : [cpuMetric(percentage)];
  const all = percentage === cpuTarget(metrics) ? [...metrics] : replaced(metrics, isTarget, said);
  return all.length ? all : [defaultMetric()];
}

/** The same for measured values. Of a new measurement only the percentage is known. */
export function withCpuCurrent(
  metrics: readonly MetricStatus[] = [],
  percentage: number | undefined,
): MetricStatus[] {
  if (percentage === cpuCurrent(metrics)) return [...metrics];
  const resource = { name: 'cpu', current: { averageUtilization: percentage } };
  return replaced(metrics, isMeasured, percentage === undefined ? [] : [{ type: 'Resource', resource }]);
}

/** A list with its items of one sort replaced, at the place of the first of them, or else at the end. */
function replaced<T>(items: readonly T[], fits: (item: T) => boolean, by: readonly T[]): T[] {
  const first = items.findIndex(fits);
  const others = items.filter((item) => !fits(item));
  return first < 0 ? [...others, ...by] : others.toSpliced(first, 0, ...by);
}

/** The status in older versions, which have neither conditions nor other metrics. */
export function olderStatus(status: HorizontalPodAutoscalerStatusV2 = {}): HorizontalPodAutoscalerStatusV1 {
  const { observedGeneration, lastScaleTime, currentReplicas, desiredReplicas, currentMetrics } = status;
  return {
    observedGeneration,
    lastScaleTime,
    currentReplicas,
    desiredReplicas,
    currentCPUUtilizationPercentage: cpuCurrent(currentMetrics ?? []),
  };
}

export function storedStatus(
  { currentCPUUtilizationPercentage, ...status }: HorizontalPodAutoscalerStatusV1 = {},
  old: HorizontalPodAutoscalerStatusV2 = {},
): HorizontalPodAutoscalerStatusV2 {
  const { observedGeneration, lastScaleTime, currentReplicas, desiredReplicas } = status;
  return {
    ...old,
    observedGeneration,
    lastScaleTime,
    currentReplicas,
    desiredReplicas,
    currentMetrics: withCpuCurrent(old.currentMetrics ?? [], currentCPUUtilizationPercentage),
  };
}
