/** HorizontalPodAutoscaler in autoscaling/v2beta1: targets are members of a metric, and there is no behavior. */
import type { JsonObject } from '../../text/object.ts';
import {
  annotate,
  annotationOf,
  changeItems,
  changeMember,
  defined,
  type VersionConversion,
} from './conversion.ts';

const behavior = 'autoscaling.alpha.kubernetes.io/behavior';

const part = (value: unknown): JsonObject => (value ?? {}) as JsonObject;

/** The names of the older version, by where the values are: targets in the spec, current values in the status. */
interface Words {
  /** `target` or `current`. */
  readonly place: 'target' | 'current';
  readonly utilization: string;
  readonly average: string;
  readonly value: string;
}

const specWords: Words = {
  place: 'target',
  utilization: 'targetAverageUtilization',
  average: 'targetAverageValue',
  value: 'targetValue',
};
const statusWords: Words = {
  place: 'current',
  utilization: 'currentAverageUtilization',
  average: 'currentAverageValue',
  value: 'currentValue',
};

/** What kinds of metric call the average value, and their selector. */
const forms = {
  resource: { selector: undefined, describes: false, ownAverage: undefined },
  containerResource: { selector: undefined, describes: false, ownAverage: undefined },
  pods: { selector: 'selector', describes: false, ownAverage: undefined },
  object: { selector: 'selector', describes: true, ownAverage: 'averageValue' },
  external: { selector: 'metricSelector', describes: false, ownAverage: undefined },
} as const;

function typeOf(utilization: unknown, average: unknown): string {
  if (utilization !== undefined) return 'Utilization';
  return average === undefined ? 'Value' : 'AverageValue';
}

function metricUp(metric: JsonObject, words: Words): JsonObject {
  for (const [kind, { selector, describes, ownAverage }] of Object.entries(forms))
    changeMember(metric, kind, (older) => {
      const average = ownAverage ?? words.average;
      const values = {
        averageUtilization: older[words.utilization],
        averageValue: older[average],
        // A target of zero was written where there was none.
        value: older[words.value] === '0' && older[average] !== undefined ? undefined : older[words.value],
      };
      return defined({
        name: older['name'],
        container: older['container'],
        describedObject: describes ? older['target'] : undefined,
        metric: selector && defined({ name: older['metricName'], selector: older[selector] }),
        [words.place]: defined({
          ...(words.place === 'target'
            ? { type: typeOf(values.averageUtilization, values.averageValue) }
            : {}),
          ...values,
        }),
      });
    });
  return metric;
}

function metricDown(metric: JsonObject, words: Words): JsonObject {
  for (const [kind, { selector, describes, ownAverage }] of Object.entries(forms))
    changeMember(metric, kind, (newer) => {
      const values = part(newer[words.place]);
      const named = part(newer['metric']);
      return defined({
        name: newer['name'],
        container: newer['container'],
        ...(describes ? { target: newer['describedObject'] } : {}),
        ...(selector ? { metricName: named['name'], [selector]: named['selector'] } : {}),
        [words.utilization]: values['averageUtilization'],
        [ownAverage ?? words.average]: values['averageValue'],
        [words.value]: values['value'],
      });
    });
  return metric;
}

export const autoscalerV2beta1: VersionConversion = {
  up(object) {
    const text = annotationOf(object, behavior);
    annotate(object, behavior, undefined);
    changeMember(object, 'spec', (spec) => {
      changeItems(spec, 'metrics', (metric) => metricUp(metric, specWords));
      return text === undefined ? spec : { ...spec, behavior: readBehavior(text) };
    });
    changeMember(object, 'status', (status) => {
      changeItems(status, 'currentMetrics', (metric) => metricUp(metric, statusWords));
      return status;
    });
    return object;
  },
  down(object) {
    const { behavior: hidden } = part(object['spec']);
    annotate(object, behavior, hidden === undefined ? undefined : JSON.stringify(hidden));
    changeMember(object, 'spec', ({ behavior: _, ...spec }) => {
      changeItems(spec, 'metrics', (metric) => metricDown(metric, specWords));
      return spec;
    });
    changeMember(object, 'status', (status) => {
      changeItems(status, 'currentMetrics', (metric) => metricDown(metric, statusWords));
      return status;
    });
    return object;
  },
};

/** Kubernetes ignores what it cannot read. */
function readBehavior(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
