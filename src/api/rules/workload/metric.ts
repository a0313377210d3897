/** Metrics of autoscaling/v2: rules for the metrics of an autoscaler, and the text of its Targets column. */
import { child, forbidden, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  ContainerResourceMetricSource,
  CrossVersionObjectReferenceV2,
  ExternalMetricSource,
  MetricIdentifier,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
  ObjectMetricSource,
  PodsMetricSource,
  ResourceMetricSource,
} from '../../generated/types.ts';
import { isLabel1123, isPathSegment } from '../../values/names.ts';
import { parseQuantity, sign } from '../../values/quantity.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';

/** Metrics shown in a cell. */
const shownMax = 2;

/** By type, the field that holds the metric. */
const sources = {
  Object: 'object',
  External: 'external',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
} as const;
const types = Object.keys(sources).sort();
const targetTypes = ['Utilization', 'Value', 'AverageValue'];

type Type = keyof typeof sources;
type Source = (typeof sources)[Type];

const isType = (type: string | undefined): type is Type => Object.hasOwn(sources, type ?? '');

export function* metricErrors(metrics: readonly MetricSpec[], path: string): Findings {
  for (const [i, metric] of metrics.entries()) yield* oneMetricErrors(metric, index(path, i));
}

/** minReplicas 0 needs an object or external metric: resource metrics cannot be measured without pods. */
export function* zeroErrors(metrics: readonly MetricSpec[], path: string): Findings {
  if (!metrics.some(({ type }) => type === 'Object' || type === 'External'))
    yield forbidden(
      path,
      'must specify at least one Object or External metric to support scaling to zero replicas',
    );
}

function* oneMetricErrors(metric: MetricSpec, path: string): Findings {
  const { type } = metric;
  const typePath = child(path, 'type');
  if (!type) yield required(typePath, 'must specify a metric source type');
  if (!isType(type)) yield notSupported(typePath, type ?? '', types);
  const present = Object.values(sources).filter((name) => metric[name]);
  if (present[0]) yield* sourceErrors(metric, present[0], child(path, present[0]));
  const expected = isType(type) ? sources[type] : undefined;
  if (expected && !metric[expected])
    yield required(child(path, expected), 'must populate information for the given metric source');
  if (present.length > 1)
    for (const name of present)
      if (name !== expected) yield forbidden(child(path, name), 'must populate the given metric source only');
}

function sourceErrors(metric: MetricSpec, source: Source, path: string): Findings {
  switch (source) {
    case 'object':
      return objectErrors(metric.object!, path);
    case 'external':
      return externalErrors(metric.external!, path);
    case 'pods':
      return podsErrors(metric.pods!, path);
    case 'resource':
      return resourceErrors(metric.resource!, path);
    case 'containerResource':
      return containerErrors(metric.containerResource!, path);
  }
}

function* objectErrors({ describedObject, metric, target = {} }: ObjectMetricSource, path: string): Findings {
  yield* referenceErrors(describedObject, child(path, 'describedObject'));
  yield* identifierErrors(metric, child(path, 'metric'));
  yield* targetErrors(target, child(path, 'target'));
  if (target.value === undefined && target.averageValue === undefined)
    yield required(child(path, 'target.averageValue'), 'must set either a target value or averageValue');
}

function* externalErrors({ metric, target = {} }: ExternalMetricSource, path: string): Findings {
  yield* identifierErrors(metric, child(path, 'metric'));
  yield* targetErrors(target, child(path, 'target'));
  if (target.value === undefined && target.averageValue === undefined)
    yield required(
      child(path, 'target.averageValue'),
      'must set either a target value for metric or a per-pod target',
    );
  if (target.value !== undefined && target.averageValue !== undefined)
    yield forbidden(
      child(path, 'target.value'),
      'may not set both a target value for metric and a per-pod target',
    );
}

function* podsErrors({ metric, target = {} }: PodsMetricSource, path: string): Findings {
  yield* identifierErrors(metric, child(path, 'metric'));
  yield* targetErrors(target, child(path, 'target'));
  if (target.averageValue === undefined)
    yield required(child(path, 'target.averageValue'), 'must specify a positive target averageValue');
}

function* resourceErrors({ name, target = {} }: ResourceMetricSource, path: string): Findings {
  if (!name) yield required(child(path, 'name'), 'must specify a resource name');
  yield* utilizationErrors(target, child(path, 'target'));
}

