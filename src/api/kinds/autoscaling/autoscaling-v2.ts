/** HorizontalPodAutoscaler in autoscaling/v2: sets the number of replicas by metrics. This is the stored version. */

import { child, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  CrossVersionObjectReferenceV2,
  HorizontalPodAutoscalerSpecV2,
  HorizontalPodAutoscalerV2,
  HPAScalingPolicy,
  HPAScalingRules,
} from '../../generated/types.ts';
import { type Column, defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, negative } from '../../rules/shared/findings.ts';
import { defaultMetric } from '../../rules/workload/cpu-metric.ts';
import { metricErrors, referenceErrors, targetsCell, zeroErrors } from '../../rules/workload/metric.ts';
import type { Cell } from '../../values/elapsed.ts';
import { parseQuantity, sign } from '../../values/quantity.ts';

const minReplicasDefault = 1;
const periodMaxSeconds = 1800;
const stabilizationMaxSeconds = 3600;
const selectPolicies = ['Disabled', 'Max', 'Min'];
const policyTypes = ['Percent', 'Pods'];

/** The only scalable kind of the core group; all others must name their group. */
const coreKind = 'ReplicationController';

export const autoscalerColumns: readonly Column[] = [
  nameColumn,
  { name: 'Reference', description: 'What is scaled.' },
  { name: 'Targets', description: 'How busy the pods are, and how busy they should be.' },
  { name: 'MinPods', description: 'Fewest replicas.' },
  { name: 'MaxPods', description: 'Most replicas.' },
  { name: 'Replicas', description: 'Replicas when the autoscaler last looked.' },
  ageColumn,
];

export const autoscalingV2 = defineKind<HorizontalPodAutoscalerV2>({
  kind: 'HorizontalPodAutoscaler',
  resource: 'horizontalpodautoscalers',
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  group: 'autoscaling',
  version: 'v2',
  table: 'autoscaling-v2',
  namespaced: true,
  subresources: [status({ validate: ({ status }) => collect(replicaCountErrors(status ?? {})) })],

  defaults(autoscaler) {
    const spec = (autoscaler.spec ??= {});
    spec.minReplicas ??= minReplicasDefault;
    if (!spec.metrics?.length) spec.metrics = [defaultMetric()];
    if (!spec.behavior) return;
    spec.behavior.scaleUp = { ...upDefaults(), ...spec.behavior.scaleUp };
    spec.behavior.scaleDown = { ...downDefaults(), ...spec.behavior.scaleDown };
  },

  validate: ({ spec = {} }, old) => collect(specErrors(spec, old?.spec)),

  columns: autoscalerColumns,
  cells: autoscalerCells,
});

const upDefaults = (): HPAScalingRules => ({
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
});

/** The default stabilization window for scaling down is left to the autoscaler. */
const downDefaults = (): HPAScalingRules => ({
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
});

function* specErrors(
  spec: HorizontalPodAutoscalerSpecV2,
  old: HorizontalPodAutoscalerSpecV2 | undefined,
): Findings {
  yield* replicaRangeErrors(spec);
  yield* scaleTargetErrors(spec.scaleTargetRef, old?.scaleTargetRef);
  const { metrics = [] } = spec;
  yield* metricErrors(metrics, 'spec.metrics');
  if (spec.minReplicas === 0) yield* zeroErrors(metrics, 'spec.metrics');
  for (const name of ['scaleUp', 'scaleDown'] as const)
    yield* scalingErrors(spec.behavior?.[name], `spec.behavior.${name}`);
}

/** Shared by all versions. */
export function* replicaRangeErrors({
  minReplicas,
  maxReplicas = 0,
}: {
  minReplicas?: number;
  maxReplicas?: number;
}): Findings {
  if (minReplicas !== undefined && minReplicas < 1)
    yield invalid('spec.minReplicas', minReplicas, 'must be greater than or equal to 1');
  if (maxReplicas === 0) yield required('spec.maxReplicas', 'must be set and greater than 0');
  else if (maxReplicas < 0)
    yield invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1');
  if (minReplicas !== undefined && maxReplicas < minReplicas)
    yield invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`');
}

/** A reference without a group, which older versions accepted, may stay unchanged. */
export function* scaleTargetErrors(
  reference: CrossVersionObjectReferenceV2 = {},
  old: CrossVersionObjectReferenceV2 | undefined,
): Findings {
  const path = 'spec.scaleTargetRef';
  const { kind, apiVersion = '' } = reference;
  const kept = old !== undefined && old.kind === kind && (old.apiVersion ?? '') === apiVersion;
  yield* referenceErrors(kept ? { ...reference, apiVersion: '' } : reference, path);
  if (!kept && kind !== coreKind && !/^[^/]+\//.test(apiVersion))
    yield invalid(child(path, 'apiVersion'), apiVersion, 'apiVersion must specify API group');
}

function* scalingErrors(rules: HPAScalingRules | undefined, path: string): Findings {
  if (!rules) return;
  const { stabilizationWindowSeconds: seconds, selectPolicy, policies = [], tolerance } = rules;
  const secondsPath = child(path, 'stabilizationWindowSeconds');
  if (seconds !== undefined && seconds < 0)
    yield invalid(secondsPath, seconds, 'must be greater than or equal to zero');
  if (seconds !== undefined && seconds > stabilizationMaxSeconds)
    yield invalid(secondsPath, seconds, `must be less than or equal to ${stabilizationMaxSeconds}`);
  if (selectPolicy !== undefined && !selectPolicies.includes(selectPolicy))
    yield notSupported(child(path, 'selectPolicy'), selectPolicy, selectPolicies);
  if (policies.length === 0) yield required(child(path, 'policies'), 'must specify at least one Policy');
  for (const [i, policy] of policies.entries())
    yield* scalingPolicyErrors(policy, index(child(path, 'policies'), i));
  if (tolerance !== undefined && sign(parseQuantity(tolerance)) < 0)
    yield invalid(child(path, 'tolerance'), tolerance, 'must be greater than or equal to 0');
}

function* scalingPolicyErrors(
  { type = '', value = 0, periodSeconds = 0 }: HPAScalingPolicy,
  path: string,
): Findings {
  if (!policyTypes.includes(type)) yield notSupported(child(path, 'type'), type, policyTypes);
  if (value <= 0) yield invalid(child(path, 'value'), value, 'must be greater than zero');
  const periodPath = child(path, 'periodSeconds');
  if (periodSeconds <= 0) yield invalid(periodPath, periodSeconds, 'must be greater than zero');
  if (periodSeconds > periodMaxSeconds)
    yield invalid(periodPath, periodSeconds, `must be less than or equal to ${periodMaxSeconds}`);
}

/** Shared by all versions. */
export function* replicaCountErrors(status: {
  currentReplicas?: number;
  desiredReplicas?: number;
}): Findings {
  yield* negative('status.currentReplicas', status.currentReplicas);
  yield* negative('status.desiredReplicas', status.desiredReplicas);
}

export function autoscalerCells(autoscaler: HorizontalPodAutoscalerV2): Cell[] {
  const { metadata, spec, status } = autoscaler;
  return [
    metadata.name,
    `${spec?.scaleTargetRef?.kind ?? ''}/${spec?.scaleTargetRef?.name ?? ''}`,
    targetsCell(spec?.metrics, status?.currentMetrics ?? []),
    spec?.minReplicas === undefined ? '<unset>' : String(spec.minReplicas),
    spec?.maxReplicas ?? 0,
    status?.currentReplicas ?? 0,
    ageCell(autoscaler),
  ];
}
