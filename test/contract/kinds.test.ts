/**
 * Proves that a kind can be added to a running server, used with every verb, replaced and removed without a restart:
 * discovery, OpenAPI, routes, watches, selectors, tables, quota, garbage collection, namespaces and metrics follow.
 */
import { afterEach, describe, expect, it } from 'vitest';
import type { Kind } from '../../src/api/kind/kind.ts';
import {
  otherServiceKind,
  protobufWidget,
  type Widget,
  widgetKind,
  widgetTable,
} from '../../src/api/kind/widget.fixture.ts';
import { brief, type Json, jsonPatch, mergePatch, strategicPatch } from '../support/http.ts';
import { useKindServer } from '../support/kind-server.ts';
import { parseMetrics } from '../support/metrics.ts';

const server = useKindServer();
const { kinds } = server;
const version = '/apis/example.com/v1';
const all = `${version}/widgets`;
const widgets = `${version}/namespaces/default/widgets`;
const aggregated = { Accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };
const asTable = { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

const widget = (name: string, spec: object = {}, metadata: object = {}) => ({
  kind: 'Widget',
  apiVersion: 'example.com/v1',
  metadata: { name, ...metadata },
  spec,
});

const namesOf = (list: Json): string[] => list.items.map(({ metadata }: Json) => metadata.name);

/** Each test adds the kinds it needs; they are removed together with its objects. */
afterEach(async () => {
  for (const kind of [...kinds].filter(({ group }) => group === 'example.com' || group.endsWith('.dev'))) {
    if (kind.storage === kind) {
      await server.delete(`/apis/${kind.apiVersion}/namespaces/default/${kind.resource}`);
      await server.settled();
    }
  }
  await kinds.remove(...[...kinds].filter(({ group }) => group === 'example.com' || group.endsWith('.dev')));
  await server.settled();
  expect(server.failures).toEqual([]);
});

describe('documents', () => {
  it('of discovery show a kind from the moment on in which it is there', async () => {
    expect((await server.get(version)).status).toBe(404);
    expect((await server.get(all)).status).toBe(404);
    const plain = (await server.get('/apis')).body;
    const before = (await server.get('/apis', aggregated)).headers.etag;
    await kinds.add(widgetKind());
    expect((await server.get(version)).body).toEqual({
      kind: 'APIResourceList',
      groupVersion: 'example.com/v1',
      resources: [
        {
          name: 'widgets',
          singularName: 'widget',
          namespaced: true,
          kind: 'Widget',
          verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
          shortNames: ['wd'],
          categories: ['all'],
          storageVersionHash: expect.stringMatching(/^.{11}=$/),
        },
        {
          name: 'widgets/status',
          singularName: '',
          namespaced: true,
          kind: 'Widget',
          verbs: ['get', 'patch', 'update'],
        },
      ],
    });
    const groups = (await server.get('/apis')).body.groups.map(({ name }: Json) => name);
    expect(groups).toEqual(
      expect.arrayContaining([...plain.groups.map(({ name }: Json) => name), 'example.com']),
    );
    expect((await server.get('/apis/example.com')).body.preferredVersion.groupVersion).toBe('example.com/v1');
    expect((await server.get('/')).body.paths).toContain('/apis/example.com/v1');
    const reply = await server.get('/apis', aggregated);
    expect(reply.headers.etag).not.toBe(before);
    const group = reply.body.items.find(({ metadata }: Json) => metadata.name === 'example.com');
    expect(group.versions[0].resources[0]).toMatchObject({
      resource: 'widgets',
      scope: 'Namespaced',
      subresources: [{ subresource: 'status' }],
    });
    await kinds.remove(kinds.resource('example.com/v1', 'widgets')!);
    expect((await server.get('/apis')).body).toEqual(plain);
    expect((await server.get('/apis', aggregated)).headers.etag).toBe(before);
    expect((await server.get(version)).status).toBe(404);
  });

  it('of OpenAPI and Swagger have it, with its fields, and change for it alone', async () => {
    const index = async (): Promise<Record<string, Json>> => (await server.get('/openapi/v3')).body.paths;
    const [before, whole] = [await index(), (await server.get('/openapi/v2')).headers.etag];
    await kinds.add(widgetKind(), otherServiceKind());
    const after = await index();
    const added = Object.keys(after).filter((name) => !Object.hasOwn(before, name));
    expect(added).toEqual(['apis/example.com/v1', 'apis/serving.knative.dev/v1']);
    for (const name of Object.keys(before)) expect(after[name], name).toEqual(before[name]);

    const v3 = (await server.get('/openapi/v3/apis/example.com/v1')).body;
    const schema = v3.components.schemas['com.example.v1.Widget'];
    expect(schema.description).toBe('A thing of a certain size.');
    expect(schema['x-kubernetes-group-version-kind']).toEqual([
      { group: 'example.com', kind: 'Widget', version: 'v1' },
    ]);
    expect(v3.components.schemas['com.example.v1.WidgetSpec'].properties.size).toEqual({
      type: 'integer',
      format: 'int32',
      description: 'How large it is.',
    });
    expect(Object.keys(v3.paths)).toContain(`${version}/namespaces/{namespace}/widgets/{name}/status`);

    const v2 = (await server.get('/openapi/v2')).body;
    expect(v2.definitions['com.example.v1.WidgetList'].properties.items.items.$ref).toBe(
      '#/definitions/com.example.v1.Widget',
    );
    expect(v2.definitions['dev.knative.serving.v1.Service']).toBeDefined();
    const ids = Object.values<Json>(v2.paths).flatMap((path) =>
      Object.values<Json>(path).flatMap(({ operationId }) => operationId ?? []),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain('listExampleComV1NamespacedWidget');
    expect((await server.get('/swaggerapi/apis/example.com/v1')).body.models['v1.Widget']).toBeDefined();

    const heavier = widgetTable('example.com/v1', { weight: { type: 'integer' } });
    await kinds.replace(widgetKind({}, heavier));
    const changed = await index();
    const differ = Object.keys(after).filter(
      (name) => changed[name].serverRelativeURL !== after[name].serverRelativeURL,
    );
    expect(differ).toEqual(['apis/example.com/v1']);
    expect(
      (await server.get('/openapi/v2')).body.definitions['com.example.v1.WidgetSpec'].properties.weight,
    ).toBeDefined();

    await kinds.remove(
      ...[...kinds].filter(({ group }) => group === 'example.com' || group.endsWith('.dev')),
    );
    expect(await index()).toEqual(before);
    expect((await server.get('/openapi/v2')).headers.etag).toBe(whole);
    for (const path of ['/openapi/v3', '/swaggerapi'])
      expect((await server.get(`${path}/apis/example.com/v1`)).status).toBe(404);
  });

  it('tell parts of the same name apart', async () => {
    const gadgets = widgetKind({ kind: 'Widget', resource: 'gadgets', singular: 'gadget', version: 'v2' });
    await kinds.add(widgetKind(), widgetKind({ group: 'other.dev' }, widgetTable('other.dev/v1')));
    await expect(kinds.add(gadgets)).resolves.toBeUndefined();
    const { definitions } = (await server.get('/openapi/v2')).body;
    expect(
      Object.keys(definitions).filter((name) => name.includes('example') || name.includes('other')),
    ).toEqual(
      expect.arrayContaining([
        'com.example.v1.WidgetSpec',
        'com.example.v1.WidgetSpec_v2',
        'dev.other.v1.WidgetSpec',
      ]),
    );
  });
});

describe('objects of a kind that came', () => {
  it('take every verb', async () => {
    await kinds.add(widgetKind());
    const watch = await server.watch(`${widgets}?watch=1&resourceVersion=0`);
    const created = await server.post(widgets, widget('a', { size: 1, color: 'red', shape: 'round' }));
    expect([created.status, created.warnings]).toEqual([200, ['"unknown field \\"spec.shape\\""']]);
    const { metadata } = created.body;
    expect(created.body).toEqual({
      kind: 'Widget',
      apiVersion: 'example.com/v1',
      metadata: {
        name: 'a',
        namespace: 'default',
        selfLink: `${widgets}/a`,
        uid: expect.any(String),
        resourceVersion: expect.any(String),
        generation: 1,
        creationTimestamp: expect.any(String),
        managedFields: [expect.objectContaining({ apiVersion: 'example.com/v1' })],
      },
      spec: { size: 1, color: 'red' },
    });
    expect((await server.get(`${widgets}/a`)).text).toBe(created.text);
    expect(namesOf((await server.get(widgets)).body)).toEqual(['a']);
    expect((await server.get(all)).body).toMatchObject({ kind: 'WidgetList', apiVersion: 'example.com/v1' });
    expect((await server.post(widgets, widget('a'))).status).toBe(409);
    expect((await server.post(widgets, widget('b', { size: 'large' }))).body.message).toBe(
      'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal string into Go struct field WidgetSpec.spec.size of type int32',
    );

    const updated = await server.put(`${widgets}/a`, { ...created.body, spec: { size: 2, color: 'red' } });
    expect(updated.body).toMatchObject({ metadata: { uid: metadata.uid, generation: 2 }, spec: { size: 2 } });
    expect((await server.put(`${widgets}/a`, created.body)).status).toBe(409);
    const patches: [object, string][] = [
      [[{ op: 'replace', path: '/spec/size', value: 3 }], jsonPatch],
      [{ metadata: { labels: { tier: 'top' } } }, mergePatch],
      [{ spec: { parts: [{ name: 'lid', count: 1 }] } }, strategicPatch],
      [{ spec: { parts: [{ name: 'pin', count: 4 }] } }, strategicPatch],
    ];
    for (const [patch, type] of patches)
      expect((await server.patch(`${widgets}/a`, patch, type)).status).toBe(200);
    const status = await server.patch(`${widgets}/a/status`, {
      spec: { size: 9 },
      status: { phase: 'Ready' },
    });
    expect(status.body).toMatchObject({
      metadata: { labels: { tier: 'top' }, generation: 5 },
      spec: {
        size: 3,
        parts: expect.arrayContaining([
          { name: 'pin', count: 4 },
          { name: 'lid', count: 1 },
        ]),
      },
      status: { phase: 'Ready' },
    });

    await server.post(widgets, widget('b', { size: 1, color: 'blue' }, { labels: { tier: 'low' } }));
    expect(namesOf((await server.get(`${widgets}?labelSelector=tier%3Dtop`)).body)).toEqual(['a']);
    expect(namesOf((await server.get(`${all}?fieldSelector=spec.color%3Dblue`)).body)).toEqual(['b']);
    expect((await server.get(`${all}?fieldSelector=spec.size%3D1`)).status).toBe(400);
    const page = (await server.get(`${all}?limit=1`)).body.metadata;
    expect(page.remainingItemCount).toBe(1);
    expect(namesOf((await server.get(`${all}?continue=${page.continue}`)).body)).toEqual(['b']);
    const table = (await server.get(all, asTable)).body;
    expect(table.columnDefinitions.map(({ name }: Json) => name)).toEqual(['Name', 'Size']);
    expect(table.rows.map(({ cells }: Json) => cells)).toEqual([
      ['a', 3],
      ['b', 1],
    ]);

    expect((await server.delete(`${widgets}/a`)).body).toMatchObject({
      status: 'Success',
      details: { group: 'example.com', kind: 'widgets' },
    });
    expect((await server.get(`${widgets}/a`)).body.message).toBe('widgets.example.com "a" not found');
    await server.post(widgets, widget('c'));
    expect(namesOf((await server.delete(widgets)).body)).toEqual(['b', 'c']);
    const events = (await watch.take(12)).map(brief);
    // Objects of a collection are deleted concurrently, in no fixed order.
    expect([...events.slice(0, 10), ...events.slice(10).sort()]).toEqual([
      'ADDED a',
      ...Array.from({ length: 6 }, () => 'MODIFIED a'),
      'ADDED b',
      'DELETED a',
      'ADDED c',
      'DELETED b',
      'DELETED c',
    ]);
    watch.close();
  });

  it('may come as protobuf', async () => {
    await kinds.add(widgetKind());
    const reply = await server.post(widgets, protobufWidget('p', 5), {
      'Content-Type': 'application/vnd.kubernetes.protobuf',
    });
    expect(reply.body).toMatchObject({ metadata: { name: 'p' }, spec: { size: 5 } });
  });

  it('are not among those of a namesake in another group', async () => {
    await kinds.add(otherServiceKind());
    const others = '/apis/serving.knative.dev/v1/namespaces/default/services';
    const made = await server.post(others, {
      metadata: { name: 's' },
      spec: { template: { any: ['thing'] } },
    });
    expect(made.body).toMatchObject({
      apiVersion: 'serving.knative.dev/v1',
      spec: { template: { any: ['thing'] } },
    });
    expect(made.body.spec).not.toHaveProperty('clusterIP');
    expect(namesOf((await server.get('/api/v1/services')).body)).not.toContain('s');
    const core = await server.post('/api/v1/namespaces/default/services', {
      metadata: { name: 's' },
      spec: { ports: [{ port: 80 }] },
    });
    expect(core.body.spec.clusterIP).toMatch(/^10\.0\.0\./);
    expect((await server.delete('/api/v1/namespaces/default/services/s')).status).toBe(200);
    expect((await server.get(`${others}/s`)).body.metadata.uid).toBe(made.body.metadata.uid);
  });

  it('are counted by quotas, from the first and also those that were there before', async () => {
    await kinds.add(widgetKind());
    await server.post(widgets, widget('a'));
    await kinds.remove(kinds.resource('example.com/v1', 'widgets')!);
    const quotas = '/api/v1/namespaces/default/resourcequotas';
    await server.post(quotas, {
      metadata: { name: 'q' },
      spec: { hard: { 'count/widgets.example.com': '2' } },
    });
    const used = async (): Promise<string> => {
      await server.settled();
      return (await server.get(`${quotas}/q`)).body.status.used['count/widgets.example.com'];
    };
    expect(await used()).toBe('0');
    await kinds.add(widgetKind());
    expect(await used()).toBe('1');
    expect((await server.post(widgets, widget('b'))).status).toBe(200);
    const refused = await server.post(widgets, widget('c'));
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'widgets.example.com "c" is forbidden: exceeded quota: q, requested: count/widgets.example.com=1, used: count/widgets.example.com=2, limited: count/widgets.example.com=2',
    ]);
    await server.delete(`${widgets}/a`);
    expect(await used()).toBe('1');
    await server.delete(`${quotas}/q`);
  });

  it('are collected with their owners, and own others', async () => {
    await kinds.add(widgetKind());
    const configMaps = '/api/v1/namespaces/default/configmaps';
    const reference = ({ body: { kind, apiVersion, metadata } }: Json) => ({
      ownerReferences: [{ kind, apiVersion, name: metadata.name, uid: metadata.uid }],
    });
    const owner = await server.post(configMaps, { metadata: { name: 'owner' } });
    const middle = await server.post(widgets, widget('middle', {}, reference(owner)));
    await server.post(configMaps, { metadata: { name: 'leaf', ...reference(middle) } });
    await server.settled();
    expect((await server.get(`${configMaps}/leaf`)).status).toBe(200);
    // Whether an owner of an unknown kind exists cannot be checked, so its dependents stay.
    await kinds.remove(kinds.resource('example.com/v1', 'widgets')!);
    await server.patch(`${configMaps}/leaf`, { data: { a: '1' } });
    await server.settled();
    expect((await server.get(`${configMaps}/leaf`)).status).toBe(200);
    await server.delete(`${configMaps}/owner`);
    await server.settled();
    // It can be checked when the kind is added again.
    await kinds.add(widgetKind());
    await server.settled();
    for (const path of [`${widgets}/middle`, `${configMaps}/leaf`])
      expect((await server.get(path)).status, path).toBe(404);
  });

  it('go with their namespace', async () => {
    await kinds.add(widgetKind());
    await server.post('/api/v1/namespaces', { metadata: { name: 'full' } });
    const inFull = `${version}/namespaces/full/widgets`;
    await server.post(inFull, widget('a'));
    await server.post(inFull, widget('held', {}, { finalizers: ['example.com/hold'] }));
    await server.post(widgets, widget('elsewhere'));
    const watch = await server.watch(`${inFull}?watch=1&resourceVersion=0`);
    await watch.take(2);
    await server.delete('/api/v1/namespaces/full');
    expect(brief(await watch.until(({ type }) => type === 'DELETED'))).toBe('DELETED a');
    await server.settled();
    const waiting = (await server.get('/api/v1/namespaces/full')).body.status.conditions;
    expect(waiting.find(({ type }: Json) => type === 'NamespaceContentRemaining').message).toBe(
      'Some resources are remaining: widgets.example.com has 1 resource instances',
    );
    expect((await server.post(inFull, widget('late'))).status).toBe(403);
    await server.patch(`${inFull}/held`, { metadata: { finalizers: null } });
    await server.settled();
    expect((await server.get('/api/v1/namespaces/full')).status).toBe(404);
    expect(namesOf((await server.get(all)).body)).toEqual(['elsewhere']);
    watch.close();
  });

  it('are shown by metrics, as long as the kind is there', async () => {
    const labels = { group: 'example.com', resource: 'widgets' };
    const metrics = async () => parseMetrics((await server.get('/metrics')).text);
    // Series of removed kinds are dropped when metrics are read.
    await metrics();
    await kinds.add(widgetKind());
    for (const name of ['a', 'b']) await server.post(widgets, widget(name));
    const watch = await server.watch(`${widgets}?watch=1&resourceVersion=0`);
    await watch.take(2);
    const now = await metrics();
    expect(now.value('apiserver_resource_objects', labels)).toBe(2);
    expect(now.value('apiserver_storage_objects', { resource: 'widgets.example.com' })).toBe(2);
    expect(now.value('apiserver_request_total', { ...labels, verb: 'POST', code: '200' })).toBe(2);
    expect(now.value('apiserver_watch_events_total', labels)).toBe(2);
    expect(now.value('apiserver_longrunning_requests', labels)).toBe(1);
    expect(now.value('etcd_requests_total', { ...labels, operation: 'create' })).toBeGreaterThanOrEqual(2);
    // A replaced kind is counted once, and its figures continue.
    await kinds.replace(widgetKind());
    await server.post(widgets, widget('c'));
    await watch.next();
    expect((await metrics()).find('apiserver_watch_events_total', labels)).toMatchObject([{ value: 3 }]);
    await server.delete(widgets);
    await kinds.remove(kinds.resource('example.com/v1', 'widgets')!);
    await watch.ended;
    await expect
      .poll(async () =>
        (await metrics()).all.filter((sample) => sample.labels['resource']?.startsWith('widgets')),
      )
      .toEqual([]);
  });
});

