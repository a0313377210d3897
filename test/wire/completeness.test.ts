/**
 * Proves that every path and verb that a stock server of Kubernetes 1.36 has for the kinds of later groups is served: it
 * is in the document of the API, or, where the document leaves a path out, the path answers. What is not served is
 * listed with the reason.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Client, type Json } from '../support/http.ts';

type Kinds = Readonly<Record<string, readonly string[]>>;

/** By group: resources of the cluster, those in namespaces, and subresources that are read, replaced and patched. */
const groups: Readonly<Record<string, { cluster?: string[]; namespaced?: string[]; parts?: Kinds }>> = {
  'discovery.k8s.io': { namespaced: ['endpointslices'] },
  'storage.k8s.io': {
    cluster: ['csidrivers', 'csinodes', 'storageclasses', 'volumeattachments', 'volumeattributesclasses'],
    namespaced: ['csistoragecapacities'],
    parts: { volumeattachments: ['status'] },
  },
  'networking.k8s.io': {
    cluster: ['ingressclasses', 'ipaddresses', 'servicecidrs'],
    namespaced: ['networkpolicies'],
    parts: { servicecidrs: ['status'] },
  },
  'node.k8s.io': { cluster: ['runtimeclasses'] },
  'resource.k8s.io': {
    cluster: ['deviceclasses', 'resourceslices'],
    namespaced: ['resourceclaims', 'resourceclaimtemplates'],
    parts: { resourceclaims: ['status'] },
  },
  'admissionregistration.k8s.io': {
    cluster: [
      'mutatingadmissionpolicies',
      'mutatingadmissionpolicybindings',
      'mutatingwebhookconfigurations',
      'validatingadmissionpolicies',
      'validatingadmissionpolicybindings',
      'validatingwebhookconfigurations',
    ],
    parts: { validatingadmissionpolicies: ['status'] },
  },
  'apiextensions.k8s.io': {
    cluster: ['customresourcedefinitions'],
    parts: { customresourcedefinitions: ['status'] },
  },
  'apiregistration.k8s.io': { cluster: ['apiservices'], parts: { apiservices: ['status'] } },
  'certificates.k8s.io': {
    cluster: ['certificatesigningrequests'],
    parts: { certificatesigningrequests: ['status', 'approval'] },
  },
  'flowcontrol.apiserver.k8s.io': {
    cluster: ['flowschemas', 'prioritylevelconfigurations'],
    parts: { flowschemas: ['status'], prioritylevelconfigurations: ['status'] },
  },
};

function* operations(group: string): Generator<[path: string, methods: readonly string[]]> {
  const { cluster = [], namespaced = [], parts = {} } = groups[group]!;
  const root = `/apis/${group}/v1`;
  yield [`${root}/`, ['get']];
  for (const resource of [...cluster, ...namespaced]) {
    const inNamespace = namespaced.includes(resource) ? '/namespaces/{namespace}' : '';
    const home = `${inNamespace}/${resource}`;
    yield [root + home, ['get', 'post', 'delete']];
    yield [`${root}${home}/{name}`, ['get', 'put', 'patch', 'delete']];
    yield [`${root}/watch${home}`, ['get']];
    yield [`${root}/watch${home}/{name}`, ['get']];
    if (inNamespace) yield [`${root}/${resource}`, ['get']];
    if (inNamespace) yield [`${root}/watch/${resource}`, ['get']];
    for (const part of parts[resource] ?? [])
      yield [`${root}${home}/{name}/${part}`, ['get', 'put', 'patch']];
  }
}

const roots = ['/api/', '/apis/', '/version/', '/.well-known/openid-configuration/', '/openid/v1/jwks/'];
const pages = ['/statusz', '/metrics/slis', '/healthz/ping', '/livez/ping', '/readyz/ping'];

/** Paths of a stock server that are not served, and why. */
const notServed: Readonly<Record<string, string>> = {
  '/flagz': 'a server in a program has no flags, and flags may hold secrets',
};

describe('a stock server has', () => {
  let cluster: Cluster;
  let client: Client;
  let paths: Json;
  beforeAll(async () => {
    cluster = await start({ store: 'memory', controllers: false, like: 'kubernetes' });
    client = new Client(cluster.url);
    paths = (await client.get('/openapi/v2')).body.paths;
  });
  afterAll(() => cluster.close());

  it.each(Object.keys(groups))('what is served of %s', (group) => {
    const missing = [...operations(group)].flatMap(([path, methods]) =>
      methods.filter((method) => !paths[path]?.[method]).map((method) => `${method} ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('roots that are served', async () => {
    const { groups: known } = (await client.get('/apis')).body;
    for (const path of [...roots, ...pages, ...known.map(({ name }: Json) => `/apis/${name}/`)])
      expect((await client.get(path)).status, path).toBe(200);
  });

  it.each(['pods', 'services', 'nodes'])('proxies of %s that answer every method', async (resource) => {
    const home = `/api/v1/${resource === 'nodes' ? '' : 'namespaces/default/'}${resource}/none/proxy`;
    for (const path of [home, `${home}/below`])
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])
        expect((await client.request(method, path)).status, `${method} ${path}`).toBe(404);
  });

  it.each(Object.keys(notServed))('%s, which is not served', async (path) => {
    expect((await client.get(path)).status).toBe(404);
  });
});
