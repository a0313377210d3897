/** Proves which names and addresses an agent gets a certificate for by itself, and which only a person gives it. */
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CertificateSigningRequest, Node } from '../../api/generated/types.ts';
import { servingAddressesAnnotation, sourceAddressKey } from '../../api/values/node-identity.ts';
import { namesOf } from '../../pki/alternative-names.ts';
import { Authority, makeAuthority, servingUsages, yearMs } from '../../pki/authority.ts';
import type { ClusterTrust } from '../shared/controller.ts';
import { Harness } from '../shared/harness.fixture.ts';
import { areOwnNames } from './serving-names.ts';

let harness: Harness;
let trust: ClusterTrust;

beforeAll(async () => {
  harness = await Harness.open(['default', 'shop']);
  const authority = new Authority(makeAuthority('ca', Date.now()));
  const hosts = ['kubernetes.default.svc', 'server', '*.api.example.com', '10.1.0.1', '127.0.0.1'];
  const { cert } = authority.issue(
    { subject: { commonName: 'a' }, usages: servingUsages, hosts, lifeMs: yearMs },
    Date.now(),
  );
  trust = { shown: [new X509Certificate(cert)] } as unknown as ClusterTrust;
  await harness.seed('v1', 'nodes', '', {
    metadata: { name: 'other' },
    status: {
      addresses: [
        { type: 'InternalIP', address: '10.1.0.7' },
        { type: 'Hostname', address: 'other.example.com' },
      ],
    },
  });
  await harness.seed('v1', 'services', 'shop', {
    metadata: { name: 'cart' },
    spec: { ports: [{ port: 80 }] },
  });
  await harness.seed('networking.k8s.io/v1', 'servicecidrs', '', {
    metadata: { name: 'kubernetes' },
    spec: { cidrs: ['10.96.0.0/16', 'fd00:96::/112'] },
  });
  await harness.seed('discovery.k8s.io/v1', 'endpointslices', 'default', {
    metadata: { name: 'kubernetes', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.0.2'] }],
    ports: [],
  });
});
afterAll(() => harness.close());

const nodeOf = (name: string, listed?: string): Node =>
  ({
    metadata: { name, ...(listed ? { annotations: { [servingAddressesAnnotation]: listed } } : {}) },
  }) as Node;

/** Whether a node gets these names in a certificate that it asks for from an address. */
const gets = (node: Node, from: string | undefined, ...hosts: string[]): boolean =>
  areOwnNames(
    harness.registry,
    trust,
    node,
    { spec: { extra: from ? { [sourceAddressKey]: [from] } : {} } } as CertificateSigningRequest,
    namesOf(hosts),
  );

describe('a node gets', () => {
  it.each([
    ['its own name', ['n1']],
    ['the name of its agent', ['n1.nodes.wherry.internal']],
    ['the address that it asks from', ['10.1.0.9']],
    ['all of them', ['n1', 'n1.nodes.wherry.internal', '10.1.0.9']],
  ])('%s', (_what, hosts) => {
    expect(gets(nodeOf('n1'), '10.1.0.9', ...hosts)).toBe(true);
  });

  it('what an administrator listed for it', () => {
    const listed = nodeOf('n1', '10.1.0.10, fd00::a n1.example.com');
    expect(gets(listed, '10.1.0.9', '10.1.0.10', 'fd00:0::a', 'n1.example.com')).toBe(true);
    expect(gets(nodeOf('n1'), '10.1.0.9', 'n1.example.com')).toBe(false);
  });
});

describe('a node does not get', () => {
  it.each([
    ['an address that it does not ask from', 'n1', ['10.1.0.10']],
    ['any address, when the server does not know where it asks from', 'n1', ['10.1.0.9'], ''],
    ['another name', 'n1', ['n2']],
    ['its own name and another', 'n1', ['n1', 'kubernetes.default.svc']],
    ['the name of another agent', 'n1', ['n2.nodes.wherry.internal']],
    ['the name of another agent as its own', 'n2.nodes.wherry.internal', ['n2.nodes.wherry.internal']],
    ['a wildcard', 'n1', ['*.nodes.wherry.internal']],
    ['every name', 'n1', ['*']],
    ['loopback', 'n1', ['127.0.0.1'], '127.0.0.1'],
    ['loopback of IPv6', 'n1', ['::1'], '::1'],
    ['all addresses', 'n1', ['0.0.0.0'], '0.0.0.0'],
    ['a link-local address', 'n1', ['169.254.169.254'], '169.254.169.254'],
    ['an address of the API server', 'n1', ['10.1.0.1'], '10.1.0.1'],
    ['an address of another API server', 'n1', ['10.1.0.2'], '10.1.0.2'],
    ['an address of another node', 'n1', ['10.1.0.7'], '10.1.0.7'],
    ['an address of a service', 'n1', ['10.96.0.1'], '10.96.0.1'],
    ['an address of a service of IPv6', 'n1', ['fd00:96::1'], 'fd00:96::1'],
    ['localhost', 'localhost', ['localhost']],
    ['the name of the API server in the cluster', 'kubernetes.default.svc', ['kubernetes.default.svc']],
    ['the name of the API server', 'server', ['server']],
    ['a name below a wildcard of the API server', 'b.api.example.com', ['b.api.example.com']],
    ['the name of a service', 'cart', ['cart']],
    ['the name of a service with its namespace', 'cart.shop', ['cart.shop']],
    ['the name that a service could have', 'a.b.svc', ['a.b.svc']],
    ['the whole name that a service could have', 'a.b.svc.cluster.local', ['a.b.svc.cluster.local']],
    ['the name of another node', 'other.example.com', ['other.example.com']],
  ])('%s', (_what, name, hosts, from = '10.1.0.9') => {
    expect(gets(nodeOf(name), from, ...hosts)).toBe(false);
    // Neither does a list.
    if (hosts.includes(from) && from !== '10.1.0.9')
      expect(gets(nodeOf(name, from), undefined, ...hosts)).toBe(false);
  });
});