describe('a kind that is replaced while it is watched', () => {
  it('goes on with further fields and columns', async () => {
    await kinds.add(widgetKind());
    await server.post(widgets, widget('a', { size: 1 }));
    const watch = await server.watch(`${widgets}?watch=1&resourceVersion=0`);
    expect(brief(await watch.next())).toBe('ADDED a');
    const heavier = widgetTable('example.com/v1', { weight: { type: 'integer', format: 'int32' } });
    await kinds.replace(
      widgetKind(
        {
          columns: [...widgetKind().columns!, { name: 'Weight', type: 'integer', description: 'In grams.' }],
          cells: ({ metadata, spec }: Widget) => [metadata.name, spec?.size ?? 0, spec?.weight ?? 0],
          selectableFields: { 'spec.weight': ({ spec }: Widget) => String(spec?.weight ?? 0) },
        },
        heavier,
      ),
    );
    expect(namesOf((await server.get(`${all}?fieldSelector=spec.weight%3D0`)).body)).toEqual(['a']);
    expect((await server.patch(`${widgets}/a`, { spec: { weight: 7 } })).body.spec).toEqual({
      size: 1,
      weight: 7,
    });
    expect((await watch.next()).object.spec.weight).toBe(7);
    const table = (await server.get(`${widgets}/a`, asTable)).body;
    expect([table.columnDefinitions.length, table.rows[0].cells]).toEqual([3, ['a', 1, 7]]);
    expect(namesOf((await server.get(`${all}?fieldSelector=spec.weight%3D7`)).body)).toEqual(['a']);
    watch.close();
  });

  it('ends the watches of a version that goes, and of no other', async () => {
    const stored = widgetKind();
    const other = (kind: Kind): Kind =>
      widgetKind({
        version: 'v1beta1',
        stored: { kind, toStored: (object) => object, fromStored: (object) => object as Widget },
      });
    await kinds.add(stored, other(stored));
    await server.post(widgets, widget('a'));
    const old = '/apis/example.com/v1beta1/namespaces/default/widgets';
    const watch = await server.watch(`${widgets}?watch=1&resourceVersion=0`);
    const oldWatch = await server.watch(`${old}?watch=1&resourceVersion=0`);
    expect((await oldWatch.next()).object.apiVersion).toBe('example.com/v1beta1');
    await watch.next();
    await kinds.remove(kinds.resource('example.com/v1beta1', 'widgets')!);
    await oldWatch.ended;
    expect((await server.get(old)).status).toBe(404);
    await server.patch(`${widgets}/a`, { spec: { size: 2 } });
    expect((await watch.next()).object.spec.size).toBe(2);
    watch.close();
  });
});

