/** HorizontalPodAutoscaler: sets the number of replicas from how busy they are. */
import { type FieldError, invalid, required } from '../fielderror.ts';
import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';
import { isPathSegment } from '../names.ts';
import { ageCell, ageColumn, nameColumn } from './columns.ts';

const defaultTargetPercentage = 80;

function replicaErrors({ minReplicas, maxReplicas = 0 }: HorizontalPodAutoscalerSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (minReplicas !== undefined && minReplicas < 1)
    errors.push(invalid('spec.minReplicas', minReplicas, 'must be greater than or equal to 1'));
  if (maxReplicas === 0) errors.push(required('spec.maxReplicas', 'must be set and greater than 0'));
  else if (maxReplicas < 0)
    errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1'));
  if (minReplicas !== undefined && maxReplicas < minReplicas)
    errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`'));
  return errors;
}

/** Kind and name become parts of a path, when the autoscaler looks for what it scales. */
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

function targetsText({ spec, status }: HorizontalPodAutoscaler): string {
  if (!spec?.cpuUtilization) return '<none>';
  const current = status?.currentCPUUtilizationPercentage;
  return `cpu: ${current === undefined ? '<unknown>' : `${current}%`}/${spec.cpuUtilization.targetPercentage ?? 0}%`;
}

export const horizontalPodAutoscaler = defineKind<HorizontalPodAutoscaler>({
  kind: 'HorizontalPodAutoscaler',
  resource: 'horizontalpodautoscalers',
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  group: 'extensions',
  version: 'v1beta1',
  table: 'extensions-v1beta1',
  namespaced: true,
  subresources: [statusSubresource],

  defaults(autoscaler) {
    const spec = (autoscaler.spec ??= {});
    spec.minReplicas ??= 1;
    spec.cpuUtilization ??= { targetPercentage: defaultTargetPercentage };
    // The only subresource that can be scaled; newer versions no longer let clients say it.
    spec.scaleRef = { ...spec.scaleRef, subresource: 'scale' };
  },

  validate: ({ spec = {} }) => [
    ...replicaErrors(spec),
    ...referenceErrors(spec.scaleRef),
    ...targetErrors(spec),
  ],
  validateStatusUpdate: ({ status }) =>
    (['currentReplicas', 'desiredReplicas'] as const).flatMap((field) => {
      const count = status?.[field] ?? 0;
      return count < 0 ? [invalid(`status.${field}`, count, 'must be greater than or equal to 0')] : [];
    }),

  columns: [
    nameColumn,
    { name: 'Reference', description: 'What is scaled.' },
    { name: 'Targets', description: 'How busy the pods are, and how busy they should be.' },
    { name: 'MinPods', description: 'Fewest replicas.' },
    { name: 'MaxPods', description: 'Most replicas.' },
    { name: 'Replicas', description: 'Replicas when the autoscaler last looked.' },
    ageColumn,
  ],
  cells(autoscaler, nowMs) {
    const { spec, status } = autoscaler;
    return [
      autoscaler.metadata.name,
      `${spec?.scaleRef?.kind ?? ''}/${spec?.scaleRef?.name ?? ''}`,
      targetsText(autoscaler),
      spec?.minReplicas === undefined ? '<unset>' : String(spec.minReplicas),
      spec?.maxReplicas ?? 0,
      status?.currentReplicas ?? 0,
      ageCell(autoscaler, nowMs),
    ];
  },
});
