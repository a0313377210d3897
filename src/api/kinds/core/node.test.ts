/** Proves the defaults and rules of nodes, and the cells of their table. */
import { expect, test } from 'vitest';
import {
  cells,
  created,
  createdAge,
  createErrors,
  error,
  read,
  statusErrors,
  texts,
  updated,
  updateErrors,
  written,
} from '../kind.fixture.ts';
import { node } from './node.ts';

const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

test('what can be allocated is the capacity, unless it is said', () => {
  const capacity = { cpu: '2', memory: '0.1m' };
  expect(written(node, { status: { capacity } })).toMatchObject({
    status: { capacity: { cpu: '2', memory: '1m' }, allocatable: { cpu: '2', memory: '1m' } },
  });
  expect(written(node, { status: { capacity, allocatable: { cpu: '1' } } })).toMatchObject({
    status: { allocatable: { cpu: '1' } },
  });
  expect(written(node, {}).status).not.toHaveProperty('allocatable');
});

test('the status is kept on create and taken from the store on update', () => {
  const old = written(node, { status: { phase: 'Running' } });
  expect(old.status).toMatchObject({
    phase: 'Running',
    daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
    nodeInfo: { kubeletVersion: '' },
  });
  expect(updated(node, { status: { phase: 'Pending' } }, old).status).toEqual(old.status);
});

test('podCIDR and podCIDRs are kept in step', () => {
  const both = { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] };
  expect(read(node, { spec: { podCIDR: '10.1.0.0/24' } }).spec).toMatchObject(both);
  expect(read(node, { spec: { podCIDRs: ['10.1.0.0/24'] } }).spec).toMatchObject(both);
  for (const podCIDRs of [['10.2.0.0/24'], ['10.2.0.0/24', 'fd00::/64']])
    expect(read(node, { spec: { podCIDR: '10.1.0.0/24', podCIDRs } }).spec).toEqual(both);
});

test('a new node is not ready yet', () => {
  const taints = (body: object) => (created(node, body).spec as { taints: object[] }).taints;
  expect(taints({})).toEqual([notReady]);
  expect(taints({ spec: { taints: [{ key: 'a', effect: 'NoExecute' }] } })).toEqual([
    { key: 'a', effect: 'NoExecute' },
    notReady,
  ]);
  expect(taints({ spec: { taints: [{ ...notReady, value: 'x' }] } })).toEqual([{ ...notReady, value: 'x' }]);
  expect(updated(node, {}, written(node, {})).spec).not.toHaveProperty('taints');
});

