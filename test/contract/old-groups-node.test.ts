/** A node of a server that has nothing but `v1` and `extensions/v1beta1` registers, stays ready and finds services. */
import { expect, it, onTestFinished } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { services } from '../../src/client/resources.ts';
import { ServiceDirectory } from '../../src/client/service-directory.ts';
import { until, untilList } from '../controllers/objects.ts';
import { type Json, useCluster } from '../support/http.ts';

const api = useCluster({
  runtimeConfig: { 'api/all': false, v1: true, 'extensions/v1beta1': true },
  simulatedNodes: 1,
});

const ready = (node: Json): Json => node.status?.conditions?.find(({ type }: Json) => type === 'Ready');

it('runs pods, and its status is its sign of life', async () => {
  expect((await api.get('/apis/discovery.k8s.io/v1/endpointslices')).status).toBe(404);
  const [node] = await untilList(api, '/api/v1/nodes', (items) => items.length === 1);
  const path = `/api/v1/nodes/${node.metadata.name}`;
  const first = await until(api, path, (one) => ready(one)?.status === 'True');
  await api.post('/api/v1/namespaces/default/pods', {
    metadata: { name: 'p', labels: { app: 'p' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  await until(api, '/api/v1/namespaces/default/pods/p', (pod) => pod.status.phase === 'Running');
  const later = await until(
    api,
    path,
    (one) => ready(one)?.lastHeartbeatTime > ready(first).lastHeartbeatTime,
  );
  expect(ready(later).status).toBe('True');
});

it('finds the addresses of services in their Endpoints', async () => {
  await api.post('/api/v1/namespaces/default/services', {
    metadata: { name: 's' },
    spec: { selector: { app: 'p' }, ports: [{ port: 80, targetPort: 8080 }] },
  });
  const endpoints = await until(
    api,
    '/api/v1/namespaces/default/endpoints/s',
    (object) => object.subsets?.[0]?.addresses?.length === 1,
  );
  const client = new Client(api.url);
  onTestFinished(() => client.close());
  const errors: string[] = [];
  const directory = new ServiceDirectory(client, (error) => errors.push(error.message));
  onTestFinished(() => directory.close());
  await directory.start();
  const addresses = (name: string): unknown[] =>
    directory
      .slices('default', name)
      .map(({ addressType, ports, endpoints: members }) => [
        addressType,
        ports?.map(({ port }) => port),
        members?.map((one) => one.addresses),
      ]);
  expect(addresses('s')).toEqual([['IPv4', [8080], [[endpoints.subsets[0].addresses[0].ip]]]]);
  // Said once, with a name.
  expect(errors).toEqual([expect.stringMatching(/^endpointslices of discovery\.k8s\.io\/v1: /)]);
  await client.delete(services, 'default', 's');
  await expect.poll(() => addresses('s')).toEqual([]);
});
