/**
 * Proves that a live cluster is copied with GET requests alone: every object that may be read, with its uid and status, page by
 * page, through refusals, expired pages and tokens, and on from where an import was ended.
 */

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Cluster, importCluster, openDump, start } from '../../src/cluster/index.ts';
import { writeRecord } from '../../src/cluster/named/cluster-record.ts';
import { currentOwner } from '../../src/store/owner.ts';

interface Answer {
  readonly code: number;
  readonly headers?: Record<string, string>;
}

/** More than a page. */
const mapCount = 520;
let source: Cluster;
let folder: string;
let proxy: Server;
let asked: { method: string; url: string; authorization: string | undefined }[] = [];
/** Answers a request in the place of the cluster. */
let interfere: (request: IncomingMessage) => Answer | undefined = () => undefined;

const call = async (method: string, where: string, body?: object, url = source.url): Promise<any> => {
  const answer = await fetch(url + where, {
    method,
    headers: { 'Content-Type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok) throw new Error(`${method} ${where}: ${await answer.text()}`);
  return answer.json();
};

function pass(incoming: IncomingMessage, response: ServerResponse): void {
  asked.push({ method: incoming.method!, url: incoming.url!, authorization: incoming.headers.authorization });
  const own = interfere(incoming);
  if (own) {
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      message: 'not now',
      code: own.code,
    };
    response
      .writeHead(own.code, { 'Content-Type': 'application/json', ...own.headers })
      .end(JSON.stringify(status));
    return;
  }
  const { authorization: _, ...headers } = incoming.headers;
  const onward = request(source.url + incoming.url, { method: incoming.method, headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(response);
  });
  incoming.pipe(onward);
}

function kubeconfig(name: string, user: object): string {
  const { port } = proxy.address() as AddressInfo;
  const file = path.join(folder, `${name}.config`);
  const config = {
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'ships.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'ships', kind: 'Ship', shortNames: ['sp'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'wherry-import-'));
  process.env['XDG_DATA_HOME'] = folder;
  source = await start({ store: 'memory', like: 'kubernetes', controllers: false });
  proxy = createServer(pass);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  await expectEventually(() => call('GET', '/apis/example.com/v1/ships'));
  const named = (name: string, more: object = {}) => ({
    metadata: { name, finalizers: ['example.com/x'] },
    ...more,
  });
  await call('POST', '/apis/example.com/v1/namespaces/default/ships', {
    ...named('ann'),
    kind: 'Ship',
    apiVersion: 'example.com/v1',
    spec: { crew: 3 },
  });
  await call('DELETE', '/apis/example.com/v1/namespaces/default/ships/ann');
  await call('POST', '/api/v1/namespaces', named('other'));
  await Promise.all(
    Array.from({ length: mapCount }, (_, i) =>
      call('POST', '/api/v1/namespaces/default/configmaps', named(`map-${i}`, { data: { i: String(i) } })),
    ),
  );
  await call('POST', '/api/v1/namespaces/other/configmaps', {
    metadata: { name: 'far', labels: { a: 'b' } },
  });
  await call('POST', '/api/v1/namespaces/default/secrets', {
    metadata: {
      name: 'key',
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"password":"aHVzaA=="}}',
        kept: 'yes',
      },
    },
    data: { password: 'aHVzaA==' },
  });
});
afterAll(async () => {
  proxy.close();
  delete process.env['XDG_DATA_HOME'];
  await source.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  asked = [];
  interfere = () => undefined;
});