test.each<[name: string, taints: object[], errors: ReturnType<typeof error>[]]>([
  ['a good one', [{ key: 'a.b/c', value: 'v', effect: 'PreferNoSchedule' }], []],
  [
    'a bad key',
    [{ key: 'a b', effect: 'NoExecute' }],
    [error('I', 'metadata.taints[0].key', `Invalid value: "a b": ${texts.qualified}`)],
  ],
  [
    'a bad value',
    [{ key: 'a', value: 'b c', effect: 'NoExecute' }],
    [error('I', 'metadata.taints[0].value', `Invalid value: "b c": ${texts.labelValue}`)],
  ],
  ['no effect', [{ key: 'a' }], [error('R', 'metadata.taints[0].effect', 'Required value')]],
  [
    'another effect',
    [{ key: 'a', effect: 'Foo' }],
    [
      error(
        'N',
        'metadata.taints[0].effect',
        'Unsupported value: "Foo": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ),
    ],
  ],
  [
    'a repeated one',
    [
      { key: 'b', effect: 'NoSchedule' },
      { key: 'b', effect: 'NoExecute' },
      { key: 'b', value: 'x', effect: 'NoSchedule', timeAdded: '2024-05-01T00:00:00Z' },
    ],
    [
      error(
        'D',
        'metadata.taints[2]',
        'Duplicate value: {"Key":"b","Value":"x","Effect":"NoSchedule","TimeAdded":"2024-05-01T00:00:00Z"}: taints must be unique by key and effect pair',
      ),
    ],
  ],
])('taints: %s', (_, taints, errors) => {
  expect(createErrors(node, { spec: { taints } })).toEqual(errors);
  expect(updateErrors(node, { spec: { taints } }, {})).toEqual(errors);
});

test('a repeated taint without a value shows all its fields', () => {
  const taints = [
    { key: 'b', effect: 'NoSchedule' },
    { key: 'b', effect: 'NoSchedule' },
  ];
  expect(createErrors(node, { spec: { taints } })[0]?.message).toContain(
    '{"Key":"b","Value":"","Effect":"NoSchedule","TimeAdded":null}',
  );
});

test.each(['capacity', 'allocatable'])('amounts of %s', (list) => {
  const errors = [
    error('I', `status.${list}.a.b/gpu`, 'Invalid value: "500m": must be an integer'),
    error('I', `status.${list}.cpu`, 'Invalid value: "-1": must be greater than or equal to 0'),
  ];
  const status = {
    capacity: { cpu: '1' },
    allocatable: { cpu: '1' },
    [list]: { cpu: '-1', 'a.b/gpu': '0.5' },
  };
  expect(createErrors(node, { status })).toEqual(errors);
  expect(statusErrors(node, { status })).toEqual(errors);
});

const twice = 'may specify no more than one CIDR for each IP family';

test.each<[podCIDRs: string[], errors: ReturnType<typeof error>[]]>([
  [['10.1.0.0/24', '2001:db8::/64'], []],
  [['x'], [error('I', 'spec.podCIDRs[0]', `Invalid value: "x": ${texts.cidr}`)]],
  [
    ['10.1.0.0/24', '10.2.0.0/24'],
    [error('I', 'spec.podCIDRs', `Invalid value: ["10.1.0.0/24","10.2.0.0/24"]: ${twice}`)],
  ],
  [
    ['10.1.0.0/24', '2001:db8::/64', '10.2.0.0/24'],
    [error('I', 'spec.podCIDRs', `Invalid value: ["10.1.0.0/24","2001:db8::/64","10.2.0.0/24"]: ${twice}`)],
  ],
  [
    ['10.1.0.0/24', '2001:db8::/64', 'x'],
    [
      error('I', 'spec.podCIDRs[2]', `Invalid value: "x": ${texts.cidr}`),
      error('I', 'spec.podCIDRs', `Invalid value: ["10.1.0.0/24","2001:db8::/64","x"]: ${twice}`),
    ],
  ],
])('podCIDRs %o', (podCIDRs, errors) => {
  expect(createErrors(node, { spec: { podCIDRs } })).toEqual(errors);
});

test.each<[name: string, spec: object, old: object, errors: ReturnType<typeof error>[]]>([
  ['range set', { podCIDR: '10.1.0.0/24' }, {}, []],
  ['range kept', { podCIDR: '10.1.0.0/24' }, { podCIDR: '10.1.0.0/24' }, []],
  [
    'range changed',
    { podCIDR: '10.2.0.0/24' },
    { podCIDR: '10.1.0.0/24' },
    [error('F', 'spec.podCIDRs', 'Forbidden: node updates may not change podCIDR except from "" to valid')],
  ],
  [
    'range dropped',
    {},
    { podCIDR: '10.1.0.0/24' },
    [error('F', 'spec.podCIDRs', 'Forbidden: node updates may not change podCIDR except from "" to valid')],
  ],
  ['provider set', { providerID: 'x' }, {}, []],
  [
    'provider changed',
    { providerID: 'y' },
    { providerID: 'x' },
    [
      error(
        'F',
        'spec.providerID',
        'Forbidden: node updates may not change providerID except from "" to valid',
      ),
    ],
  ],
  [
    'external id set',
    { externalID: 'x' },
    {},
    [error('F', 'spec.externalID', 'Forbidden: may not be updated')],
  ],
  ['external id kept', { externalID: 'x' }, { externalID: 'x' }, []],
  ['unschedulable', { unschedulable: true }, {}, []],
])('update: %s', (_, spec, old, errors) => {
  expect(updateErrors(node, { spec }, { spec: old })).toEqual(errors);
});

test('a repeated address', () => {
  const address = { type: 'InternalIP', address: '1.1.1.1' };
  const addresses = [address, { ...address, type: 'ExternalIP' }, address];
  expect(statusErrors(node, { status: { addresses } })).toEqual([
    error('D', 'status.addresses[2]', 'Duplicate value: {"Type":"InternalIP","Address":"1.1.1.1"}'),
  ]);
});

test('an external id is warned about', () => {
  expect(node.warnings!(created(node, { spec: { externalID: 'x' } }), undefined)).toEqual([
    'spec.externalID: this field is deprecated, and is unused by Kubernetes',
  ]);
  expect(node.warnings!(created(node, {}), undefined)).toEqual([]);
});

test('cells of a full node', () => {
  expect(
    cells(node, {
      metadata: {
        labels: {
          'node-role.kubernetes.io/worker': '',
          'node-role.kubernetes.io/control-plane': 'x',
          'node-role.kubernetes.io/': '',
          'kubernetes.io/role': 'edge',
        },
      },
      spec: { unschedulable: true },
      status: {
        conditions: [
          { type: 'DiskPressure', status: 'True' },
          { type: 'Ready', status: 'True' },
        ],
        addresses: [
          { type: 'Hostname', address: 'h' },
          { type: 'InternalIP', address: '10.0.0.1' },
          { type: 'InternalIP', address: '10.0.0.2' },
        ],
        nodeInfo: {
          kubeletVersion: 'v1.2',
          osImage: 'Linux',
          kernelVersion: '6.1',
          containerRuntimeVersion: 'x://1',
          architecture: 'arm64',
        },
      },
    }),
  ).toEqual({
    Name: 'a',
    Status: 'Ready,SchedulingDisabled',
    Roles: 'control-plane,edge,worker',
    Age: createdAge,
    Version: 'v1.2',
    '*Internal-IP': '10.0.0.1',
    '*External-IP': '<none>',
    '*OS-Image': 'Linux',
    '*Kernel-Version': '6.1 (arm64)',
    '*Container-Runtime': 'x://1',
  });
});

test('cells of a bare node', () => {
  expect(cells(node, {})).toEqual({
    Name: 'a',
    Status: 'Unknown',
    Roles: '<none>',
    Age: createdAge,
    Version: '',
    '*Internal-IP': '<none>',
    '*External-IP': '<none>',
    '*OS-Image': '<unknown>',
    '*Kernel-Version': '<unknown>',
    '*Container-Runtime': '<unknown>',
  });
  for (const status of ['False', 'Unknown'])
    expect(cells(node, { status: { conditions: [{ type: 'Ready', status }] } })).toMatchObject({
      Status: 'NotReady',
    });
});
