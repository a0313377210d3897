/** Discovery, version and health. Wire contract, sections 3.1 to 3.6. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';

const client = useCluster();

/** Resources of a group by name. */
async function resources(path: string): Promise<Record<string, Json>> {
  const { body } = await client.get(path);
  return Object.fromEntries(body.resources.map((resource: Json) => [resource.name, resource]));
}

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const partVerbs = ['get', 'patch', 'update'];

describe('/api', () => {
  it('names the versions of the core group, and no apiVersion', async () => {
    const { body, headers } = await client.get('/api');
    expect(headers['content-type']).toBe('application/json');
    expect(body).toEqual({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: new URL(client.url).host }],
    });
  });
});

describe('/apis', () => {
  const versions = [{ groupVersion: 'extensions/v1beta1', version: 'v1beta1' }];
  const extensions = { name: 'extensions', versions, preferredVersion: versions[0] };

  // Clients of Kubernetes 1.1 refuse these documents when they name an apiVersion.
  it('lists the groups', async () => {
    const { body } = await client.get('/apis');
    expect(body).toEqual({ kind: 'APIGroupList', groups: expect.any(Array) });
    expect(body.groups).toContainEqual(extensions);
  });

  it('describes one group', async () => {
    expect((await client.get('/apis/extensions')).body).toEqual({
      kind: 'APIGroup',
      ...extensions,
    });
  });

  it('lists only what is served', async () => {
    const { body } = await client.get('/apis');
    for (const { versions } of body.groups)
      for (const { groupVersion } of versions)
        expect((await client.get(`/apis/${groupVersion}`)).body.kind).toBe('APIResourceList');
  });
});

/** The controller manager of 1.1 reads every version that is listed, and ends at the first that it cannot decode. */
describe('every document of discovery', () => {
  const read = async (headers?: Record<string, string>): Promise<Map<string, Json>> => {
    const documents = new Map<string, Json>();
    const get = async (path: string): Promise<Json> => {
      const { body } = await client.get(path, headers);
      documents.set(path, body);
      return body;
    };
    await get('/api/v1');
    for (const { name, versions } of (await get('/apis')).groups) {
      await get(`/apis/${name}`);
      for (const { groupVersion } of versions) await get(`/apis/${groupVersion}`);
    }
    return documents;
  };

  it('is without an apiVersion for clients that accept nothing, as in 1.1', async () => {
    const documents = await read();
    expect(documents.size).toBeGreaterThan(40);
    for (const [path, document] of documents) expect(document, path).not.toHaveProperty('apiVersion');
  });

  it('is that of today for all others', async () => {
    for (const Accept of ['*/*', 'application/json', 'application/json, */*'])
      for (const [path, document] of await read({ Accept }))
        expect(document.apiVersion, `${Accept} ${path}`).toBe(path === '/api/v1' ? undefined : 'v1');
  });
});