async function expectEventually(work: () => Promise<unknown>): Promise<void> {
  for (let left = 200; ; left--)
    try {
      await work();
      return;
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

const fast = { requestsPerSecond: 1_000 };
const target = (name: string): string => path.join(folder, name);
const lists = [
  '/api/v1/configmaps',
  '/api/v1/namespaces',
  '/apis/example.com/v1/ships',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  '/apis/scheduling.k8s.io/v1/priorityclasses',
];
/** Versions are those of the copy's own store. */
const unversioned = ({ items }: { items: any[] }): unknown[] =>
  items.map(({ metadata: { resourceVersion: _, ...metadata }, ...object }) => ({ ...object, metadata }));

it('copies every object as it is, though pages expire, the server asks to wait, and the token expires', async () => {
  const program = path.join(folder, 'credential.sh');
  const count = path.join(folder, 'count');
  writeFileSync(count, '');
  writeFileSync(
    program,
    `#!/bin/sh\nprintf x >> '${count}'\necho '{"kind":"ExecCredential","status":{"token":"t'$(wc -c < '${count}' | tr -d ' ')'"}}'\n`,
  );
  chmodSync(program, 0o755);
  const once = new Set(['410', '429', '401']);
  interfere = ({ url, headers }) => {
    if (url!.includes('continue=') && once.delete('410')) return { code: 410 };
    if (url!.startsWith('/api/v1/services') && once.delete('429'))
      return { code: 429, headers: { 'Retry-After': '1' } };
    if (url!.startsWith('/api/v1/secrets')) once.delete('401');
    return !once.has('401') && headers.authorization === 'Bearer t1' ? { code: 401 } : undefined;
  };
  const config = kubeconfig('exec', {
    exec: { command: program, apiVersion: 'client.authentication.k8s.io/v1' },
  });
  const seen: number[] = [];
  const progress = ({ objects }: { objects: number }) => seen.push(objects);
  const summary = await importCluster({ ...fast, dataDir: target('whole'), kubeconfig: config, progress });
  expect(once.size).toBe(0);
  expect(new Set(asked.map(({ method }) => method))).toEqual(new Set(['GET']));
  expect(asked.some(({ authorization }) => authorization === 'Bearer t2')).toBe(true);
  expect(summary.kinds.filter(({ why }) => why)).toEqual([]);
  expect(summary.kinds).toContainEqual({ resource: 'configmaps', objects: mapCount + 1 });
  expect(Math.max(...seen)).toBeGreaterThan(mapCount);
  const copy = await openDump(target('whole'));
  try {
    for (const list of lists)
      expect(unversioned(await call('GET', list, undefined, copy.url)), list).toEqual(
        unversioned(await call('GET', list)),
      );
    const { data, metadata } = await call(
      'GET',
      '/api/v1/namespaces/default/secrets/key',
      undefined,
      copy.url,
    );
    expect({ data, annotations: metadata.annotations }).toEqual({
      data: { password: Buffer.from('removed').toString('base64') },
      annotations: { kept: 'yes' },
    });
    expect(copy.summary.kinds['configmaps']).toBe(mapCount + 1);
    await expect(
      call('DELETE', '/api/v1/namespaces/default/configmaps/map-1', undefined, copy.url),
    ).rejects.toThrow('read-only copy');
  } finally {
    await copy.close();
  }
});

it('takes what it may read: refused kinds are told, and definitions that may not be read are made', async () => {
  interfere = ({ url }) => (/\/(customresourcedefinitions|secrets)\b/.test(url!) ? { code: 403 } : undefined);
  const config = kubeconfig('reader', { token: 'r' });
  const chosen = { kinds: ['ships.example.com', 'secrets', 'nothing'], namespaces: ['default', 'other'] };
  const summary = await importCluster({ ...fast, ...chosen, dataDir: target('reader'), kubeconfig: config });
  const refused = 'refused (403)';
  expect(summary.kinds).toEqual([
    { resource: 'nothing', objects: 0, why: 'the cluster does not have it' },
    { resource: 'customresourcedefinitions.apiextensions.k8s.io', objects: 0, why: refused },
    { resource: 'secrets', objects: 0, why: refused },
    { resource: 'ships.example.com', objects: 2 },
  ]);
  const copy = await openDump(target('reader'));
  const [ship] = (await call('GET', '/apis/example.com/v1/ships', undefined, copy.url)).items;
  await copy.close();
  expect(ship).toMatchObject({ spec: { crew: 3 }, metadata: { deletionTimestamp: expect.any(String) } });
});

it('goes on where an import was ended, and leaves other folders alone', async () => {
  const config = kubeconfig('token', { tokenFile: 'token' });
  writeFileSync(path.join(folder, 'token'), 'from-a-file\n');
  const ended = new AbortController();
  interfere = ({ url }) => {
    if (url!.startsWith('/api/v1/secrets')) ended.abort(new Error('enough'));
    return undefined;
  };
  const options = { ...fast, dataDir: target('again'), kubeconfig: config, secrets: 'values' as const };
  await expect(importCluster({ ...options, signal: ended.signal })).rejects.toThrow();
  expect(asked.at(-1)!.authorization).toBe('Bearer from-a-file');
  const before = JSON.parse(readFileSync(path.join(target('again'), 'import.json'), 'utf8'));
  expect(before.isComplete).toBe(false);
  interfere = () => undefined;
  asked = [];
  const summary = await importCluster(options);
  expect(asked.some(({ url }) => url.startsWith('/api/v1/configmaps'))).toBe(false);
  expect(summary.kinds).toContainEqual({ resource: 'configmaps', objects: mapCount + 1 });
  await expect(importCluster(options)).rejects.toThrow('holds a copy of http://127.0.0.1:');
  const copy = await openDump(target('again'));
  expect(
    (await call('GET', '/api/v1/namespaces/default/secrets/key', undefined, copy.url)).data.password,
  ).toBe('aHVzaA==');
  expect((await call('GET', '/api/v1/configmaps', undefined, copy.url)).items).toHaveLength(mapCount + 1);
  await copy.close();
});

/** What a running server shows, apart from what it had. */
const shownIn = async ({ url }: Cluster, list: string): Promise<unknown[]> => {
  const taken = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease', 'kube-root-ca.crt']);
  return unversioned(await call('GET', list, undefined, url)).filter(
    (object: any) => !taken.has(object.metadata.name) && !object.metadata.name.startsWith('system-'),
  );
};

it('brings objects into a running server as they are, past its own, and goes on where it was ended', async () => {
  const server = await start({ store: 'memory', like: 'kubernetes', controllers: false });
  const options = { ...fast, kubeconfig: kubeconfig('into', { token: 't' }), into: { server: server.url } };
  try {
    const own = await call('GET', '/api/v1/namespaces/default', undefined, server.url);
    const ended = new AbortController();
    const progress = () =>
      asked.some(({ url }) => url.startsWith('/apis/example.com/v1/ships')) && ended.abort();
    await expect(importCluster({ ...options, progress, signal: ended.signal })).rejects.toThrow();
    asked = [];
    const summary = await importCluster(options);
    expect(asked.some(({ url }) => url.startsWith('/api/v1/configmaps'))).toBe(false);
    expect(summary).toMatchObject({ target: server.url });
    const told = (name: string) => summary.kinds.find(({ resource }) => resource === name);
    expect(told('configmaps')).toEqual({ resource: 'configmaps', objects: mapCount + 1 });
    expect(told('namespaces')).toMatchObject({
      objects: 1,
      why: expect.stringMatching(/^\d there already$/),
    });
    for (const list of lists) expect(await shownIn(server, list), list).toEqual(await shownIn(source, list));
    expect((await call('GET', '/api/v1/namespaces/default', undefined, server.url)).metadata.uid).toBe(
      own.metadata.uid,
    );
    const again = await importCluster({ ...options, kinds: ['configmaps'] });
    expect(again.kinds.find(({ resource }) => resource === 'configmaps')!.objects).toBe(mapCount + 1);
  } finally {
    await server.close();
  }
});

it('brings owners before what they own, into the server of a data folder in use, which collects garbage', async () => {
  const ship = await call('POST', '/apis/example.com/v1/namespaces/default/ships', {
    kind: 'Ship',
    apiVersion: 'example.com/v1',
    metadata: { name: 'owner' },
  });
  const reference = { apiVersion: 'example.com/v1', kind: 'Ship', name: 'owner', uid: ship.metadata.uid };
  await call('POST', '/api/v1/namespaces/default/configmaps', {
    metadata: { name: 'a-owned', ownerReferences: [reference] },
  });
  const dataDir = target('used');
  const server = await start({ dataDir, like: 'kubernetes' });
  writeRecord({ name: 'used', dataDir, url: server.url, process: currentOwner() });
  try {
    const config = kubeconfig('owners', { token: 't' });
    const kinds = ['ships.example.com', 'configmaps', 'namespaces', 'nodes'];
    const summary = await importCluster({ ...fast, kubeconfig: config, kinds, dataDir });
    expect(summary.target).toBe(server.url);
    // A marker that the collector must have passed before it answers.
    const gone = { ...reference, uid: 'none' };
    await call(
      'POST',
      '/api/v1/namespaces/default/configmaps',
      { metadata: { name: 'b-orphan', ownerReferences: [gone] } },
      server.url,
    );
    const orphan = '/api/v1/namespaces/default/configmaps/b-orphan';
    await expect
      .poll(() => call('GET', orphan, undefined, server.url).catch(() => 'gone'), { timeout: 20_000 })
      .toBe('gone');
    const owned = await call('GET', '/api/v1/namespaces/default/configmaps/a-owned', undefined, server.url);
    expect(owned.metadata.ownerReferences).toEqual([reference]);
  } finally {
    await server.close();
  }
});

it('takes objects from administrators alone, and says of each what is wrong with it', async () => {
  const server = await start({ store: 'memory', secure: true });
  const bring = async (objects: unknown): Promise<{ code: number; body: any }> => {
    const answer = await fetch(`${server.url}/wherry/import`, {
      method: 'POST',
      body: typeof objects === 'string' ? objects : JSON.stringify({ objects }),
    });
    return { code: answer.status, body: await answer.json() };
  };
  try {
    const rules = [
      { nonResourceURLs: ['*'], verbs: ['*'] },
      { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'create', 'update', 'delete'] },
    ];
    const binding = {
      metadata: { name: 'jane' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'most' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    };
    const access = '/apis/rbac.authorization.k8s.io/v1';
    await call('POST', `${access}/clusterroles`, { metadata: { name: 'most' }, rules }, server.url);
    await call('POST', `${access}/clusterrolebindings`, binding, server.url);
    const jane = { method: 'POST', headers: { 'Impersonate-User': 'jane' }, body: '{"objects":[]}' };
    expect((await fetch(`${server.url}/wherry/import`, jane)).status).toBe(403);
    for (const wrong of ['', '{', '[]', '{"objects":{}}', '['.repeat(100_000)])
      expect((await bring(wrong)).code).toBe(400);
    expect((await bring(Array.from({ length: 1_001 }, () => 1))).code).toBe(400);
    const map = (metadata: object, more: object = {}) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      ...more,
    });
    const { body } = await bring([
      1,
      map({}),
      map({ name: '..', namespace: 'default' }),
      map({ name: 'a/b', namespace: 'default' }),
      map({ name: 'x', namespace: 'none' }),
      map({ name: 'x', namespace: 'default' }, { data: 7 }),
      { apiVersion: 'example.org/v1', kind: 'Thing', metadata: { name: 'x' } },
      map({ name: 'kube-root-ca.crt', namespace: 'default', uid: 'other' }),
      map({
        name: 'y',
        namespace: 'default',
        uid: '"},"__proto__":{}',
        labels: JSON.parse('{"__proto__":"x"}'),
      }),
      map({ name: 'z'.repeat(254), namespace: 'default' }),
      {
        ...definition,
        metadata: { name: 'deployments.apps' },
        spec: { ...definition.spec, group: 'apps', names: { plural: 'deployments', kind: 'Deployment' } },
      },
      { ...definition, metadata: { name: 'other.example.com' } },
    ]);
    expect(body.results.map(({ state, why }: any) => `${state} ${why ?? ''}`.trim())).toEqual([
      'refused a document is no object',
      'refused a ConfigMap has no name',
      'refused ConfigMap: its name cannot be one',
      'refused a ConfigMap has a name that no object can have',
      'refused its namespace none is not there',
      expect.stringContaining('refused json: cannot unmarshal number'),
      'waiting its kind is not served',
      expect.stringMatching(/^(taken|written)/),
      'written',
      'refused a ConfigMap has a name that no object can have',
      'refused the server has such a kind of its own',
      'refused its name is not that of its resource and group',
    ]);
    expect((await call('GET', '/api/v1/configmaps', undefined, server.url)).kind).toBe('ConfigMapList');
  } finally {
    await server.close();
  }
});

