/** Proves that the directory has all services with their endpoints, and reports changes of either. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { type Cluster, start } from '../cluster/index.ts';
import { Client } from './client.ts';
import { endpoints, services } from './resources.ts';
import { type NamedService, ServiceDirectory } from './servicedirectory.ts';

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

it('knows what is there, and tells whose service or endpoints are different', async () => {
  const metadata = { name: 'web' };
  const subsets = [{ addresses: [{ ip: '10.9.8.7' }], ports: [{ port: 8080 }] }];
  await client.create(services, 'default', { metadata, spec: { ports: [{ port: 80 }] } });
  const errors: Error[] = [];
  const directory = new ServiceDirectory(client, (error) => errors.push(error));
  onTestFinished(() => directory.close());
  await directory.start();
  expect(directory.service('default', 'web')?.spec?.ports?.[0]?.port).toBe(80);
  expect([...directory.services()].map(({ metadata }) => metadata.name)).toContain('web');
  expect(directory.endpoints('default', 'web')).toBeUndefined();
  const told: NamedService[] = [];
  const web = { namespace: 'default', name: 'web' };
  directory.onChange((changed) => told.push(changed));
  await client.create(endpoints, 'default', { metadata, subsets });
  await vi.waitFor(() => expect(told).toEqual([web]), { timeout: 60_000 });
  expect(directory.endpoints('default', 'web')?.subsets?.[0]?.addresses?.[0]?.ip).toBe('10.9.8.7');
  await client.delete(services, 'default', 'web');
  await vi.waitFor(() => expect(told.slice(1)).toContainEqual(web), { timeout: 60_000 });
  await vi.waitFor(() => expect(directory.service('default', 'web')).toBeUndefined(), { timeout: 60_000 });
  expect(errors).toEqual([]);
});
