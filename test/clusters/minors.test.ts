/**
 * Proves over HTTP what clients of a cluster of an earlier minor notice (`--kubernetes 1.24`, `1.29`, `1.33`): versions,
 * fields, versions of a kind converted into each other, and one data folder under several minors.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start, startNode } from '../../src/cluster/index.ts';
import { clusterHooks } from '../../src/testing/index.ts';
import { Client, jsonPatch, strategicPatch } from '../support/http.ts';
import { digests, sorted } from './kubernetes-discovery.ts';

const pods = '/api/v1/namespaces/default/pods';
const podOf = (name: string, spec: object = {}) => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

const clusters: Cluster[] = [];
async function clusterOf(kubernetes: string, options: object = {}): Promise<Client> {
  const cluster = await start({ kubernetes, ...options });
  clusters.push(cluster);
  return new Client(cluster.url);
}
afterAll(() => Promise.all(clusters.map((cluster) => cluster.close())));

it('refuses a minor that it does not have, and gates without a minor', async () => {
  await expect(start({ kubernetes: '1.21' })).rejects.toThrow(
    'Kubernetes must be a version from 1.22 to 1.36, not "1.21"',
  );
  await expect(start({ featureGates: { AllAlpha: true } })).rejects.toThrow('need a minor of Kubernetes');
});

it('is what test clusters are, too', async () => {
  const hooks: Record<string, () => Promise<void>> = {};
  const hook = (name: string) => (work: () => Promise<void>) => {
    hooks[name] = work;
  };
  const useCluster = clusterHooks({
    beforeAll: hook('beforeAll'),
    beforeEach: hook('beforeEach'),
    afterAll: hook('afterAll'),
  });
  const cluster = useCluster({ kubernetes: '1.29' });
  await hooks['beforeAll']!();
  try {
    expect((await new Client(cluster.url).get('/version')).body.minor).toBe('29');
  } finally {
    await hooks['afterAll']!();
  }
});

it('answers as a kube-apiserver 1.36.4 in discovery, both forms', async () => {
  const client = await clusterOf('1.36');
  const digest = (body: unknown) =>
    createHash('sha256')
      .update(JSON.stringify(sorted(body)))
      .digest('hex')
      .slice(0, 12);
  const found: Record<string, string> = {};
  const look = async (path: string, accept = 'application/json', name = path) => {
    const { body } = await client.get(path, { accept });
    found[name] = digest(body);
    return body;
  };
  const { groups } = await look('/apis');
  const versions = groups.flatMap((group: any) => group.versions.map((one: any) => one.groupVersion));
  for (const path of ['/api/v1', ...versions.map((version: string) => `/apis/${version}`)]) await look(path);
  const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  for (const path of ['/api', '/apis']) await look(path, aggregated, `${path}, aggregated`);
  expect(found).toEqual(digests);
});

describe('1.24', () => {
  let client: Client;
  beforeAll(async () => {
    client = await clusterOf('v1.24.3');
  });

  it('says so', async () => {
    const { body } = await client.get('/version');
    expect(body).toMatchObject({ major: '1', minor: '24', gitVersion: 'v1.24.3+wherry' });
    expect(body).not.toHaveProperty('emulationMajor');
  });

  it('drops what it does not know without a word, also when asked to be strict', async () => {
    const { status, body, warnings } = await client.post(
      `${pods}?fieldValidation=Strict`,
      podOf('quiet', { schedulingGates: [{ name: 'x' }] }),
    );
    expect([status, warnings]).toEqual([201, []]);
    expect(body.spec).not.toHaveProperty('schedulingGates');
    // Pods have had a generation since 1.33.
    expect(body.metadata).not.toHaveProperty('generation');
  });

  it('warns of versions that go, and serves them converted', async () => {
    const v1beta1 = '/apis/discovery.k8s.io/v1beta1/namespaces/default/endpointslices';
    const topology = { 'topology.kubernetes.io/zone': 'z', 'kubernetes.io/hostname': 'n', rack: 'r' };
    const made = await client.post(v1beta1, {
      kind: 'EndpointSlice',
      apiVersion: 'discovery.k8s.io/v1beta1',
      metadata: { name: 'old' },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'], nodeName: 'n', topology }],
    });
    expect(made.status).toBe(201);
    expect(made.warnings).toEqual([
      '"discovery.k8s.io/v1beta1 EndpointSlice is deprecated in v1.21+, unavailable in v1.25+; use discovery.k8s.io/v1 EndpointSlice"',
    ]);
    const { body } = await client.get('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/old');
    expect(body.endpoints[0]).toMatchObject({ nodeName: 'n', zone: 'z', deprecatedTopology: { rack: 'r' } });
    expect((await client.get(`${v1beta1}/old`)).body.endpoints[0].topology).toEqual(topology);
  });

  it('has no aggregated discovery, and version 3 of OpenAPI', async () => {
    const accept =
      'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';
    expect((await client.get('/apis', { accept })).body.kind).toBe('APIGroupList');
    expect((await client.get('/openapi/v3/apis/coordination.k8s.io/v1')).status).toBe(200);
    expect((await client.get('/swaggerapi')).status).toBe(404);
  });
});

describe('1.29', () => {
  let client: Client;
  beforeAll(async () => {
    client = await clusterOf('1.29', { runtimeConfig: { 'networking.k8s.io/v1alpha1': true } });
  });

  it('refuses what it does not know when asked to be strict, and warns otherwise', async () => {
    const later = podOf('later', { resources: { limits: { cpu: '1' } } });
    const strict = await client.post(`${pods}?fieldValidation=Strict`, later);
    expect(strict.status).toBe(400);
    expect(strict.body.message).toContain('unknown field "spec.resources"');
    const { body, warnings } = await client.post(pods, later);
    expect(warnings).toEqual(['"unknown field \\"spec.resources\\""']);
    expect(body.spec).not.toHaveProperty('resources');
  });

  it('prunes patches and applies the same way', async () => {
    await client.post(pods, podOf('patched'));
    for (const [type, patch] of [
      [strategicPatch, { metadata: { labels: { a: '1' } }, spec: { hostnameOverride: 'x' } }],
      [jsonPatch, [{ op: 'add', path: '/spec/hostnameOverride', value: 'x' }]],
      ['application/apply-patch+yaml', { ...podOf('patched'), spec: { hostnameOverride: 'x' } }],
    ] as const) {
      const query = type.includes('apply') ? '?fieldManager=m' : '';
      const { body } = await client.patch(`${pods}/patched${query}`, patch, type);
      expect(JSON.stringify(body)).not.toContain('"hostnameOverride":"x"');
    }
  });

  it('answers 404 for what came later or has gone, and serves what is switched on', async () => {
    const gone = await client.get('/apis/resource.k8s.io/v1/resourceslices');
    expect([gone.status, gone.text]).toEqual([404, '404 page not found\n']);
    expect((await client.get('/apis/policy/v1beta1')).status).toBe(404);
    expect((await client.get('/apis/extensions/v1beta1')).status).toBe(404);
    expect((await client.get('/apis/networking.k8s.io/v1alpha1/ipaddresses')).status).toBe(200);
    expect((await client.get('/apis/networking.k8s.io/v1/ipaddresses')).status).toBe(404);
  });

  it('drops fields whose gate is off', async () => {
    const { body, warnings } = await client.post(pods, {
      ...podOf('gated'),
      spec: {
        containers: [
          { name: 'c', image: 'i', resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] },
        ],
      },
    });
    expect(warnings).toEqual([]);
    expect(body.spec.containers[0]).not.toHaveProperty('resizePolicy');
  });

  it('has nodes that say which minor they are: that of their server, or another', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'wherry-minor-node-'));
    const join = (kubernetes: string | undefined, name: string) =>
      startNode(client.url, {
        name,
        folder: path.join(folder, name),
        podNetwork: 'host',
        address: '127.0.0.1',
        kubeletPort: 0,
        runtime: 'simulated',
        ...(kubernetes === undefined ? {} : { kubernetes }),
      });
    try {
      await expect(join('1.21', 'refused')).rejects.toThrow('must be a version from 1.22 to 1.36');
      for (const [kubernetes, said] of [
        [undefined, 'v1.29.0+wherry'],
        ['1.28.3', 'v1.28.3+wherry'],
      ] as const) {
        const name = `node-${kubernetes ?? 'own'}`;
        const node = await join(kubernetes, name);
        const { body } = await client.get(`/api/v1/nodes/${name}`);
        await node.close();
        expect(body.status.nodeInfo).toMatchObject({ kubeletVersion: said, kubeProxyVersion: said });
        expect(body.status).not.toHaveProperty('declaredFeatures');
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

it('keeps what a minor does not know stored, for the next', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'wherry-minors-'));
  const later = { resources: { limits: { cpu: '1' } }, hostnameOverride: 'h' };
  const run = async (kubernetes: string, work: (client: Client) => Promise<void>): Promise<void> => {
    const cluster = await start({ kubernetes, dataDir });
    await work(new Client(cluster.url)).finally(() => cluster.close());
  };
  try {
    await run('1.36', async (client) => {
      expect((await client.post(pods, podOf('kept', later))).status).toBe(201);
    });
    await run('1.29', async (client) => {
      const { body } = await client.get(`${pods}/kept`);
      expect(body.spec).not.toHaveProperty('hostnameOverride');
      expect((await client.get(pods)).text).not.toContain('"hostnameOverride"');
      body.metadata.labels = { seen: 'here' };
      // Whatever version it has: the scheduler writes to it meanwhile.
      delete body.metadata.resourceVersion;
      expect((await client.put(`${pods}/kept`, body)).status).toBe(200);
    });
    await run('1.36', async (client) => {
      const { body } = await client.get(`${pods}/kept`);
      expect(body.metadata.labels).toEqual({ seen: 'here' });
      expect(body.spec).toMatchObject(later);
    });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

describe('1.30', () => {
  let client: Client;
  beforeAll(async () => {
    client = await clusterOf('1.30');
  });

  it('creates objects in their namespace alone, and documents say so', async () => {
    expect((await client.post('/api/v1/pods', podOf('outside'))).status).toBe(405);
    const { body } = await client.get('/openapi/v2');
    expect(Object.keys(body.paths['/api/v1/pods'])).not.toContain('post');
    expect(body.paths['/api/v1/bindings']).toBeUndefined();
  });

  it('names the operations of custom kinds after their group, word by word', async () => {
    const group = 'parts.x-shop.example.com';
    const versions = [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
    ];
    const definition = {
      metadata: { name: `wares.${group}` },
      spec: { group, scope: 'Namespaced', names: { plural: 'wares', kind: 'Ware' }, versions },
    };
    await client.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    const path = `/apis/${group}/v1/wares`;
    const listed = async () => (await client.get('/openapi/v2')).body.paths[path]?.get;
    await expect.poll(listed, { timeout: 30_000 }).toMatchObject({
      operationId: 'listPartsXShopExampleComV1WareForAllNamespaces',
      tags: ['partsXShopExampleCom_v1'],
    });
    // Lists of custom objects refer to the models of the minor, as all others do.
    const { definitions } = (await client.get('/openapi/v2')).body;
    expect(Object.keys(definitions).filter((name) => /_v\d+$/.test(name))).toEqual([]);
  });
});