it('brings objects to a secure door with credentials of a kubeconfig, if these have the right to imports', async () => {
  const users = ['bringer', 'reader'].map((name) => ({ name, token: `token-of-${name}` }));
  const server = await start({
    store: 'memory',
    like: 'kubernetes',
    controllers: false,
    secure: true,
    users,
  });
  try {
    const group = 'rbac.authorization.k8s.io';
    const rule = (resource: string) => ({ apiGroups: ['wherry.dev'], resources: [resource], verbs: ['*'] });
    for (const [name, resource] of [['bringer', 'imports'] as const, ['reader', 'backups'] as const]) {
      const roleRef = { apiGroup: group, kind: 'ClusterRole', name };
      const subjects = [{ apiGroup: group, kind: 'User', name }];
      const role = { metadata: { name }, rules: [rule(resource)] };
      await call('POST', `/apis/${group}/v1/clusterroles`, role, server.url);
      const binding = { metadata: { name }, roleRef, subjects };
      await call('POST', `/apis/${group}/v1/clusterrolebindings`, binding, server.url);
    }
    const config = JSON.parse(server.kubeconfigFor('bringer'));
    config.users = users.map(({ name, token }) => ({ name, user: { token } }));
    config.contexts = users.map(({ name }) => ({
      name,
      context: { cluster: config.clusters[0].name, user: name },
    }));
    const file = path.join(folder, 'into.config');
    writeFileSync(file, JSON.stringify(config));
    const options = { ...fast, kubeconfig: kubeconfig('doors', {}), kinds: ['namespaces', 'configmaps'] };
    const by = (context: string) => importCluster({ ...options, into: { kubeconfig: file, context } });
    await expect(by('reader')).rejects.toThrow(
      /"reader" cannot get resource "imports" in API group "wherry.dev"/,
    );
    expect(asked).toEqual([]);
    expect(await by('bringer')).toMatchObject({ target: server.secureUrl });
    const maps = '/api/v1/namespaces/default/configmaps';
    expect(await shownIn(server, maps)).toEqual(await shownIn(source, maps));
    await expect(importCluster({ ...options, into: { server: server.secureUrl! } })).rejects.toThrow(
      'cannot be reached',
    );
  } finally {
    await server.close();
  }
});

it('a read-only copy takes no objects, and says so', async () => {
  const copy = await openDump(target('whole'));
  const options = { ...fast, kubeconfig: kubeconfig('copy', {}), into: { server: copy.url } };
  await expect(importCluster(options)).rejects.toThrow('takes no objects');
  await expect(importCluster({ ...options, dataDir: target('both') })).rejects.toThrow('and not both');
  await copy.close();
});

it('says what is wrong with a kubeconfig', async () => {
  const into = { ...fast, dataDir: target('never') };
  await expect(importCluster({ ...into, kubeconfig: target('missing') })).rejects.toThrow(
    'cannot be read (ENOENT)',
  );
  await expect(importCluster({ ...into, kubeconfig: kubeconfig('ctx', {}), context: 'y' })).rejects.toThrow(
    'the kubeconfig has no context "y"',
  );
  const failing = kubeconfig('failing', { exec: { command: 'false' } });
  await expect(importCluster({ ...into, kubeconfig: failing })).rejects.toThrow(
    'the credential plugin false failed',
  );
});