function* containerErrors(
  { name, container, target = {} }: ContainerResourceMetricSource,
  path: string,
): Findings {
  if (!name) yield required(child(path, 'name'), 'must specify a resource name');
  const containerPath = child(path, 'container');
  if (!container) yield required(containerPath, 'must specify a container');
  else yield* problemsOf(containerPath, container, isLabel1123(container));
  yield* utilizationErrors(target, child(path, 'target'));
}

function* utilizationErrors(target: MetricTarget, path: string): Findings {
  yield* targetErrors(target, path);
  const { averageUtilization, averageValue } = target;
  if (averageUtilization === undefined && averageValue === undefined)
    yield required(
      child(path, 'averageUtilization'),
      'must set either a target raw value or a target utilization',
    );
  if (averageUtilization !== undefined && averageValue !== undefined)
    yield forbidden(
      child(path, 'averageValue'),
      'may not set both a target raw value and a target utilization',
    );
}

function* targetErrors(target: MetricTarget, path: string): Findings {
  const { type, averageUtilization } = target;
  if (!type) yield required(child(path, 'type'), 'must specify a metric target type');
  if (!type || !targetTypes.includes(type))
    yield invalid(child(path, 'type'), type ?? '', 'must be either Utilization, Value, or AverageValue');
  for (const name of ['value', 'averageValue'] as const)
    if (target[name] !== undefined && sign(parseQuantity(target[name])) <= 0)
      yield invalid(child(path, name), target[name], 'must be positive');
  if (averageUtilization !== undefined && averageUtilization < 1)
    yield invalid(child(path, 'averageUtilization'), averageUtilization, 'must be greater than 0');
}

function* identifierErrors({ name }: MetricIdentifier = {}, path: string): Findings {
  if (!name) yield required(child(path, 'name'), 'must specify a metric name');
  else yield* problemsOf(child(path, 'name'), name, isPathSegment(name));
}

/** Kind and name become segments of a URL path when the autoscaler looks up the object. */
export function* referenceErrors(reference: CrossVersionObjectReferenceV2 = {}, path: string): Findings {
  for (const name of ['kind', 'name'] as const) {
    const text = reference[name];
    if (!text) yield required(child(path, name));
    else yield* problemsOf(child(path, name), text, isPathSegment(text));
  }
  const { apiVersion = '' } = reference;
  if (apiVersion.split('/').length > 2)
    yield invalid(child(path, 'apiVersion'), apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
}

// Table cells

/** `cpu: 30%/80%, 1k/2k + 1 more...` */
export function targetsCell(
  metrics: readonly MetricSpec[] = [],
  measured: readonly MetricStatus[] = [],
): string {
  if (metrics.length === 0) return '<none>';
  const shown = metrics.slice(0, shownMax).map((metric, i) => metricText(metric, measured, i));
  const more = metrics.length > shownMax ? ` + ${metrics.length - shownMax} more...` : '';
  return shown.join(', ') + more;
}

function metricText(metric: MetricSpec, measured: readonly MetricStatus[], i: number): string {
  if (!isType(metric.type)) return '<unknown type>';
  const source = sources[metric.type];
  const target = metric[source]?.target ?? {};
  const current = currentOf(metric, source, measured, i);
  switch (source) {
    case 'resource':
    case 'containerResource': {
      const text = target.averageValue
        ? pair(current.averageValue, target.averageValue)
        : pair(percent(current.averageUtilization), percent(target.averageUtilization) ?? '<auto>');
      return `${metric[source]?.name ?? ''}: ${text}`;
    }
    case 'pods':
      return pair(current.averageValue, target.averageValue);
    default:
      return target.averageValue
        ? `${pair(current.averageValue, target.averageValue)} (avg)`
        : pair(current.value, target.value);
  }
}

/** A measured value is at the same index as its metric; resource metrics are also matched by name. */
function currentOf(
  metric: MetricSpec,
  source: Source,
  measured: readonly MetricStatus[],
  i: number,
): MetricValueStatus {
  const status =
    source === 'resource'
      ? measured.find(({ resource }) => resource && resource.name === metric.resource?.name)
      : measured[i];
  return status?.[source]?.current ?? {};
}

const pair = (current: string | undefined, target: string | undefined): string =>
  `${current ?? '<unknown>'}/${target ?? '0'}`;

const percent = (value: number | undefined): string | undefined =>
  value === undefined ? undefined : `${value}%`;
