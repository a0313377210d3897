/** Routing: which paths and methods exist, and the answers to others. Wire contract, section 2. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { expectFailure } from './failure.ts';
import { configMap, configMaps, created } from './objects.ts';

const client = useCluster();
const unknownResource = 'the server could not find the requested resource';
const unknownMethod = 'the server does not allow this method on the requested resource';

describe('paths', () => {
  for (const path of ['/api/v1/pods', '/version', '/api', '/apis', '/api/v1', configMaps])
    it(`takes ${path}/ for ${path}`, async () => {
      const reply = await client.get(`${path}/`);
      expect(reply.status).toBe(200);
      expect(reply.body.kind).toBe((await client.get(path)).body.kind);
    });

  it('does not collapse an empty segment', async () => {
    expect((await client.get('/api/v1//pods')).status).toBe(404);
  });

  it('takes an empty namespace for all of them', async () => {
    await created(client, '/api/v1/namespaces/kube-system/configmaps', configMap('afar'));
    const reply = await client.get('/api/v1/namespaces//configmaps');
    expect(reply.body.items.map((item: Json) => item.metadata.name)).toContain('afar');
  });

  it('decodes a slash in a name before routing', async () => {
    expect((await client.get(`${configMaps}/a%2Fb`)).status).toBe(404);
    expect((await client.get(`/api/v1/namespaces/default%2Fconfigmaps`)).body.kind).toBe('ConfigMapList');
  });

  it('ignores watch on the path of an object', async () => {
    await created(client, configMaps, configMap('unwatched'));
    const reply = await client.get(`${configMaps}/unwatched?watch=true`);
    expect(reply.body).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'unwatched' } });
  });

  it('takes the third segment after namespaces for a resource, finalize and status apart', async () => {
    const namespace = await client.get('/api/v1/namespaces/default/status');
    expect(namespace.body).toMatchObject({ kind: 'Namespace', metadata: { name: 'default' } });
    expect((await client.get('/api/v1/namespaces/default/finalize')).status).toBe(405);
    expect((await client.get('/api/v1/namespaces/default/pods')).body.kind).toBe('PodList');
    expectFailure(await client.get('/api/v1/namespaces/default/nopes'), 404, 'NotFound', unknownResource, {});
  });

  it('serves cluster-scoped kinds under no namespace', async () => {
    const reply = await client.get('/api/v1/namespaces/default/nodes');
    expectFailure(reply, 404, 'NotFound', unknownResource, {});
  });
});

describe('a namespace that does not exist', () => {
  it('lists nothing', async () => {
    const reply = await client.get('/api/v1/namespaces/nowhere/pods');
    expect(reply.status).toBe(200);
    expect(reply.body.items).toEqual([]);
  });

  it('can be watched: the stream opens and stays silent', async () => {
    const watch = await client.watch('/api/v1/watch/namespaces/nowhere/pods?timeoutSeconds=1');
    await watch.ended;
    expect(watch.lines).toEqual([]);
  });

  it('misses the object on a read', async () => {
    const reply = await client.get('/api/v1/namespaces/nowhere/pods/p');
    expectFailure(reply, 404, 'NotFound', 'pods "p" not found', { name: 'p', kind: 'pods' });
  });

  it('misses the namespace on a create', async () => {
    const reply = await client.post('/api/v1/namespaces/nowhere/configmaps', configMap('c'));
    expectFailure(reply, 404, 'NotFound', 'namespaces "nowhere" not found', {
      name: 'nowhere',
      kind: 'namespaces',
    });
  });
});

describe('what is not served', () => {
  for (const path of ['/nope', '/apis/nope/v1', '/apis/nope/v1/pods', '/healthz/nope'])
    it(`knows no page ${path}`, async () => {
      const reply = await client.get(path);
      expect(reply.status).toBe(404);
      expect(reply.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(reply.headers['x-content-type-options']).toBe('nosniff');
      expect(reply.text).toBe('404 page not found\n');
    });

  for (const path of [
    '/api/v2',
    '/api/v2/pods',
    '/api/v1/nopes',
    '/api/v1/namespaces/d/pods/x/nosub',
    '/api/v1/watch/nopes',
    '/api/v1/pods/x',
    '/apis/nope',
    '/apis/extensions/v9',
    '/apis/extensions/v9/jobs',
    '/apis/extensions/v1beta1/nopes',
  ])
    it(`knows no resource ${path}`, async () => {
      expectFailure(await client.get(path), 404, 'NotFound', unknownResource, {});
    });

  const refused: [string, string][] = [
    ['PUT', configMaps],
    ['PATCH', configMaps],
    ['POST', `${configMaps}/c`],
    ['HEAD', configMaps],
    ['OPTIONS', configMaps],
    ['OPTIONS', `${configMaps}/c`],
    ['DELETE', '/api/v1/namespaces'],
    ['DELETE', '/api/v1/configmaps'],
    ['POST', '/api/v1/watch/pods'],
    ['POST', '/api/v1/componentstatuses'],
    ['GET', '/api/v1/bindings'],
    ['DELETE', '/api/v1/namespaces/default/pods/x/status'],
    ['POST', '/version'],
    ['POST', '/api/v1'],
  ];
  for (const [method, path] of refused)
    it(`does not allow ${method} ${path}`, async () => {
      const reply = await client.request(method, path);
      if (method !== 'HEAD') expectFailure(reply, 405, 'MethodNotAllowed', unknownMethod, {});
      expect(reply.status).toBe(405);
      expect(reply.headers['content-type']).toBe('application/json');
    });

  it('answers HEAD where health is asked for', async () => {
    for (const path of ['/healthz', '/livez', '/readyz'])
      expect((await client.request('HEAD', path)).status).toBe(200);
  });

  it('says what there is at /', async () => {
    const reply = await client.get('/');
    expect(reply.body.paths).toEqual(expect.arrayContaining(['/api', '/api/v1', '/apis']));
    expect(reply.text).toBe(JSON.stringify(reply.body, null, 2));
  });
});

describe('what is wrong in several ways', () => {
  const nowhere = '/api/v1/namespaces/nowhere/configmaps';

  it('is refused for its path first, then its method, then its type', async () => {
    expect((await client.post('/api/v1/nopes', '{')).status).toBe(404);
    expect((await client.put(configMaps, '{')).status).toBe(405);
    expect((await client.patch(`${configMaps}/gone`, '{', 'text/plain')).status).toBe(415);
    expect((await client.post(configMaps, '{', { Accept: 'text/plain' })).status).toBe(406);
  });

  it('then for its body, its namespace, its values, and last for what is stored', async () => {
    await created(client, configMaps, configMap('stored'));
    expect((await client.post(nowhere, '{')).status).toBe(400);
    expect((await client.post(nowhere, configMap('x', {}, { namespace: 'other' }))).status).toBe(400);
    expect((await client.post(nowhere, configMap('A_b'))).status).toBe(404);
    const taken = configMap('stored', {}, { labels: { a: 'b c' } });
    expect((await client.post(configMaps, taken)).status).toBe(422);
    expect((await client.post(configMaps, configMap('stored'))).status).toBe(409);
  });
});

describe('headers of an answer', () => {
  it('are those of every API answer', async () => {
    const { headers } = await client.get(configMaps);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['cache-control']).toBe('no-cache, private');
    expect(Date.parse(headers.date!)).not.toBeNaN();
    expect(headers['audit-id']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it('echo the Audit-Id of the request', async () => {
    const audit = '3b241101-e2bb-4255-8caf-4136c566a962';
    expect((await client.get(configMaps, { 'Audit-Id': audit })).headers['audit-id']).toBe(audit);
    expect((await client.get('/api/v1/nopes', { 'Audit-Id': audit })).headers['audit-id']).toBe(audit);
  });

  it('forbid a text answer to be taken for anything else', async () => {
    expect((await client.get('/healthz')).headers['x-content-type-options']).toBe('nosniff');
  });
});

describe('JSON', () => {
  it('is compact with a line feed, or indented by two without one', async () => {
    await created(client, configMaps, configMap('spaced'));
    for (const path of [configMaps, `${configMaps}/spaced`]) {
      const compact = await client.get(path);
      expect(compact.text).toBe(`${JSON.stringify(compact.body)}\n`);
      const pretty = await client.get(`${path}?pretty=true`);
      expect(pretty.text).toBe(JSON.stringify(pretty.body, null, 2));
    }
  });

  it('begins with kind, apiVersion and metadata; maps are sorted', async () => {
    const object = {
      data: { z: '1', a: '2', m: '3' },
      metadata: { name: 'ordered', labels: { b: '', a: '' } },
    };
    const reply = await client.post(configMaps, object);
    expect(Object.keys(reply.body)).toEqual(['kind', 'apiVersion', 'metadata', 'data']);
    expect(Object.keys(reply.body.data)).toEqual(['a', 'm', 'z']);
    expect(Object.keys(reply.body.metadata.labels)).toEqual(['a', 'b']);
    const namespace = (await client.get('/api/v1/namespaces/default')).body;
    expect(Object.keys(namespace)).toEqual(['kind', 'apiVersion', 'metadata', 'spec', 'status']);
  });

  it('leaves out what is empty, so that a patch does not find it', async () => {
    const reply = await client.post(configMaps, {
      metadata: { name: 'hollow', labels: {}, annotations: {}, finalizers: [], generateName: '' },
      data: {},
    });
    expect(Object.keys(reply.body)).toEqual(['kind', 'apiVersion', 'metadata']);
    for (const name of ['labels', 'annotations', 'finalizers', 'generateName'])
      expect(reply.body.metadata).not.toHaveProperty(name);
    const patch = [{ op: 'add', path: '/metadata/labels/x', value: 'y' }];
    expect((await client.patch(`${configMaps}/hollow`, patch, 'application/json-patch+json')).status).toBe(
      422,
    );
  });

  it('takes null for absent', async () => {
    const reply = await client.post(configMaps, { metadata: { name: 'null', labels: null }, data: null });
    expect(reply.status).toBe(200);
    expect(reply.body).not.toHaveProperty('data');
  });

  it('tells field names apart by case', async () => {
    const reply = await client.post(configMaps, { metadata: { name: 'cased' }, Data: { a: '1' } });
    expect(reply.body).not.toHaveProperty('data');
    expect(reply.warnings).toEqual(['"unknown field \\"Data\\""']);
  });

  it('keeps kind and apiVersion out of list items, and in watch events', async () => {
    await created(client, configMaps, configMap('member'));
    const list = await client.get(configMaps);
    for (const item of list.body.items) expect(Object.keys(item)[0]).toBe('metadata');
    const watch = await client.watch(`${configMaps}?watch=true`);
    expect((await watch.next()).object).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
    watch.close();
  });
});
