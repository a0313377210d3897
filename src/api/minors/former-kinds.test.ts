/**
 * Proves that versions that have gone are converted without loss: what is written in today's version is the same after it
 * was read and written back in each other one, for generated objects of every kind.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Kind } from '../kind/kind.ts';
import { decodeObject } from '../model/decode.ts';
import { normalized } from '../model/encode.ts';
import { arbitraryObject, isFlat } from '../model/table-objects.fixture.ts';
import type { ApiObject, JsonObject } from '../text/object.ts';
import { firstMinor, lastMinor, Minor } from './minor.ts';

const kinds = new Map<string, Kind>();
for (let number = firstMinor; number <= lastMinor; number++) {
  // With all gates, so that no field is dropped.
  const minor = new Minor(`1.${number}`, { AllAlpha: true, AllBeta: true });
  for (const kind of minor.kinds()) kinds.set(`${kind.apiVersion} ${kind.kind}`, minor.shown(kind));
}

const encoded = (kind: Kind, object: unknown): JsonObject => normalized(kind.model, object as JsonObject);
const names = { metadata: { name: 'a', uid: 'u' } };

/** The types of metrics say which of their values count, so that they are not generated. */
const written = 'autoscaling/v2beta1 HorizontalPodAutoscaler';
const generated = [...kinds].filter(([name, { stored }]) => stored && name !== written);

/** Names a class wherever devices are asked for: a claim without one is not stored, and versions before had no place for it. */
const withClasses = (made: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(made), (name, value) =>
    name === 'exactly' ? { ...value, deviceClassName: value.deviceClassName || 'c' } : value,
  );

describe('a stored object', () => {
  it.each(generated.filter(([, { storage }]) => isFlat(storage.model)))(
    'stays the same when it is read and written as %s',
    (_, kind) => {
      const { storage, stored } = kind;
      fc.assert(
        fc.property(arbitraryObject(storage.model), (made) => {
          const before = encoded(storage, { ...decodeObject(storage.model, withClasses(made)), ...names });
          const shown = encoded(kind, stored!.fromStored(structuredClone(before) as unknown as ApiObject));
          const sent = decodeObject(kind.model, shown) as unknown as ApiObject;
          expect(encoded(storage, stored!.toStored(sent, before as unknown as ApiObject))).toEqual(before);
        }),
        { numRuns: 20 },
      );
    },
  );
});

describe(written, () => {
  const older = {
    ...names,
    spec: {
      scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
      minReplicas: 1,
      maxReplicas: 3,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 50 } },
        { type: 'Resource', resource: { name: 'memory', targetAverageValue: '1Gi' } },
        {
          type: 'Pods',
          pods: { metricName: 'p', selector: { matchLabels: { a: 'b' } }, targetAverageValue: '5' },
        },
        {
          type: 'Object',
          object: { target: { kind: 'Service', name: 's' }, metricName: 'o', targetValue: '7' },
        },
        {
          type: 'External',
          external: { metricName: 'e', metricSelector: { matchLabels: { c: 'd' } }, targetAverageValue: '9' },
        },
      ],
    },
    status: {
      currentReplicas: 2,
      desiredReplicas: 2,
      currentMetrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', currentAverageUtilization: 40, currentAverageValue: '100m' },
        },
        {
          type: 'Object',
          object: { target: { kind: 'Service', name: 's' }, metricName: 'o', currentValue: '6' },
        },
      ],
    },
  };

  it('has targets as members of metrics, and comes back as it was', () => {
    const kind = kinds.get(written)!;
    const { storage, stored } = kind;
    const sent = decodeObject(kind.model, older) as unknown as ApiObject;
    const kept = encoded(storage, stored!.toStored(sent, undefined)) as typeof older & {
      spec: { metrics: object[] };
    };
    expect(kept.spec.metrics).toMatchObject([
      { resource: { target: { type: 'Utilization', averageUtilization: 50 } } },
      { resource: { target: { type: 'AverageValue', averageValue: '1Gi' } } },
      { pods: { metric: { name: 'p', selector: {} }, target: { type: 'AverageValue', averageValue: '5' } } },
      {
        object: {
          describedObject: { name: 's' },
          metric: { name: 'o' },
          target: { type: 'Value', value: '7' },
        },
      },
      { external: { metric: { name: 'e' }, target: { type: 'AverageValue', averageValue: '9' } } },
    ]);
    const shown = stored!.fromStored(kept as unknown as ApiObject);
    expect(encoded(kind, shown)).toEqual(encoded(kind, decodeObject(kind.model, older)));
  });

  it('carries the behavior in an annotation', () => {
    const { storage, stored } = kinds.get(written)!;
    const behavior = { scaleDown: { stabilizationWindowSeconds: 60 } };
    const shown = stored!.fromStored({
      ...names,
      spec: { maxReplicas: 1, behavior },
    } as unknown as ApiObject);
    expect(shown.metadata.annotations).toEqual({
      'autoscaling.alpha.kubernetes.io/behavior': JSON.stringify(behavior),
    });
    const back = encoded(storage, stored!.toStored(shown, undefined)) as { spec?: object; metadata?: object };
    expect(back.spec).toMatchObject({ behavior });
    expect(back.metadata).not.toHaveProperty('annotations');
  });
});
