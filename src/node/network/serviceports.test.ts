import { describe, expect, it } from 'vitest';
import type { EndpointAddress, Endpoints, ServiceSpec } from '../../api/generated/types.ts';
import { type ServiceEntry, serviceEntries } from './serviceports.ts';

const node = { nodeName: 'n1', address: '192.0.2.1' };

const entries = (spec: ServiceSpec, addresses: EndpointAddress[], name = 'web'): ServiceEntry[] => {
  const metadata = { namespace: 'default', name };
  const endpoints: Endpoints = { metadata, subsets: [{ addresses, ports: [{ name: 'http', port: 8080 }] }] };
  return serviceEntries({ metadata, spec }, endpoints, node);
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
});
