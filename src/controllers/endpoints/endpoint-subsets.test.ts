/**
 * Proves how pod addresses are grouped to subsets, and how these are truncated. Tests that need a cluster are in
 * test/controllers.
 */
import { describe, expect, it } from 'vitest';
import type { EndpointSubset, Service } from '../../api/generated/types.ts';
import type { IndexedPod } from '../shared/indexed-pod.ts';
import { subsetsOf, truncated } from './endpoint-subsets.ts';

const pod = (name: string, ips: string[], more: Partial<IndexedPod> = {}): IndexedPod =>
  ({
    namespace: 'ns',
    name,
    uid: name,
    nodeName: '',
    hostname: '',
    subdomain: '',
    ports: [],
    phase: 'Running',
    ips,
    ready: true,
    marked: false,
    ...more,
  }) as unknown as IndexedPod;

const service = (spec: Service['spec']): Service => ({ metadata: { name: 'web', namespace: 'ns' }, spec });

describe('subsets', () => {
  it('hold addresses of the family of the service alone', () => {
    const pods = [pod('both', ['10.0.0.1', 'fd00::1']), pod('six', ['fd00::2']), pod('four', ['10.0.0.3'])];
    const ips = (ipFamilies: string[]) =>
      subsetsOf(service({ clusterIP: 'x', ports: [{ port: 80 }], ipFamilies }), pods).flatMap(
        ({ addresses }) => addresses?.map(({ ip }) => ip),
      );
    expect(ips(['IPv4'])).toEqual(['10.0.0.1', '10.0.0.3']);
    expect(ips(['IPv6'])).toEqual(['fd00::1', 'fd00::2']);
  });

  it('keep pods that share an address apart, by uid', () => {
    const [subset] = subsetsOf(service({ clusterIP: 'x', ports: [{ port: 80 }] }), [
      pod('b', ['10.0.0.1']),
      pod('a', ['10.0.0.1']),
    ]);
    expect(subset?.addresses?.map(({ targetRef }) => targetRef?.uid)).toEqual(['a', 'b']);
  });

  it('are none where a service with an address has no ports', () => {
    expect(subsetsOf(service({ clusterIP: '10.0.0.9' }), [pod('a', ['10.0.0.1'])])).toEqual([]);
  });
});

describe('cutting', () => {
  const subset = (ready: number, others: number, port: number): EndpointSubset => ({
    addresses: Array.from({ length: ready }, (_, i) => ({ ip: `r${i}` })),
    notReadyAddresses: Array.from({ length: others }, (_, i) => ({ ip: `n${i}` })),
    ports: [{ port }],
  });
  const sizes = (subsets: EndpointSubset[], max: number) =>
    truncated(subsets, max).subsets.map(({ addresses, notReadyAddresses }) => [
      addresses?.length ?? 0,
      notReadyAddresses?.length ?? 0,
    ]);

  it('leaves alone what fits', () => {
    expect(truncated([subset(6, 4, 1)], 10).cut).toBe(false);
    expect(truncated([subset(6, 5, 1)], 10).cut).toBe(true);
  });

  it('takes what is not ready first, and from each subset its share', () => {
    expect(sizes([subset(6, 5, 1)], 10)).toEqual([[6, 4]]);
    expect(sizes([subset(4, 10, 1), subset(2, 10, 2)], 10)).toEqual([
      [4, 2],
      [2, 2],
    ]);
    expect(sizes([subset(30, 1, 1), subset(10, 1, 2)], 10)).toEqual([
      [8, 0],
      [2, 0],
    ]);
  });

  it('drops subsets of which nothing is left', () => {
    expect(sizes([subset(10, 0, 1), subset(0, 3, 2)], 10)).toEqual([[10, 0]]);
  });
});
