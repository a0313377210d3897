/** Proves the downward API: every field, every resource, and the messages for those that do not exist. */
import { describe, expect, it } from 'vitest';
import type { Container, Node, Pod } from '../../api/generated/types.ts';
import { containerResource, podField } from './downward.ts';

const pod: Pod = {
  metadata: {
    name: 'web',
    namespace: 'shop',
    uid: 'u-1',
    labels: { tier: 'front', app: 'web', 'example.com/Part': 'x' },
    annotations: { note: 'a "quote"\nand \x01 \u00a0 ü \u{1f600} \u{e0001}', 'example.com/Build': '7' },
  },
  spec: {
    nodeName: 'n1',
    serviceAccountName: 'sa',
    containers: [
      {
        name: 'main',
        resources: { requests: { cpu: '250m', memory: '64Mi' }, limits: { cpu: '1500m', memory: '100M' } },
      },
      { name: 'free' },
    ],
    initContainers: [{ name: 'init', resources: { limits: { 'ephemeral-storage': '3Gi', cpu: '0' } } }],
  },
};
const node: Node = {
  metadata: { name: 'n1' },
  status: {
    allocatable: { cpu: '3920m', memory: '8Gi', 'ephemeral-storage': '10G', 'hugepages-2Mi': '4Mi' },
  },
};
const facts = { pod, podIP: '10.1.0.7', hostIP: '192.168.1.2' };
const field = (fieldPath: string): string => podField(facts, { apiVersion: 'v1', fieldPath });
const resource = (name: string, containerName?: string, divisor?: string): string =>
  containerResource({ resource: name, containerName, divisor }, pod, node, pod.spec!.containers![0]);

describe('fields', () => {
  it.each([
    ['metadata.name', 'web'],
    ['metadata.namespace', 'shop'],
    ['metadata.uid', 'u-1'],
    ["metadata.labels['tier']", 'front'],
    ["metadata.labels['example.com/Part']", 'x'],
    ["metadata.labels['none']", ''],
    ["metadata.labels['constructor']", ''],
    ["metadata.annotations['example.com/Build']", '7'],
    ['metadata.labels', 'app="web"\nexample.com/Part="x"\ntier="front"'],
    ['spec.nodeName', 'n1'],
    ['spec.serviceAccountName', 'sa'],
    ['status.podIP', '10.1.0.7'],
    ['status.podIPs', '10.1.0.7'],
    ['status.hostIP', '192.168.1.2'],
    ['status.hostIPs', '192.168.1.2'],
  ])('%s', (path, expected) => {
    // Proves the value of every field.
    expect(field(path)).toBe(expected);
  });

  it('quotes values of maps as Go does', () => {
    // Proves escapes that JSON does not have: \x01, and characters that do not print.
    expect(field('metadata.annotations')).toBe(
      'example.com/Build="7"\nnote="a \\"quote\\"\\nand \\x01 \\u00a0 ü 😀 \\U000e0001"',
    );
  });

  it.each([
    ['spec.containers', 'unsupported fieldPath: spec.containers'],
    ['metadata.labels[tier]', 'unsupported fieldPath: metadata.labels[tier]'],
    ["metadata.labels['a b']", /^invalid key subscript in metadata\.labels\['a b'\]: name part must/],
    ['', 'unsupported fieldPath: '],
  ])('refuses %j', (path, message) => {
    // Proves that an unknown field is an error, not an empty value.
    expect(() => field(path)).toThrow(message);
  });
});

describe('resources', () => {
  it.each([
    ['requests.cpu', 'main', undefined, '1'],
    ['requests.cpu', 'main', '1m', '250'],
    ['requests.memory', 'main', undefined, '67108864'],
    ['requests.memory', 'main', '1Mi', '64'],
    ['limits.cpu', 'main', '1', '2'],
    ['limits.memory', 'main', '1Mi', '96'],
    ['limits.memory', 'main', '0', '100000000'],
    ['requests.cpu', 'free', undefined, '0'],
    ['limits.cpu', 'free', '1m', '3920'],
    ['limits.memory', 'free', '1Gi', '8'],
    ['limits.cpu', 'init', '1m', '3920'],
    ['limits.ephemeral-storage', 'init', '1Gi', '3'],
    ['limits.hugepages-2Mi', 'free', '1Mi', '4'],
    ['limits.cpu', undefined, '1m', '1500'],
  ])('%s of %s by %s', (name, container, divisor, expected) => {
    // Proves rounding up, divisors, and the node's allocatable where no limit is set.
    expect(resource(name, container, divisor)).toBe(expected);
  });

  it('takes the limit of the pod before that of the node', () => {
    // Proves pod-level limits.
    const limited: Pod = { ...pod, spec: { ...pod.spec, resources: { limits: { cpu: '2' } } } };
    const free: Container = { name: 'free' };
    expect(containerResource({ resource: 'limits.cpu' }, limited, node, free)).toBe('2');
  });

  it('refuses unknown containers and resources', () => {
    // Proves the messages of both errors.
    expect(() => resource('limits.cpu', 'nobody')).toThrow('container nobody not found');
    expect(() => resource('limits.gpu')).toThrow('unsupported container resource : limits.gpu');
  });
});
