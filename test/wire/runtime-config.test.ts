/** Proves that versions and resources that are switched off are not served, described or announced, and that controllers still work. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, StartError, start } from '../../src/cluster/index.ts';
import { Client } from '../support/http.ts';

let cluster: Cluster;
let client: Client;
beforeAll(async () => {
  const runtimeConfig = {
    'apps/v1': false,
    'apps/v1/deployments': true,
    'v1/podtemplates': false,
    'authorization.k8s.io/v1': false,
    'api/beta': false,
  };
  cluster = await start({ runtimeConfig, simulatedNodes: 1 });
  client = new Client(cluster.url);
});
afterAll(() => cluster.close());

const status = async (path: string): Promise<number> => (await client.get(path)).status;

describe('what is switched off', () => {
  it('is not found', async () => {
    for (const path of [
      '/apis/apps/v1/replicasets',
      '/api/v1/podtemplates',
      '/apis/extensions/v1beta1/deployments',
      '/apis/extensions/v1beta1',
      '/apis/authorization.k8s.io/v1',
    ])
      expect([path, await status(path)]).toEqual([path, 404]);
    for (const path of ['/apis/apps/v1/deployments', '/api/v1/pods', '/apis/batch/v1/jobs'])
      expect([path, await status(path)]).toEqual([path, 200]);
  });

  it('is not in discovery, among the APIServices or in OpenAPI', async () => {
    const groups = (await client.get('/apis')).body.groups.map(({ name }: { name: string }) => name);
    expect(groups).toContain('apps');
    expect(groups).not.toContain('extensions');
    expect(groups).not.toContain('authorization.k8s.io');
    const { resources } = (await client.get('/apis/apps/v1')).body;
    expect(resources.map(({ name }: { name: string }) => name)).toEqual([
      'deployments',
      'deployments/scale',
      'deployments/status',
    ]);
    const paths = Object.keys((await client.get('/openapi/v2')).body.paths);
    expect(paths).toContain('/apis/apps/v1/namespaces/{namespace}/deployments');
    expect(paths.filter((path) => /\/(replicasets|extensions|podtemplates)/.test(path))).toEqual([]);
    const services = (await client.get('/apis/apiregistration.k8s.io/v1/apiservices')).body.items;
    const names = services.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    expect(names).toContain('v1.apps');
    expect(names).not.toContain('v1beta1.extensions');
  });

  it('is still there for the server itself', async () => {
    const labels = { app: 'a' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await client.post('/apis/apps/v1/namespaces/default/deployments', {
      metadata: { name: 'd' },
      spec: { selector: { matchLabels: labels }, template },
    });
    await expect
      .poll(async () => (await client.get('/api/v1/namespaces/default/pods')).body.items.length)
      .toBe(1);
  });

  it('cannot be misspelt', async () => {
    await expect(start({ runtimeConfig: { 'app/v1': false } })).rejects.toThrow(StartError);
    await expect(start({ runtimeConfig: { 'apps/v7': false } })).rejects.toThrow(
      'group version apps/v7 that has not been registered',
    );
  });
});