describe('resources', () => {
  it('are listed under their group and version, sorted by name', async () => {
    const core = (await client.get('/api/v1')).body;
    expect(Object.keys(core)).toEqual(['kind', 'groupVersion', 'resources']);
    expect(core).toMatchObject({ kind: 'APIResourceList', groupVersion: 'v1' });
    const extensions = (await client.get('/apis/extensions/v1beta1')).body;
    expect(Object.keys(extensions)).toEqual(['kind', 'groupVersion', 'resources']);
    expect(extensions).toMatchObject({ kind: 'APIResourceList', groupVersion: 'extensions/v1beta1' });
    const apps = (await client.get('/apis/apps/v1')).body;
    expect(Object.keys(apps)).toEqual(['kind', 'groupVersion', 'resources']);
    expect(apps).toMatchObject({ kind: 'APIResourceList', groupVersion: 'apps/v1' });
    for (const { resources } of [core, extensions, apps]) {
      const names = resources.map((resource: Json) => resource.name);
      expect(names).toEqual([...names].sort());
    }
  });

  it('have a singular name, short names, categories and verbs', async () => {
    expect((await resources('/api/v1')).pods).toEqual({
      name: 'pods',
      singularName: 'pod',
      namespaced: true,
      kind: 'Pod',
      verbs: allVerbs,
      shortNames: ['po'],
      categories: ['all'],
      storageVersionHash: 'xPOwRZ+Yhw8=',
    });
  });

  it('say in which version they are stored, by a hash that is that of Kubernetes', async () => {
    const core = await resources('/api/v1');
    const hashes = { services: '0/CO1lhkEBI=', nodes: 'XwShjMxG9Fs=', namespaces: 'Q3oi5N2YM8M=' };
    for (const [name, storageVersionHash] of Object.entries(hashes))
      expect(core[name]).toMatchObject({ storageVersionHash });
    for (const name of ['bindings', 'componentstatuses', 'pods/status', 'pods/log'])
      expect(core[name]).not.toHaveProperty('storageVersionHash');
    const [old, now] = [await resources('/apis/extensions/v1beta1'), await resources('/apis/batch/v1')];
    expect(old.jobs.storageVersionHash).toBe(now.jobs.storageVersionHash);
  });

  it('of the core group are all there', async () => {
    const core = await resources('/api/v1');
    const verbsOf = Object.fromEntries(Object.entries(core).map(([name, { verbs }]) => [name, verbs]));
    expect(verbsOf).toMatchObject({
      bindings: ['create'],
      componentstatuses: ['get', 'list'],
      endpoints: allVerbs,
      events: allVerbs,
      limitranges: allVerbs,
      namespaces: allVerbs.filter((verb) => verb !== 'deletecollection'),
      'namespaces/finalize': ['update'],
      'namespaces/status': partVerbs,
      nodes: allVerbs,
      'nodes/status': partVerbs,
      persistentvolumeclaims: allVerbs,
      'persistentvolumeclaims/status': partVerbs,
      persistentvolumes: allVerbs,
      'persistentvolumes/status': partVerbs,
      pods: allVerbs,
      'pods/binding': ['create'],
      'pods/status': partVerbs,
      podtemplates: allVerbs,
      replicationcontrollers: allVerbs,
      'replicationcontrollers/scale': partVerbs,
      'replicationcontrollers/status': partVerbs,
      resourcequotas: allVerbs,
      'resourcequotas/status': partVerbs,
      secrets: allVerbs,
      serviceaccounts: allVerbs,
      services: allVerbs,
      'services/status': partVerbs,
    });
  });

  it('of the extensions group are all there', async () => {
    const extensions = await resources('/apis/extensions/v1beta1');
    for (const name of ['horizontalpodautoscalers', 'ingresses', 'jobs']) {
      expect(extensions[name].verbs).toEqual(allVerbs);
      expect(extensions[`${name}/status`].verbs).toEqual(partVerbs);
    }
    expect(extensions['replicationcontrollers/scale']).toMatchObject({ kind: 'Scale', verbs: partVerbs });
    // As in Kubernetes 1.1 it is there by name, and only its scale can be used.
    expect(extensions.replicationcontrollers).toEqual({
      name: 'replicationcontrollers',
      singularName: 'replicationcontroller',
      namespaced: true,
      kind: 'ReplicationControllerDummy',
      verbs: [],
    });
  });

  it('of the apps group are all there, and only the group of API services comes before it', async () => {
    const apps = await resources('/apis/apps/v1');
    const scalable = ['deployments', 'replicasets', 'statefulsets'];
    expect(Object.keys(apps)).toEqual(
      [
        ...['controllerrevisions', 'daemonsets', 'daemonsets/status'],
        ...scalable.flatMap((name) => [name, `${name}/scale`, `${name}/status`]),
      ].sort(),
    );
    for (const [name, { verbs }] of Object.entries(apps))
      expect(verbs).toEqual(name.includes('/') ? partVerbs : allVerbs);
    for (const name of scalable)
      expect(apps[`${name}/scale`]).toMatchObject({ kind: 'Scale', group: 'autoscaling', version: 'v1' });
    expect(apps.controllerrevisions).not.toHaveProperty('categories');
    const groups = (await client.get('/apis')).body.groups.map(({ name }: Json) => name);
    expect(groups.slice(0, 2)).toEqual(['apiregistration.k8s.io', 'apps']);
  });

  it('have the short names clients know', async () => {
    const all = {
      ...(await resources('/api/v1')),
      ...(await resources('/apis/apps/v1')),
      ...(await resources('/apis/autoscaling/v2')),
      ...(await resources('/apis/batch/v1')),
      ...(await resources('/apis/networking.k8s.io/v1')),
    };
    const shortNames: Record<string, string> = {
      pods: 'po',
      services: 'svc',
      replicationcontrollers: 'rc',
      nodes: 'no',
      namespaces: 'ns',
      endpoints: 'ep',
      events: 'ev',
      persistentvolumes: 'pv',
      persistentvolumeclaims: 'pvc',
      serviceaccounts: 'sa',
      resourcequotas: 'quota',
      limitranges: 'limits',
      componentstatuses: 'cs',
      ingresses: 'ing',
      horizontalpodautoscalers: 'hpa',
      deployments: 'deploy',
      replicasets: 'rs',
      daemonsets: 'ds',
      statefulsets: 'sts',
    };
    for (const [name, short] of Object.entries(shortNames)) expect(all[name].shortNames).toEqual([short]);
    for (const name of ['secrets', 'podtemplates', 'jobs', 'bindings'])
      expect(all[name]).not.toHaveProperty('shortNames');
    // One group alone has a short name: with two, clients warn that it is ambiguous.
    for (const resource of Object.values(await resources('/apis/extensions/v1beta1')))
      expect(resource).not.toHaveProperty('shortNames');
  });

  it('that are no kind of anything are told by an empty list of definitions', async () => {
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    expect((await client.get(definitions)).body).toEqual({
      kind: 'CustomResourceDefinitionList',
      apiVersion: 'apiextensions.k8s.io/v1',
      metadata: { selfLink: definitions, resourceVersion: expect.stringMatching(/^\d+$/) },
      items: [],
    });
    expect((await client.get(`${definitions}/a`)).status).toBe(404);
    expect((await client.post(definitions, {})).status).toBe(422);
    const groups = (await client.get('/apis')).body.groups.map(({ name }: Json) => name);
    expect(groups).toContain('apiextensions.k8s.io');
  });

  /** A kind served by several groups must be in the category in at least one of them, or `get all` would miss it. */
  it('are in the category all where clients look for them', async () => {
    const paths = ['/api/v1'];
    for (const { versions } of (await client.get('/apis')).body.groups)
      paths.push(...versions.map((version: Json) => `/apis/${version.groupVersion}`));
    const inAll = new Set<string>();
    for (const path of paths)
      for (const { name, categories } of Object.values(await resources(path)))
        if (categories?.includes('all')) inAll.add(name);
    expect([...inAll].sort()).toEqual([
      'cronjobs',
      'daemonsets',
      'deployments',
      'horizontalpodautoscalers',
      'jobs',
      'pods',
      'replicasets',
      'replicationcontrollers',
      'services',
      'statefulsets',
    ]);
  });

  it('show scope, and an empty singular name for a part of an object', async () => {
    const core = await resources('/api/v1');
    for (const [name, { singularName }] of Object.entries(core))
      if (name.includes('/')) expect(singularName).toBe('');
      else expect(singularName).not.toBe('');
    for (const name of ['componentstatuses', 'namespaces', 'nodes', 'persistentvolumes'])
      expect(core[name].namespaced).toBe(false);
    expect(core['pods/status']).toEqual({
      name: 'pods/status',
      singularName: '',
      namespaced: true,
      kind: 'Pod',
      verbs: partVerbs,
    });
    expect(core['replicationcontrollers/scale']).toEqual({
      name: 'replicationcontrollers/scale',
      singularName: '',
      namespaced: true,
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      verbs: partVerbs,
    });
  });
});

