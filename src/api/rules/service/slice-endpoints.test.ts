/** Proves which of several endpoints with one address stands for it. */
import { expect, it } from 'vitest';
import type { Endpoint, EndpointSlice } from '../../generated/types.ts';
import { endpointsOfPort, reachableEndpoints } from './slice-endpoints.ts';

const endpoint = (name: string, conditions: Endpoint['conditions']): Endpoint => ({
  addresses: ['192.0.2.2'],
  conditions,
  targetRef: { kind: 'Pod', name },
});
const ready = endpoint('ready', { ready: true, serving: true, terminating: false });
const crashed = endpoint('crashed', { ready: false, serving: false, terminating: false });
const leaving = endpoint('leaving', { ready: false, serving: true, terminating: true });
const published = endpoint('published', { ready: true, serving: true, terminating: true });

it.each([
  ['the pod that is ready, of those that share the network of a machine', [crashed, ready], 'ready'],
  ['the same in another order', [ready, crashed], 'ready'],
  ['the pod that is ready, not the one that ends', [leaving, ready, leaving], 'ready'],
  ['the pod that stays, though all count as ready', [published, ready], 'ready'],
  ['the pod that still answers while it ends', [leaving, crashed], 'leaving'],
  ['nobody, when none answers', [crashed, crashed], undefined],
])('%s', (_, endpoints, expected) => {
  const slice: EndpointSlice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 's' },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8090 }],
    endpoints,
  };
  const reached = reachableEndpoints(endpointsOfPort([slice], ''));
  expect(reached.map((one) => one.endpoint.targetRef?.name)).toEqual(expected ? [expected] : []);
});
