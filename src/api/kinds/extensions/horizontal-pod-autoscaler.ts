/**
 * HorizontalPodAutoscaler in extensions/v1beta1: a version of the stored autoscaling/v2 with CPU as its only metric.
 */
import { type FieldError, invalid, required } from '../../errors/field-error.ts';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HorizontalPodAutoscalerV2,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { collect } from '../../rules/shared/findings.ts';
import {
  cpuMetric,
  cpuTarget,
  olderStatus,
  storedStatus,
  withCpuTarget,
} from '../../rules/workload/cpu-metric.ts';
import type { ApiObject } from '../../text/object.ts';
import { isPathSegment } from '../../values/names.ts';
import {
  autoscalerCells,
  autoscalerColumns,
  autoscalingV2,
  replicaCountErrors,
  replicaRangeErrors,
} from '../autoscaling/autoscaling-v2.ts';

/** Kind and name become segments of a URL path when the autoscaler looks up the object it scales. */
function referenceErrors(reference: HorizontalPodAutoscalerSpec['scaleRef']): FieldError[] {
  return (['kind', 'name'] as const).flatMap((field) => {
    const path = `spec.scaleRef.${field}`;
    const text = reference?.[field];
    if (!text) return [required(path)];
    return isPathSegment(text).map((problem) => invalid(path, text, problem));
  });
}

function targetErrors({ cpuUtilization }: HorizontalPodAutoscalerSpec): FieldError[] {
  const target = cpuUtilization?.targetPercentage ?? 0;
  if (!cpuUtilization || target >= 1) return [];
  return [invalid('spec.cpuUtilization.targetPercentage', target, 'must be greater than 0')];
}

function toStored(
  { spec = {}, status, ...rest }: HorizontalPodAutoscaler,
  old: ApiObject | undefined,
): HorizontalPodAutoscalerV2 {
  const before = old as HorizontalPodAutoscalerV2 | undefined;
  const { scaleRef: { kind, name, apiVersion } = {}, minReplicas, maxReplicas, cpuUtilization } = spec;
  return {
    ...rest,
    spec: {
      ...before?.spec,
      scaleTargetRef: { kind, name, apiVersion },
      minReplicas,
      maxReplicas,
      metrics: withCpuTarget(before?.spec?.metrics, cpuUtilization && (cpuUtilization.targetPercentage ?? 0)),
    },
    status: storedStatus(status, before?.status),
  };
}

function fromStored(object: ApiObject): HorizontalPodAutoscaler {
  const { spec = {}, status, ...rest } = object as HorizontalPodAutoscalerV2;
  const { scaleTargetRef, minReplicas, maxReplicas, metrics } = spec;
  const target = cpuTarget(metrics);
  return {
    ...rest,
    spec: {
      scaleRef: { ...scaleTargetRef, subresource: 'scale' },
      minReplicas,
      maxReplicas,
      cpuUtilization: target === undefined ? undefined : { targetPercentage: target },
    },
    status: olderStatus(status),
  };
}

/** The fields of this version in stored form. */
function shown({ spec = {}, status, ...rest }: HorizontalPodAutoscaler): HorizontalPodAutoscalerV2 {
  const { scaleRef, minReplicas, maxReplicas, cpuUtilization } = spec;
  const metrics = cpuUtilization ? [cpuMetric(cpuUtilization.targetPercentage ?? 0)] : [];
  return {
    ...rest,
    spec: { scaleTargetRef: scaleRef, minReplicas, maxReplicas, metrics },
    status: storedStatus(status),
  };
}

export const horizontalPodAutoscaler = defineKind<HorizontalPodAutoscaler>({
  kind: 'HorizontalPodAutoscaler',
  resource: 'horizontalpodautoscalers',
  singular: 'horizontalpodautoscaler',
  group: 'extensions',
  version: 'v1beta1',
  table: 'extensions-v1beta1',
  namespaced: true,
  stored: { kind: autoscalingV2, toStored, fromStored },
  subresources: [status({ validate: ({ status }) => collect(replicaCountErrors(status ?? {})) })],

  // The default target is not set here: only the stored object shows whether there are other metrics.
  defaults(autoscaler) {
    const spec = (autoscaler.spec ??= {});
    spec.minReplicas ??= 1;
    // The only possible value; newer versions do not have the field.
    spec.scaleRef = { ...spec.scaleRef, subresource: 'scale' };
  },

  validate: ({ spec = {} }) => [
    ...collect(replicaRangeErrors(spec)),
    ...referenceErrors(spec.scaleRef),
    ...targetErrors(spec),
  ],

  columns: autoscalerColumns,
  cells: (autoscaler) => autoscalerCells(shown(autoscaler)),
});