describe('a kind that goes', () => {
  it('ends its watches cleanly, is not found any more, and finds its objects when it comes back', async () => {
    await kinds.add(widgetKind());
    const made = await server.post(widgets, widget('a', { size: 1 }));
    const watch = await server.watch(`${widgets}?watch=1&resourceVersion=0`);
    await watch.next();
    await kinds.remove(kinds.resource('example.com/v1', 'widgets')!);
    await watch.ended;
    // The stream ends without an error event.
    expect(watch.lines).toHaveLength(1);
    for (const path of [
      all,
      widgets,
      `${widgets}/a`,
      `${version}/watch/widgets`,
      version,
      '/apis/example.com',
    ])
      expect((await server.get(path)).status, path).toBe(404);
    for (const reply of [
      await server.post(widgets, widget('b')),
      await server.put(`${widgets}/a`, made.body),
      await server.patch(`${widgets}/a`, {}),
      await server.delete(`${widgets}/a`),
      await server.delete(widgets),
    ])
      expect(reply.status).toBe(404);
    await kinds.add(widgetKind());
    expect((await server.get(`${widgets}/a`)).text).toBe(made.text);
    expect((await server.patch(`${widgets}/a`, { spec: { size: 2 } })).body.spec.size).toBe(2);
  });

  it('and a thousand that come cost no more for each than for the first', async () => {
    const many = Array.from({ length: 1000 }, (_, i) =>
      widgetKind({ group: `g${i}.example.dev` }, widgetTable(`g${i}.example.dev/v1`)),
    );
    let listed = 0;
    for (const [i, kind] of many.entries()) {
      await kinds.add(kind);
      if (i % 100 === 0) listed = (await server.get('/apis', aggregated)).body.items.length;
    }
    const path = '/apis/g999.example.dev/v1/namespaces/default/widgets';
    expect((await server.post(path, { metadata: { name: 'a' }, spec: { size: 1 } })).body.spec.size).toBe(1);
    expect((await server.get('/apis', aggregated)).body.items.length).toBe(listed + 99);
    expect((await server.delete(path)).body.items).toHaveLength(1);
    await kinds.remove(...many);
    expect((await server.get(path)).status).toBe(404);
  });
});
