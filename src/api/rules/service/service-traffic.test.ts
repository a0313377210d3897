/** Affinity, policies, balancer fields and external names of a service follow Kubernetes' rules. */
import { describe, expect, test } from 'vitest';
import { port, problems, updateProblems } from '../../kinds/core/service.fixture.ts';

const ports = [port];
const balancer = { type: 'LoadBalancer', ports };
const balancerOnly = "Forbidden: may only be used when `type` is 'LoadBalancer'";

describe('validation', () => {
  test.each([
    [
      { sessionAffinity: 'Bar' },
      'spec.sessionAffinity: Unsupported value: "Bar": supported values: "ClientIP", "None"',
    ],
    ...[0, -1, 86_401].map((timeoutSeconds) => [
      { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds } } },
      `spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: ${timeoutSeconds}: must be greater than 0 and less than 86400`,
    ]),
    [
      { externalTrafficPolicy: 'Local' },
      'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
    ],
    [
      { type: 'NodePort', externalTrafficPolicy: 'Foo' },
      'spec.externalTrafficPolicy: Unsupported value: "Foo": supported values: "Cluster", "Local"',
    ],
    [
      { type: 'NodePort', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_001 },
      "spec.healthCheckNodePort: Invalid value: 30001: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    ],
    [
      { internalTrafficPolicy: 'Foo' },
      'spec.internalTrafficPolicy: Unsupported value: "Foo": supported values: "Cluster", "Local"',
    ],
    [
      { trafficDistribution: 'Foo' },
      'spec.trafficDistribution: Unsupported value: "Foo": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
    ],
    [{ loadBalancerSourceRanges: ['10.0.0.0/8'] }, `spec.LoadBalancerSourceRanges: ${balancerOnly}`],
    [{ allocateLoadBalancerNodePorts: false }, `spec.allocateLoadBalancerNodePorts: ${balancerOnly}`],
    [{ loadBalancerClass: 'a/b' }, `spec.loadBalancerClass: ${balancerOnly}`],
    [
      { ...balancer, loadBalancerSourceRanges: ['10.0.0.0/8', 'x'] },
      'spec.LoadBalancerSourceRanges[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [{ type: 'ExternalName' }, 'spec.externalName: Required value'],
    [{ type: 'ExternalName', externalName: '.' }, 'spec.externalName: Required value'],
  ] as [object, string][])('%j', (spec, error) => {
    expect(problems({ ports, ...spec })).toEqual([error]);
  });

  test('what is right passes', () => {
    const sticky = {
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_400 } },
    };
    expect(problems({ ports, ...sticky })).toEqual([]);
    expect(problems({ ports, externalIPs: ['1.2.3.4'], externalTrafficPolicy: 'Local' })).toEqual([]);
    expect(
      problems({
        ...balancer,
        loadBalancerSourceRanges: [' 10.0.0.0/8 '],
        loadBalancerClass: 'a/b',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 30_001,
        trafficDistribution: 'PreferClose',
      }),
    ).toEqual([]);
  });

  test('an external name is a subdomain, with at most one dot at its end', () => {
    const name = (externalName: string): string[] => problems({ type: 'ExternalName', externalName });
    expect(name('example.com.')).toEqual([]);
    expect(name('a..')[0]).toMatch(
      /^spec\.externalName: Invalid value: "a\.": a lowercase RFC 1123 subdomain/,
    );
    expect(name('A')[0]).toMatch(/^spec\.externalName: Invalid value: "A": a lowercase RFC 1123 subdomain/);
  });

  test('external addresses must be reachable by others', () => {
    const ips = ['x', '0.0.0.0', '127.0.0.1', '169.254.1.1', '224.0.0.1', 'fe80::1', '1.2.3.4'];
    expect(problems({ ports, externalIPs: ips })).toEqual([
      'spec.externalIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'spec.externalIPs[1]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
      'spec.externalIPs[2]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      'spec.externalIPs[3]: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
      'spec.externalIPs[4]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
      'spec.externalIPs[5]: Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
    ]);
  });
});

describe('update', () => {
  test('the class of a balancer stays as long as it is one', () => {
    const changed = 'may not change once set';
    expect(
      updateProblems({ ...balancer, loadBalancerClass: 'a' }, { ...balancer, loadBalancerClass: 'b' }),
    ).toEqual([`spec.loadBalancerClass: Invalid value: "b": ${changed}`]);
    expect(updateProblems(balancer, { ...balancer, loadBalancerClass: 'b' })).toEqual([
      `spec.loadBalancerClass: Invalid value: "b": ${changed}`,
    ]);
    expect(updateProblems({ type: 'ClusterIP', ports }, { ...balancer, loadBalancerClass: 'b' })).toEqual([]);
  });

  test('the health check port stays as long as there is one', () => {
    const local = { ...balancer, externalTrafficPolicy: 'Local', healthCheckNodePort: 30_001 };
    expect(updateProblems(local, { ...local, healthCheckNodePort: 30_002 })).toEqual([
      'spec.healthCheckNodePort: Forbidden: field is immutable',
    ]);
    expect(updateProblems(local, { ...local, healthCheckNodePort: undefined })).toEqual([]);
    expect(updateProblems(balancer, local)).toEqual([]);
  });
});
