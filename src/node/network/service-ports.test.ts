import { describe, expect, it } from 'vitest';
import type { Endpoint, EndpointAddress, ObjectMeta, ServiceSpec } from '../../api/generated/types.ts';
import { type ServiceEntry, serviceEntries } from './service-ports.ts';

const node = { nodeName: 'n1', address: '192.0.2.1' };

const entries = (spec: ServiceSpec, addresses: EndpointAddress[], name = 'web'): ServiceEntry[] => {
  const metadata = { namespace: 'default', name };
  return entriesOf(
    spec,
    addresses.map(({ ip = '', ...rest }) => ({ addresses: [ip], ...rest })),
    metadata,
  );
};

const entriesOf = (
  spec: ServiceSpec,
  endpoints: Endpoint[],
  metadata: ObjectMeta = { namespace: 'default', name: 'web' },
  zone?: string,
): ServiceEntry[] => {
  const slice = { metadata: {}, addressType: 'IPv4', endpoints, ports: [{ name: 'http', port: 8080 }] };
  return serviceEntries({ metadata, spec }, [slice], { ...node, zone });
};

const ports = [{ name: 'http', port: 80 }];

describe('the ports of a service', () => {
  it('are where it answers, with who answers', () => {
    // Cluster IP, external IPs and node port of one service port share their client affinity.
    const found = entries(
      {
        clusterIP: '10.0.0.9',
        externalIPs: ['192.0.2.7'],
        ports: [{ name: 'http', port: 80, nodePort: 30_000 }],
        sessionAffinity: 'ClientIP',
      },
      [{ ip: '10.1.0.1' }],
    );
    expect(found.map(({ entrance, ip, port }) => [entrance, ip, port])).toEqual([
      ['cluster', '10.0.0.9', 80],
      ['external', '192.0.2.7', 80],
      ['node', undefined, 30_000],
    ]);
    expect(new Set(found.map(({ affinityKey }) => affinityKey)).size).toBe(1);
    expect(found[0]).toMatchObject({ affinityMs: 10_800_000, targets: [{ ip: '10.1.0.1', port: 8080 }] });
  });

  it('are none for services without an address, and none for SCTP', () => {
    expect(entries({ clusterIP: 'None', ports }, [])).toEqual([]);
    expect(entries({ type: 'ExternalName', externalName: 'a.b' }, [])).toEqual([]);
    expect(entries({ clusterIP: '10.0.0.9', ports: [{ port: 80, protocol: 'SCTP' }] }, [])).toEqual([]);
  });

  it('do not lead where only the machine itself may go', () => {
    // Users may write Endpoints objects; those of the API server's own service are trusted.
    const addresses = ['127.0.0.1', '169.254.169.254', '0.0.0.0', 'x', '10.1.0.1', node.address].map(
      (ip) => ({ ip }),
    );
    const targets = (name: string): string[] =>
      entries({ clusterIP: '10.0.0.1', ports }, addresses, name)[0]!.targets.map(({ ip }) => ip);
    expect(targets('web')).toEqual(['10.1.0.1', '192.0.2.1']);
    expect(targets('kubernetes')).toContain('127.0.0.1');
  });

  it('know which targets are pods that share this node’s network', () => {
    const targetRef = { kind: 'Pod', uid: 'u' };
    const addresses = [
      { ip: node.address, nodeName: 'n1', targetRef },
      { ip: '10.1.0.1', nodeName: 'n1', targetRef },
      { ip: '192.0.2.2', nodeName: 'n2', targetRef },
    ];
    const [entry] = entries({ clusterIP: '10.0.0.1', ports }, addresses);
    expect(entry!.targets.map(({ shared }) => shared)).toEqual([true, false, false]);
  });

  const targets = (spec: ServiceSpec, endpoints: Endpoint[], zone?: string): string[] =>
    entriesOf({ clusterIP: '10.0.0.1', ports, ...spec }, endpoints, undefined, zone)[0]!.targets.map(
      ({ ip }) => ip,
    );
  const at = (ip: string, more: Partial<Endpoint> = {}): Endpoint => ({ addresses: [ip], ...more });

  it('lead to endpoints that are ready, or to those that still answer while they go', () => {
    const going = (ip: string, serving: boolean, nodeName = 'n1') =>
      at(ip, { nodeName, conditions: { ready: false, serving, terminating: true } });
    const rest = [going('10.1.0.2', true), going('10.1.0.3', false), going('10.1.0.4', true, 'n2')];
    const unready = at('10.1.0.5', { conditions: { ready: false, serving: false, terminating: false } });
    expect(targets({}, [at('10.1.0.1'), ...rest, unready])).toEqual(['10.1.0.1']);
    expect(targets({}, [...rest, unready])).toEqual(['10.1.0.2', '10.1.0.4']);
    const local: ServiceSpec = { internalTrafficPolicy: 'Local' };
    expect(targets(local, [at('10.1.0.1', { nodeName: 'n2' }), ...rest])).toEqual(['10.1.0.2']);
    expect(targets(local, [at('10.1.0.1', { nodeName: 'n2' })])).toEqual([]);
  });

  it('take an address that is in two slices once, and not as the one that goes', () => {
    const going = at('10.1.0.1', { conditions: { ready: false, terminating: true } });
    expect(targets({}, [going, at('10.1.0.1')])).toEqual(['10.1.0.1']);
    expect(targets({}, [at('10.1.0.1'), going])).toEqual(['10.1.0.1']);
  });

  it('stay near where hints say so', () => {
    const inZone = (ip: string, zone: string, node?: string) =>
      at(ip, {
        hints: { forZones: [{ name: zone }], ...(node ? { forNodes: [{ name: node }] } : {}) },
      });
    const zones = [inZone('10.1.0.1', 'a'), inZone('10.1.0.2', 'b')];
    expect(targets({}, zones, 'b')).toEqual(['10.1.0.2']);
    // Hints count only when all endpoints have some, and one is meant for this zone.
    expect(targets({}, zones, 'c')).toEqual(['10.1.0.1', '10.1.0.2']);
    expect(targets({}, zones)).toEqual(['10.1.0.1', '10.1.0.2']);
    expect(targets({}, [...zones, at('10.1.0.3')], 'b')).toHaveLength(3);
    const nodes = [
      inZone('10.1.0.1', 'b', 'n2'),
      inZone('10.1.0.2', 'b', 'n1'),
      inZone('10.1.0.3', 'a', 'n3'),
    ];
    expect(targets({}, nodes, 'b')).toEqual(['10.1.0.2']);
    expect(targets({}, nodes.slice(0, 1).concat(nodes[2]!), 'b')).toEqual(['10.1.0.1']);
  });

  it('are left to another proxy that a label names', () => {
    const metadata = { name: 'web', labels: { 'service.kubernetes.io/service-proxy-name': 'other' } };
    expect(entriesOf({ clusterIP: '10.0.0.1', ports }, [at('10.1.0.1')], metadata)).toEqual([]);
  });
});
