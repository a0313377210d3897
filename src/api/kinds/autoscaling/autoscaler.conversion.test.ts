/**
 * Proves that an autoscaler is the same object in all versions: updates through an older one keep fields it does not
 * have.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerV1,
  HorizontalPodAutoscalerV2,
  MetricSpec,
  MetricStatus,
} from '../../generated/types.ts';
import type { Kind } from '../../kind/kind.ts';
import { decodeObject } from '../../model/decode.ts';
import { normalized } from '../../model/encode.ts';
import { cpuMetric } from '../../rules/workload/cpu-metric.ts';
import type { ApiObject, JsonObject } from '../../text/object.ts';
import { horizontalPodAutoscaler } from '../extensions/horizontal-pod-autoscaler.ts';
import { autoscalingV1 } from './autoscaling-v1.ts';
import { autoscalingV2 } from './autoscaling-v2.ts';

const json = (kind: Kind, object: ApiObject): JsonObject =>
  normalized(kind.model, object as unknown as JsonObject);
const written = (object: ApiObject): ApiObject => json(autoscalingV2, object) as unknown as ApiObject;
/** The body of a client that sends back what it has read. */
function reread(kind: Kind, object: ApiObject): ApiObject {
  const sent = decodeObject(kind.model, json(kind, object)) as unknown as ApiObject;
  kind.defaults?.(sent);
  return sent;
}

const count = fc.integer({ min: 1, max: 9 });
const text = fc.constantFrom('a', 'b', 'c');
const some = <T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(model, { requiredKeys: [] });
const metadata = fc.record({ name: text });
const reference = fc
  .tuple(fc.record({ kind: text, name: text }), some({ apiVersion: fc.constant('apps/v1') }))
  .map(([one, other]) => ({ ...one, ...other }));
const statusFields = {
  observedGeneration: count,
  lastScaleTime: fc.constant('2024-05-01T12:00:00Z'),
  currentReplicas: count,
  desiredReplicas: count,
};
const olderStatus = some({ ...statusFields, currentCPUUtilizationPercentage: count });

const extensions = fc.record({
  metadata,
  spec: fc.record({
    scaleRef: reference.map((one) => ({ ...one, subresource: 'scale' })),
    minReplicas: count,
    maxReplicas: count,
    cpuUtilization: fc.record({ targetPercentage: count }),
  }),
  status: olderStatus,
}) as fc.Arbitrary<HorizontalPodAutoscaler>;

const v1 = fc.record({
  metadata,
  spec: fc.record({
    scaleTargetRef: reference,
    minReplicas: count,
    maxReplicas: count,
    targetCPUUtilizationPercentage: count,
  }),
  status: olderStatus,
}) as fc.Arbitrary<HorizontalPodAutoscalerV1>;

const metric: fc.Arbitrary<MetricSpec> = fc.oneof(
  count.map(cpuMetric),
  fc.constantFrom<MetricSpec>(
    { type: 'Resource', resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '1' } } },
    {
      type: 'Resource',
      resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 5 } },
    },
    { type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '1k' } } },
    { type: 'External', external: { metric: { name: 'm' }, target: { type: 'Value', value: '1' } } },
  ),
);
const measured: fc.Arbitrary<MetricStatus> = fc.oneof(
  some({ averageUtilization: count, averageValue: fc.constant('1') }).map((current) => ({
    type: 'Resource',
    resource: { name: 'cpu', current },
  })),
  fc.constant<MetricStatus>({
    type: 'Pods',
    pods: { metric: { name: 'm' }, current: { averageValue: '1' } },
  }),
);
const v2 = fc.record({
  metadata,
  spec: fc
    .tuple(
      fc.record({
        scaleTargetRef: reference,
        minReplicas: count,
        maxReplicas: count,
        metrics: fc.array(metric, { minLength: 1 }),
      }),
      some({
        behavior: fc.constant({ scaleUp: { policies: [{ type: 'Pods', value: 1, periodSeconds: 1 }] } }),
      }),
    )
    .map(([one, other]) => ({ ...one, ...other })),
  status: some({
    ...statusFields,
    currentMetrics: fc.array(measured),
    conditions: fc.array(fc.record({ type: text, status: fc.constant('True') })),
  }),
}) as fc.Arbitrary<HorizontalPodAutoscalerV2>;

describe.each<[string, Kind, fc.Arbitrary<ApiObject>]>([
  ['extensions/v1beta1', horizontalPodAutoscaler, extensions],
  ['autoscaling/v1', autoscalingV1, v1],
])('%s', (_, kind, objects) => {
  const { toStored, fromStored } = kind.stored!;

  test('is the same after a visit to the store', () => {
    fc.assert(
      fc.property(objects, (object) => {
        const back = fromStored(written(toStored(object, undefined)));
        expect(json(kind, back)).toEqual(json(kind, object));
      }),
    );
  });

  test('loses nothing when it is written back', () => {
    fc.assert(
      fc.property(v2, (object) => {
        const old = written(object);
        expect(written(toStored(reread(kind, fromStored(old)), old))).toEqual(old);
      }),
    );
  });

  test('says afterwards what it said, and keeps the other metrics in their order', () => {
    fc.assert(
      fc.property(objects, v2, (object, before) => {
        const old = written(before) as HorizontalPodAutoscalerV2;
        const stored = toStored(object, old) as HorizontalPodAutoscalerV2;
        expect(json(kind, fromStored(written(stored)))).toEqual(json(kind, object));
        const others = (object: ApiObject) =>
          (object as HorizontalPodAutoscalerV2).spec!.metrics!.filter(
            ({ resource }) => resource?.name !== 'cpu' || !resource.target?.averageUtilization,
          );
        expect(others(written(stored))).toEqual(others(old));
        expect(stored.spec!.behavior).toEqual(old.spec!.behavior);
        expect(stored.status!.conditions).toEqual(old.status!.conditions);
      }),
    );
  });

  test('gets the default target when nothing else is there to go by', () => {
    const bare = { metadata: {}, spec: {} } as ApiObject;
    const { spec } = toStored(bare, undefined) as HorizontalPodAutoscalerV2;
    expect(spec!.metrics).toEqual([cpuMetric(80)]);
  });
});

test('the same object in three versions', () => {
  const stored: HorizontalPodAutoscalerV2 = {
    metadata: { name: 'x' },
    spec: {
      scaleTargetRef: { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' },
      minReplicas: 1,
      maxReplicas: 5,
      metrics: [cpuMetric(60)],
    },
    status: {
      currentReplicas: 2,
      desiredReplicas: 3,
      currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 90 } } }],
    },
  };
  const status = { currentReplicas: 2, desiredReplicas: 3, currentCPUUtilizationPercentage: 90 };
  expect(json(autoscalingV1, autoscalingV1.stored!.fromStored(stored))).toMatchObject({
    spec: {
      scaleTargetRef: stored.spec!.scaleTargetRef,
      minReplicas: 1,
      maxReplicas: 5,
      targetCPUUtilizationPercentage: 60,
    },
    status,
  });
  expect(json(horizontalPodAutoscaler, horizontalPodAutoscaler.stored!.fromStored(stored))).toMatchObject({
    spec: {
      scaleRef: { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1', subresource: 'scale' },
      minReplicas: 1,
      maxReplicas: 5,
      cpuUtilization: { targetPercentage: 60 },
    },
    status,
  });
});
