/** Proves that endpoints of a service with thousands of ports cost no more than its ports and its pods together. */
import { expect, it } from 'vitest';
import type { Service } from '../../api/generated/types.ts';
import type { IndexedPod, NamedPort } from '../shared/indexed-pod.ts';
import { subsetsOf } from './endpoint-subsets.ts';
import { endpointGroups } from './pod-endpoints.ts';

const portCount = 4_000;
const podCount = 200;
/** Worked out for each pod anew, these take several seconds. */
const costMaxMicroseconds = 2_000_000;

const podOf = (i: number, ports: readonly NamedPort[]): IndexedPod =>
  ({
    namespace: 'ns',
    name: `pod-${i}`,
    uid: `pod-${i}`,
    nodeName: 'n1',
    hostname: '',
    subdomain: '',
    ports,
    phase: 'Running',
    ips: [`10.0.${i >> 8}.${i & 255}`],
    ready: true,
    marked: false,
  }) as unknown as IndexedPod;

const serviceOf = (targetOf: (i: number) => number | string): Service => ({
  metadata: { name: 'web', namespace: 'ns' },
  spec: {
    clusterIP: 'x',
    ports: Array.from({ length: portCount }, (_, i) => ({
      name: `p${i}`,
      port: i + 1,
      targetPort: targetOf(i),
    })),
  },
});

const named: readonly NamedPort[] = Array.from({ length: portCount }, (_, i) => ({
  name: `t${i}`,
  protocol: 'TCP',
  port: i + 1,
}));

it.each([
  ['numbers', serviceOf((i) => i + 1)],
  ['names', serviceOf((i) => `t${i}`)],
])('asks for ports by their %s', (_, service) => {
  const pods = Array.from({ length: podCount }, (_each, i) => podOf(i, [...named]));
  const { user } = process.cpuUsage();
  const subsets = subsetsOf(service, pods);
  const groups = endpointGroups(service, pods, 'IPv4', () => ({ zone: undefined }));
  expect(process.cpuUsage().user - user).toBeLessThan(costMaxMicroseconds);
  expect(subsets.map(({ addresses, ports }) => [addresses?.length, ports?.length])).toEqual([
    [podCount, portCount],
  ]);
  expect(groups.map(({ endpoints, ports }) => [endpoints.length, ports.length])).toEqual([
    [podCount, portCount],
  ]);
});

it('tells pods apart that have other numbers behind a name, and those without it', () => {
  const one = [{ name: 't0', protocol: 'TCP', port: 80 }];
  const other = [
    { name: 't0', protocol: 'TCP', port: 81 },
    { name: 't0', protocol: 'TCP', port: 82 },
  ];
  const pods = [podOf(0, one), podOf(1, other), podOf(2, []), podOf(3, [...one])];
  const ports = [
    { name: 'a', port: 1, targetPort: 't0' },
    { name: 'b', port: 2, targetPort: 9 },
  ];
  const service: Service = { metadata: { name: 'web' }, spec: { clusterIP: 'x', ports } };
  const shown = subsetsOf(service, pods).map((subset) => [
    subset.addresses?.map(({ ip }) => ip),
    subset.ports?.map(({ name, port }) => `${name}:${port}`),
  ]);
  expect(shown).toHaveLength(3);
  expect(shown).toContainEqual([['10.0.0.0', '10.0.0.3'], ['a:80']]);
  expect(shown).toContainEqual([['10.0.0.1'], ['a:81']]);
  expect(shown).toContainEqual([['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3'], ['b:9']]);
  const groups = endpointGroups(service, pods, 'IPv4', () => ({ zone: undefined }));
  expect(groups.map((group) => group.ports.map(({ port }) => port))).toEqual([[80, 9], [81, 9], [9]]);
  expect(groups[0]!.endpoints.map(({ addresses }) => addresses?.[0])).toEqual(['10.0.0.0', '10.0.0.3']);
});
