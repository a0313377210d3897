/** Proves that the directory has all services with their slices, and reports changes of either. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { type Cluster, start } from '../cluster/index.ts';
import { Client } from './client.ts';
import { endpointSlices, services } from './resources.ts';
import { type NamedService, ServiceDirectory } from './service-directory.ts';

let cluster: Cluster;
let client: Client;

beforeAll(async () => {
  cluster = await start({ store: 'memory', controllers: false });
  client = new Client(cluster.url);
});

afterAll(async () => {
  client.close();
  await cluster.close();
});

it('knows what is there, and tells whose service or slices are different', async () => {
  const metadata = { name: 'web' };
  const slice = (name: string, ip: string, service = 'web') => ({
    metadata: { name, labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [ip] }],
    ports: [{ port: 8080 }],
  });
  const addresses = (name = 'web') =>
    directory
      .slices('default', name)
      .flatMap(({ endpoints = [] }) => endpoints.flatMap((one) => one.addresses ?? []))
      .sort();
  await client.create(services, 'default', { metadata, spec: { ports: [{ port: 80 }] } });
  const errors: Error[] = [];
  const directory = new ServiceDirectory(client, (error) => errors.push(error));
  onTestFinished(() => directory.close());
  await directory.start();
  expect(directory.service('default', 'web')?.spec?.ports?.[0]?.port).toBe(80);
  expect([...directory.services()].map(({ metadata }) => metadata.name)).toContain('web');
  expect(directory.slices('default', 'web')).toEqual([]);
  const told: NamedService[] = [];
  const web = { namespace: 'default', name: 'web' };
  directory.onChange((changed) => told.push(changed));
  await client.create(endpointSlices, 'default', slice('web-1', '10.9.8.7'));
  await vi.waitFor(() => expect(told).toEqual([web]), { timeout: 60_000 });
  expect(addresses()).toEqual(['10.9.8.7']);
  // Slices are joined, and one that is given to another service leaves the first.
  await client.create(endpointSlices, 'default', slice('web-2', '10.9.8.8'));
  await vi.waitFor(() => expect(addresses()).toEqual(['10.9.8.7', '10.9.8.8']), { timeout: 60_000 });
  await client.replace(endpointSlices, 'default', slice('web-2', '10.9.8.8', 'shop'));
  await vi.waitFor(() => expect(addresses('shop')).toEqual(['10.9.8.8']), { timeout: 60_000 });
  expect(addresses()).toEqual(['10.9.8.7']);
  expect(told).toContainEqual({ namespace: 'default', name: 'shop' });
  await client.delete(services, 'default', 'web');
  await vi.waitFor(() => expect(told.slice(3)).toContainEqual(web), { timeout: 60_000 });
  await vi.waitFor(() => expect(directory.service('default', 'web')).toBeUndefined(), { timeout: 60_000 });
  expect(errors).toEqual([]);
});
