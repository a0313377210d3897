/** A change of type clears fields that the server filled in, and keeps those that the client changed. */
import { expect, test } from 'vitest';
import type { ServiceSpec } from '../../generated/types.ts';
import { port, prepared, updated } from '../../kinds/core/service.fixture.ts';
import { hasHealthCheckPort, isExternallyAccessible, wantsNodePorts } from './service-type.ts';

const addresses = {
  clusterIP: '10.0.0.5',
  clusterIPs: ['10.0.0.5'],
  ipFamilies: ['IPv4'],
  ipFamilyPolicy: 'SingleStack',
};

const balancer = {
  ...prepared({ type: 'LoadBalancer', externalTrafficPolicy: 'Local', loadBalancerClass: 'a', ports: [port] })
    .spec,
  ...addresses,
  ports: [{ ...port, nodePort: 30_001 }],
  healthCheckNodePort: 30_002,
};

const after = (before: object, change: object): ServiceSpec =>
  updated(before, { ...structuredClone(before), ...change }).spec!;

test('from a balancer to a service inside the cluster', () => {
  expect(after(balancer, { type: 'ClusterIP' })).toEqual({
    ...addresses,
    type: 'ClusterIP',
    sessionAffinity: 'None',
    internalTrafficPolicy: 'Cluster',
    ports: [port],
  });
});

test('from a balancer to a name', () => {
  expect(after(balancer, { type: 'ExternalName', externalName: 'a.b' })).toEqual({
    type: 'ExternalName',
    externalName: 'a.b',
    sessionAffinity: 'None',
    ports: [port],
  });
});

test('what the client changed along with the type stays, to be refused', () => {
  const changed = {
    type: 'ClusterIP',
    ports: [{ ...port, nodePort: 30_009 }],
    externalTrafficPolicy: 'Cluster',
    healthCheckNodePort: 30_003,
    allocateLoadBalancerNodePorts: false,
    loadBalancerClass: 'b',
  };
  expect(after(balancer, changed)).toMatchObject(changed);
  const moved = {
    type: 'ExternalName',
    clusterIP: '10.0.0.6',
    clusterIPs: ['10.0.0.6'],
    ipFamilies: ['IPv6'],
  };
  const spec = after({ type: 'ClusterIP', ...addresses, ports: [port] }, moved);
  expect(spec).toMatchObject(moved);
  expect(spec.ipFamilyPolicy).toBeUndefined();
});

test('ports may come and go with the type as long as no node port is new', () => {
  const ports = [
    { ...port, name: 'a', nodePort: 30_001 },
    { ...port, port: 81, name: 'b' },
  ];
  expect(after(balancer, { type: 'ClusterIP', ports }).ports!.map((each) => each.nodePort)).toEqual([
    undefined,
    undefined,
  ]);
});

test('a policy without external addresses goes with the last of them', () => {
  const before = { type: 'ClusterIP', externalIPs: ['1.2.3.4'], externalTrafficPolicy: 'Cluster' };
  expect(after(before, { externalIPs: [] }).externalTrafficPolicy).toBeUndefined();
});

test('the status of a balancer goes with the balancer', () => {
  const status = { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } };
  expect(updated(balancer, { ...balancer, type: 'NodePort' }, structuredClone(status)).status).toEqual({
    loadBalancer: {},
  });
  expect(updated(balancer, balancer, structuredClone(status)).status).toEqual(status);
});

test('what a type has', () => {
  expect(wantsNodePorts({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false })).toBe(false);
  expect(wantsNodePorts({ type: 'LoadBalancer' })).toBe(true);
  expect(wantsNodePorts({ type: 'ClusterIP' })).toBe(false);
  expect(hasHealthCheckPort({ type: 'NodePort', externalTrafficPolicy: 'Local' })).toBe(false);
  expect(isExternallyAccessible({ type: 'ExternalName', externalIPs: ['1.2.3.4'] })).toBe(false);
});
