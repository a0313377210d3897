/** HorizontalPodAutoscaler in autoscaling/v1: a version of the stored autoscaling/v2 with CPU as its only metric. */
import { invalid } from '../../errors/field-error.ts';
import type {
  HorizontalPodAutoscalerSpecV1,
  HorizontalPodAutoscalerV1,
  HorizontalPodAutoscalerV2,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import {
  cpuMetric,
  cpuTarget,
  cpuTargetDefault,
  olderStatus,
  storedStatus,
  withCpuTarget,
} from '../../rules/workload/cpu-metric.ts';
import type { ApiObject } from '../../text/object.ts';
import {
  autoscalerCells,
  autoscalerColumns,
  autoscalingV2,
  replicaCountErrors,
  replicaRangeErrors,
  scaleTargetErrors,
} from './autoscaling-v2.ts';

export const autoscalingV1 = defineKind<HorizontalPodAutoscalerV1>({
  kind: 'HorizontalPodAutoscaler',
  resource: 'horizontalpodautoscalers',
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  group: 'autoscaling',
  version: 'v1',
  table: 'autoscaling-v1',
  namespaced: true,
  stored: { kind: autoscalingV2, toStored, fromStored },
  subresources: [status({ validate: ({ status }) => collect(replicaCountErrors(status ?? {})) })],

  // The default target is not set here: only the stored object shows whether there are other metrics.
  defaults(autoscaler) {
    (autoscaler.spec ??= {}).minReplicas ??= 1;
    // Programs wrote parts of the status here; the status has fields for them since autoscaling/v2.
    for (const part of ['conditions', 'current-metrics'])
      delete autoscaler.metadata.annotations?.[`autoscaling.alpha.kubernetes.io/${part}`];
  },
  defaultsOfNew(autoscaler) {
    (autoscaler.spec ??= {}).targetCPUUtilizationPercentage ??= cpuTargetDefault;
  },

  validate: ({ spec = {} }, old) => collect(specErrors(spec, old?.spec)),

  columns: autoscalerColumns,
  cells: (autoscaler) => autoscalerCells(shown(autoscaler)),
});

function toStored(
  { spec = {}, status, ...rest }: HorizontalPodAutoscalerV1,
  old: ApiObject | undefined,
): HorizontalPodAutoscalerV2 {
  const before = old as HorizontalPodAutoscalerV2 | undefined;
  const { scaleTargetRef, minReplicas, maxReplicas, targetCPUUtilizationPercentage } = spec;
  return {
    ...rest,
    spec: {
      ...before?.spec,
      scaleTargetRef,
      minReplicas,
      maxReplicas,
      metrics: withCpuTarget(before?.spec?.metrics, targetCPUUtilizationPercentage),
    },
    status: storedStatus(status, before?.status),
  };
}

function fromStored(object: ApiObject): HorizontalPodAutoscalerV1 {
  const { spec = {}, status, ...rest } = object as HorizontalPodAutoscalerV2;
  const { scaleTargetRef, minReplicas, maxReplicas, metrics } = spec;
  return {
    ...rest,
    spec: {
      scaleTargetRef,
      minReplicas,
      maxReplicas,
      targetCPUUtilizationPercentage: cpuTarget(metrics),
    },
    status: olderStatus(status),
  };
}

/** The fields of this version in stored form. */
function shown({ spec = {}, status, ...rest }: HorizontalPodAutoscalerV1): HorizontalPodAutoscalerV2 {
  const { targetCPUUtilizationPercentage: target, ...others } = spec;
  return {
    ...rest,
    spec: { ...others, metrics: target === undefined ? [] : [cpuMetric(target)] },
    status: storedStatus(status),
  };
}

function* specErrors(
  spec: HorizontalPodAutoscalerSpecV1,
  old: HorizontalPodAutoscalerSpecV1 | undefined,
): Findings {
  yield* replicaRangeErrors(spec);
  yield* scaleTargetErrors(spec.scaleTargetRef, old?.scaleTargetRef);
  const { targetCPUUtilizationPercentage: target } = spec;
  if (target !== undefined && target < 1)
    yield invalid('spec.targetCPUUtilizationPercentage', target, 'must be greater than 0');
}
