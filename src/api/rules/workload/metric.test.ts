// Proves the rules of metrics, one kind of metric after the other, and the texts of the Targets column.
import { describe, expect, test } from 'vitest';
import type { MetricSpec, MetricStatus } from '../../generated/types.ts';
import { brief, type Expected } from '../../kinds/core/pod.fixture.ts';
import { collect } from '../shared/findings.ts';
import { metricErrors, targetsCell } from './metric.ts';

const average = { type: 'AverageValue', averageValue: '1' };
const utilization = { type: 'Utilization', averageUtilization: 50 };
const metric = { name: 'm' };
const describedObject = { kind: 'Service', name: 's' };
const resource = (target: object, name = 'cpu'): MetricSpec => ({
  type: 'Resource',
  resource: { name, target },
});

const populate = 'Required value: must populate information for the given metric source';
const rawOrUtilization = 'Required value: must set either a target raw value or a target utilization';

test.each<[spec: MetricSpec, ...errors: Expected[]]>([
  [resource(utilization)],
  [resource(average)],
  [{ type: 'Pods', pods: { metric, target: average } }],
  [{ type: 'Object', object: { describedObject, metric, target: { type: 'Value', value: '1' } } }],
  [{ type: 'External', external: { metric, target: average } }],
  [
    {
      type: 'ContainerResource',
      containerResource: { name: 'cpu', container: 'c', target: utilization },
    },
  ],
  [
    {},
    ['type', 'R', 'Required value: must specify a metric source type'],
    [
      'type',
      'N',
      'Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
  ],
  [{ type: 'Resource' }, ['resource', 'R', populate]],
  [
    { type: 'Pods', resource: resource(utilization).resource, pods: { metric, target: average } },
    ['resource', 'F', 'Forbidden: must populate the given metric source only'],
  ],
  [resource({ type: 'Utilization' }), ['resource.target.averageUtilization', 'R', rawOrUtilization]],
  [
    resource({ ...utilization, averageValue: '1' }),
    [
      'resource.target.averageValue',
      'F',
      'Forbidden: may not set both a target raw value and a target utilization',
    ],
  ],
  [
    resource({ averageValue: '-1' }, ''),
    ['resource.name', 'R', 'Required value: must specify a resource name'],
    ['resource.target.type', 'R', 'Required value: must specify a metric target type'],
    ['resource.target.type', 'I', 'Invalid value: "": must be either Utilization, Value, or AverageValue'],
    ['resource.target.averageValue', 'I', 'Invalid value: "-1": must be positive'],
  ],
  [
    resource({ type: 'Utilization', averageUtilization: 0 }),
    ['resource.target.averageUtilization', 'I', 'Invalid value: 0: must be greater than 0'],
  ],
  [
    { type: 'Pods', pods: { metric: { name: 'a/b' }, target: { type: 'Value' } } },
    ['pods.metric.name', 'I', 'Invalid value: "a/b": may not contain \'/\''],
    ['pods.target.averageValue', 'R', 'Required value: must specify a positive target averageValue'],
  ],
  [
    { type: 'Object', object: { describedObject: { kind: 'X' }, target: { type: 'Value' } } },
    ['object.describedObject.name', 'R', 'Required value'],
    ['object.metric.name', 'R', 'Required value: must specify a metric name'],
    ['object.target.averageValue', 'R', 'Required value: must set either a target value or averageValue'],
  ],
  [
    { type: 'External', external: { metric, target: { type: 'Value', value: '1', averageValue: '1' } } },
    [
      'external.target.value',
      'F',
      'Forbidden: may not set both a target value for metric and a per-pod target',
    ],
  ],
  [
    { type: 'External', external: { metric, target: { type: 'Value' } } },
    [
      'external.target.averageValue',
      'R',
      'Required value: must set either a target value for metric or a per-pod target',
    ],
  ],
  [
    { type: 'ContainerResource', containerResource: { target: utilization } },
    ['containerResource.name', 'R', 'Required value: must specify a resource name'],
    ['containerResource.container', 'R', 'Required value: must specify a container'],
  ],
])('%j', (spec, ...errors) => {
  expect(brief(collect(metricErrors([spec], 'metrics')))).toEqual(
    errors.map(([field, ...rest]) => [`metrics[0].${field}`, ...rest]),
  );
});

describe('texts', () => {
  const measured = (name: string, current: object): MetricStatus => ({
    type: 'Resource',
    resource: { name, current },
  });

  test.each<[text: string, metrics: MetricSpec[], measured?: MetricStatus[]]>([
    ['<none>', []],
    ['cpu: <unknown>/50%', [resource(utilization)]],
    ['cpu: 30%/50%', [resource(utilization)], [measured('cpu', { averageUtilization: 30 })]],
    ['cpu: <unknown>/<auto>', [resource({ type: 'Utilization' })]],
    [
      'memory: 10Mi/1',
      [resource(average, 'memory')],
      [measured('cpu', { averageValue: '1' }), measured('memory', { averageValue: '10Mi' })],
    ],
    ['<unknown>/1', [{ type: 'Pods', pods: { metric, target: average } }]],
    [
      '7/1 (avg)',
      [{ type: 'External', external: { metric, target: average } }],
      [{ type: 'External', external: { metric, current: { averageValue: '7' } } }],
    ],
    [
      '<unknown>/2k',
      [{ type: 'Object', object: { describedObject, metric, target: { type: 'Value', value: '2k' } } }],
    ],
    [
      'cpu: <unknown>/50%, memory: <unknown>/50% + 1 more...',
      [resource(utilization), resource(utilization, 'memory'), resource(average, 'x')],
    ],
    ['<unknown type>', [{ type: 'X' }]],
  ])('%s', (text, metrics, status) => {
    expect(targetsCell(metrics, status)).toBe(text);
  });
});