describe('clients that ask for aggregated discovery', () => {
  const accept =
    'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';

  it('get one form or the other, the same at both places', async () => {
    const types = ['/api', '/apis'].map(async (path) => {
      const reply = await client.get(path, { Accept: accept });
      expect(reply.status).toBe(200);
      const aggregated = reply.headers['content-type']!.includes('as=APIGroupDiscoveryList');
      expect(reply.body.kind === 'APIGroupDiscoveryList').toBe(aggregated);
      if (aggregated) expect(reply.body.apiVersion).toBe('apidiscovery.k8s.io/v2');
      return aggregated;
    });
    const [api, apis] = await Promise.all(types);
    expect(api).toBe(apis);
  });
});

describe('/version', () => {
  it('is always pretty, and its gitVersion is a semantic version', async () => {
    const reply = await client.get('/version');
    expect(reply.text).toBe(JSON.stringify(reply.body, null, 2));
    expect(Object.keys(reply.body)).toEqual([
      'major',
      'minor',
      'gitVersion',
      'gitCommit',
      'gitTreeState',
      'buildDate',
      'goVersion',
      'compiler',
      'platform',
    ]);
    expect(reply.body.gitVersion).toMatch(/^v\d+\.\d+\.\d+([-+][0-9A-Za-z.-]+)?$/);
    expect(reply.body.gitCommit).toMatch(/^[0-9a-f]{40}$/);
  });
});

describe('health', () => {
  for (const endpoint of ['healthz', 'livez', 'readyz']) {
    it(`/${endpoint} says ok`, async () => {
      const reply = await client.get(`/${endpoint}`);
      expect(reply.status).toBe(200);
      expect(reply.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(reply.text).toBe('ok');
    });

    it(`/${endpoint}?verbose says a line per check`, async () => {
      const { text } = await client.get(`/${endpoint}?verbose`);
      expect(text).toMatch(/^(\[\+\][\w.-]+ ok\n)+\w+ check passed\n$/);
      expect(text).toContain('[+]ping ok\n');
      expect(text.endsWith(`${endpoint} check passed\n`)).toBe(true);
    });

    it(`/${endpoint} can be asked for one check, or without one`, async () => {
      expect((await client.get(`/${endpoint}/ping`)).text).toBe('ok');
      expect((await client.get(`/${endpoint}?verbose&exclude=ping`)).text).not.toContain('ping');
    });
  }
});
