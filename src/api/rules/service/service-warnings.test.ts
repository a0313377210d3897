// Proves what services, endpoints and accounts warn of, in Kubernetes' words.
import { expect, test } from 'vitest';
import type { Service } from '../../generated/types.ts';
import type { Kind } from '../../kind/kind.ts';
import { endpoints } from '../../kinds/core/endpoints.ts';
import { made } from '../../kinds/core/pod.fixture.ts';
import { serviceAccount } from '../../kinds/core/service-account.ts';
import type { ApiObject } from '../../text/object.ts';
import { serviceWarnings } from './service-warnings.ts';

const ignored = 'spec.externalIPs is deprecated and may no longer be implemented in some clusters';

test.each<[name: string, spec: Service['spec'], warnings: string[]]>([
  ['nothing', { type: 'ClusterIP', clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] }, []],
  [
    'a headless service has no use for addresses',
    {
      type: 'ClusterIP',
      clusterIP: 'None',
      clusterIPs: ['None'],
      externalIPs: ['1.2.3.4'],
      loadBalancerIP: '1.2.3.4',
      sessionAffinity: 'ClientIP',
    },
    [
      'spec.loadBalancerIP is ignored for headless services',
      'spec.externalIPs is ignored for headless services',
      'spec.SessionAffinity is ignored for headless services',
    ],
  ],
  [
    'addresses that are written in another way than usual',
    {
      type: 'LoadBalancer',
      clusterIP: 'fd00::0:1',
      clusterIPs: ['fd00::0:1'],
      externalIPs: ['fd00::0:2'],
      loadBalancerIP: 'FD00::3',
      loadBalancerSourceRanges: ['FD00::/8'],
    },
    [
      'spec.clusterIPs[0]: IPv6 address "fd00::0:1" should be in RFC 5952 canonical format ("fd00::1")',
      'spec.externalIPs[0]: IPv6 address "fd00::0:2" should be in RFC 5952 canonical format ("fd00::2")',
      ignored,
      'spec.loadBalancerIP: IPv6 address "FD00::3" should be in RFC 5952 canonical format ("fd00::3")',
      'spec.loadBalancerSourceRanges[0]: IPv6 CIDR value "FD00::/8" should be in RFC 5952 canonical format ("fd00::/8")',
    ],
  ],
  [
    'fields of another type',
    { type: 'ExternalName', externalName: 'a.b', externalIPs: ['1.2.3.4'] },
    ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
  ],
  [
    'a name that is not used, and a word that was replaced',
    { type: 'ClusterIP', clusterIP: '10.0.0.1', externalName: 'a.b', trafficDistribution: 'PreferClose' },
    [
      'spec.externalName is ignored when spec.type is not "ExternalName"',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ],
  ],
])('%s', (_name, spec, warnings) => {
  expect([...serviceWarnings({ metadata: { name: 'x' }, spec })]).toEqual(warnings);
});

test('an annotation that was replaced', () => {
  const annotations = { 'service.kubernetes.io/topology-aware-hints': 'auto' };
  expect([...serviceWarnings({ metadata: { name: 'x', annotations } })]).toEqual([
    'annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead',
  ]);
});

const warningsOf = (kind: Kind, body: object, old?: ApiObject): string[] =>
  kind.warnings!(made(kind, body), old);

test('addresses of endpoints', () => {
  const subsets = [{ addresses: [{ ip: '1.2.3.4' }], notReadyAddresses: [{ ip: 'FD00::1' }] }];
  expect(warningsOf(endpoints, { metadata: { name: 'x' }, subsets })).toEqual([
    'subsets[0].notReadyAddresses[0].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")',
  ]);
});

test('an annotation of accounts, once', () => {
  const name = 'kubernetes.io/enforce-mountable-secrets';
  const body = { metadata: { name: 'x', annotations: { [name]: 'true' } } };
  expect(warningsOf(serviceAccount, body)).toEqual([
    `metadata.annotations[${name}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
  ]);
  expect(warningsOf(serviceAccount, body, made(serviceAccount, body))).toEqual([]);
});
