/** The three patch types. Wire contract, section 6.5. */
import { describe, expect, it } from 'vitest';
import { type Json, jsonPatch, mergePatch, type Reply, strategicPatch, useCluster } from '../support/http.ts';
import { expectFailure, expectInvalid } from './failure.ts';
import { configMap, configMaps, controller, controllers, created, pod, pods } from './objects.ts';

const client = useCluster();
let count = 0;

/** Patches a fresh object and returns the reply. */
async function patchConfigMap(patch: Json, type = mergePatch, query = ''): Promise<Reply> {
  const name = `c${++count}`;
  await created(client, configMaps, configMap(name));
  return client.patch(`${configMaps}/${name}${query}`, patch, type);
}

async function patchPod(patch: Json, spec: Json, metadata: Json = {}): Promise<Reply> {
  const name = `p${++count}`;
  await created(client, pods, pod(name, metadata, spec));
  return client.patch(`${pods}/${name}`, patch, strategicPatch);
}

const rejected = 'the server rejected our request due to an error in our request';

describe('every patch', () => {
  it('needs an object', async () => {
    for (const type of [jsonPatch, mergePatch, strategicPatch])
      expectFailure(
        await client.patch(`${configMaps}/gone`, type === jsonPatch ? [] : {}, type),
        404,
        'NotFound',
        'configmaps "gone" not found',
        { name: 'gone', kind: 'configmaps' },
      );
  });

  it('may not change name, namespace or uid', async () => {
    const renamed = await patchConfigMap({ metadata: { name: 'other' } });
    expectFailure(
      renamed,
      400,
      'BadRequest',
      `the name of the object (other) does not match the name on the URL (c${count})`,
    );
    expectFailure(
      await patchConfigMap({ metadata: { namespace: 'other' } }),
      400,
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    );
    const reply = await patchConfigMap({ metadata: { uid: '1' } });
    expectInvalid(reply, 'ConfigMap', `c${count}`, 'metadata.uid', 'Invalid value: "1": field is immutable');
  });

  it('with a resourceVersion is bound to it', async () => {
    const stale = await patchConfigMap({ metadata: { resourceVersion: '1' }, data: { a: '2' } });
    expectFailure(
      stale,
      409,
      'Conflict',
      `Operation cannot be fulfilled on configmaps "c${count}": the object has been modified; please apply your changes to the latest version and try again`,
      { name: `c${count}`, kind: 'configmaps' },
    );
    const path = `${configMaps}/c${count}`;
    const { resourceVersion } = (await client.get(path)).body.metadata;
    const fresh = await client.patch(path, { metadata: { resourceVersion }, data: { a: '2' } });
    expect(fresh.body.data).toEqual({ a: '2' });
  });

  it('without one never loses to others', async () => {
    await created(client, configMaps, configMap('busy', {}));
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, i) => client.patch(`${configMaps}/busy`, { data: { [`k${i}`]: '' } })),
    );
    expect(replies.map((reply) => reply.status)).toEqual(replies.map(() => 200));
    expect(Object.keys((await client.get(`${configMaps}/busy`)).body.data)).toHaveLength(50);
  });

  it('cannot make an object one of another kind or version', async () => {
    const words = (kind: string, version: string) =>
      `no kind "${kind}" is registered for version "${version}" in scheme "wherry"`;
    for (const [body, type, why] of [
      [{ kind: 'Boat' }, undefined, words('Boat', 'v1')],
      [{ apiVersion: 'apps/v1' }, undefined, words('ConfigMap', 'apps/v1')],
      [[{ op: 'replace', path: '/kind', value: 'Boat' }], jsonPatch, words('Boat', 'v1')],
    ] as [Json, string | undefined, string][]) {
      const reply = await patchConfigMap(body, type);
      expect([reply.status, reply.body.message.slice(-why.length)]).toEqual([422, why]);
    }
    expect((await patchConfigMap({ kind: null, apiVersion: 'v1' })).status).toBe(200);
  });

  it('that leads to no such object is refused with what it led to', async () => {
    const reply = await patchConfigMap({ data: 'x' });
    expect(reply.status).toBe(422);
    expect(reply.body.message).toMatch(
      /^ "" is invalid: patch: Invalid value: "\{\\"kind\\":\\"ConfigMap\\".*\\"data\\":\\"x\\"\}": json: cannot unmarshal string into Go struct field/,
    );
    expect(reply.body.details).toEqual({
      causes: [
        { reason: 'FieldValueInvalid', message: expect.stringMatching(/^Invalid value: "/), field: 'patch' },
      ],
    });
  });
});

describe('JSON patch', () => {
  const patched = (...operations: Json[]): Promise<Reply> => patchConfigMap(operations, jsonPatch);

  it('adds, replaces, removes, moves, copies and tests', async () => {
    const reply = await patched(
      { op: 'test', path: '/data/a', value: '1' },
      { op: 'add', path: '/data/b', value: '2' },
      { op: 'copy', from: '/data/b', path: '/data/c' },
      { op: 'move', from: '/data/a', path: '/data/d' },
      { op: 'replace', path: '/data/b', value: '3' },
      { op: 'remove', path: '/data/c' },
    );
    expect(reply.body.data).toEqual({ b: '3', d: '1' });
  });

  it('escapes ~ and / in paths, and appends with -', async () => {
    const reply = await patched(
      { op: 'add', path: '/metadata/annotations', value: {} },
      { op: 'add', path: '/metadata/annotations/x.io~1a', value: 'v' },
      { op: 'add', path: '/metadata/finalizers', value: ['x.io/1'] },
      { op: 'add', path: '/metadata/finalizers/-', value: 'x.io/2' },
    );
    expect(reply.body.metadata).toMatchObject({
      annotations: { 'x.io/a': 'v' },
      finalizers: ['x.io/1', 'x.io/2'],
    });
  });

  for (const operation of [
    { op: 'frobnicate', path: '/data/a' },
    { path: '/data/a' },
    { op: 'test', path: '/data/a', value: '2' },
    { op: 'remove', path: '/data/z' },
    { op: 'remove', path: '/metadata/finalizers/0' },
    { op: 'add', path: '/metadata/labels/x', value: 'y' },
    { op: 'move', from: '/data/z', path: '/data/y' },
    { op: 'copy', from: '/data/z', path: '/data/y' },
  ])
    it(`cannot apply ${JSON.stringify(operation)}`, async () => {
      expectFailure(await patched(operation), 422, 'Invalid', rejected, {});
    });

  it('replaces a missing key, and finds a missing path null', async () => {
    const reply = await patched(
      { op: 'test', path: '/data/z', value: null },
      { op: 'replace', path: '/data/y', value: '2' },
    );
    expect(reply.body.data).toEqual({ a: '1', y: '2' });
  });

  it('of nothing changes nothing', async () => {
    for (const body of ['[]', 'null']) {
      const reply = await patchConfigMap(body, jsonPatch);
      expect(reply.status, reply.text).toBe(200);
      expect(reply.body.data).toEqual({ a: '1' });
    }
  });

  it('is a list of at most 10000 operations', async () => {
    for (const body of ['{}', '{"op":"add"}', '[{]', '"x"']) {
      const reply = await patchConfigMap(body, jsonPatch);
      expectFailure(reply, 400, 'BadRequest', /^error decoding patch: /);
    }
    const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/data/a', value: '1' }));
    expectFailure(
      await patchConfigMap(many, jsonPatch),
      413,
      'RequestEntityTooLarge',
      'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    );
  });
});

describe('merge patch', () => {
  it('sets, adds and removes keys', async () => {
    const reply = await patchConfigMap({ data: { a: null, b: '2' }, metadata: { labels: { l: 'x' } } });
    expect(reply.body.data).toEqual({ b: '2' });
    expect(reply.body.metadata.labels).toEqual({ l: 'x' });
  });

  it('replaces lists whole', async () => {
    await created(client, configMaps, configMap('listed', {}, { finalizers: ['x.io/1', 'x.io/2'] }));
    const reply = await client.patch(`${configMaps}/listed`, { metadata: { finalizers: ['x.io/3'] } });
    expect(reply.body.metadata.finalizers).toEqual(['x.io/3']);
  });

  it('is an object', async () => {
    for (const body of ['{', '[]', '"x"', ''])
      expectFailure(await patchConfigMap(body), 400, 'BadRequest', /^error decoding patch: /);
    expectFailure(await patchConfigMap('null'), 400, 'BadRequest', 'Invalid JSON Patch');
  });
});

describe('strategic merge patch', () => {
  const container = (name: string, more: Json = {}): Json => ({
    name,
    image: `registry.example/${name}`,
    ...more,
  });
  const names = (list: Json[]): string[] => list.map((item) => item.name);

  it('merges lists by key, new elements first', async () => {
    const name = `rc${++count}`;
    const two = controller(name);
    two.spec.template.spec.containers = [container('c1'), container('c2')];
    await created(client, controllers, two);
    const patch = { spec: { template: { spec: { containers: [container('c3')] } } } };
    const reply = await client.patch(`${controllers}/${name}`, patch, strategicPatch);
    expect(names(reply.body.spec.template.spec.containers)).toEqual(['c3', 'c1', 'c2']);
  });

  it('changes an element in place', async () => {
    const reply = await patchPod(
      { spec: { containers: [{ name: 'c2', image: 'registry.example/new' }] } },
      { containers: [container('c1'), container('c2')] },
    );
    expect(reply.body.spec.containers.map((one: Json) => one.image)).toEqual([
      'registry.example/c1',
      'registry.example/new',
    ]);
  });

  it('deletes by $patch and by $deleteFromPrimitiveList, and orders by $setElementOrder', async () => {
    await created(
      client,
      configMaps,
      configMap('directed', { a: '1' }, { finalizers: ['x.io/1', 'x.io/2'] }),
    );
    const reply = await client.patch(
      `${configMaps}/directed`,
      {
        metadata: { '$deleteFromPrimitiveList/finalizers': ['x.io/1'] },
        data: { $patch: 'replace', b: '2' },
      },
      strategicPatch,
    );
    expect(reply.body.metadata.finalizers).toEqual(['x.io/2']);
    expect(reply.body.data).toEqual({ b: '2' });
    const ordered = await client.patch(
      `${configMaps}/directed`,
      { metadata: { '$setElementOrder/finalizers': ['x.io/3', 'x.io/2'], finalizers: ['x.io/3'] } },
      strategicPatch,
    );
    expect(ordered.body.metadata.finalizers).toEqual(['x.io/3', 'x.io/2']);
  });

  it('drops what $retainKeys does not list', async () => {
    const reply = await patchConfigMap({ data: { $retainKeys: ['b'], b: '2' } }, strategicPatch);
    expect(reply.body.data).toEqual({ b: '2' });
    expectFailure(
      await patchConfigMap({ data: { $retainKeys: ['b'], c: '2' } }, strategicPatch),
      400,
      'BadRequest',
      'invalid patch format of retainKeys',
    );
  });

  it('refuses unknown directives and elements without their key', async () => {
    expectFailure(
      await patchConfigMap({ data: { $patch: 'frobnicate' } }, strategicPatch),
      400,
      'BadRequest',
      /^unknown patch type: frobnicate in map: map\[/,
    );
    expectFailure(
      await patchPod({ spec: { containers: [{ image: 'q' }] } }, {}),
      500,
      undefined,
      'map: map[image:q] does not contain declared merge key: name',
    );
    const misordered = { metadata: { '$setElementOrder/finalizers': ['x.io/2'], finalizers: ['x.io/1'] } };
    expectFailure(
      await patchConfigMap(misordered, strategicPatch),
      400,
      'BadRequest',
      /^The order in patch list:\n.*\n doesn't match \$setElementOrder list:\n.*\n$/,
    );
  });

  it('is an object, of values that fit', async () => {
    const broken = await patchConfigMap('{', strategicPatch);
    expectFailure(broken, 400, 'BadRequest', /^(?!error decoding patch)./);
    expectFailure(
      await patchConfigMap({ data: 'x' }, strategicPatch),
      422,
      'Invalid',
      ' "" is invalid: patch: Invalid value: "map[data:x]": cannot restore map from string',
      {
        causes: [
          {
            reason: 'FieldValueInvalid',
            message: 'Invalid value: "map[data:x]": cannot restore map from string',
            field: 'patch',
          },
        ],
      },
    );
  });

  it.each([
    [{ data: { a: 1 } }, 'map[data:map[a:1]]', 'cannot convert int64 to string'],
    [{ immutable: 'yes' }, 'map[immutable:yes]', 'unrecognized type: bool'],
    [
      { metadata: { labels: { a: {} } } },
      'map[metadata:map[labels:map[a:map[]]]]',
      'unrecognized type: string',
    ],
    [{ binaryData: { a: 1 } }, 'map[binaryData:map[a:1]]', 'cannot restore slice from int64'],
  ])('of a wrong type is quoted, with the words of the converter: %j', async (body, quoted, why) => {
    const message = ` "" is invalid: patch: Invalid value: "${quoted}": ${why}`;
    const reply = await patchConfigMap(body, strategicPatch);
    expectFailure(reply, 422, 'Invalid', message, { causes: [expect.anything()] });
  });

  it('with unknown fields is quoted when it is strict: what stands twice first, then the fields by name', async () => {
    const twice = '{"zzz":1,"aaa":2,"data":{"a":"1","a":"2"}}';
    const reply = await patchConfigMap(twice, strategicPatch, '?fieldValidation=Strict');
    expectFailure(
      reply,
      422,
      'Invalid',
      ' "" is invalid: patch: Invalid value: "map[aaa:2 data:map[a:2] zzz:1]": strict decoding error: duplicate field "data.a", unknown field "aaa", unknown field "zzz"',
      { causes: [expect.anything()] },
    );
  });

  it('that is no object', async () => {
    const problem = (type: string): string =>
      `json: cannot unmarshal ${type} into Go value of type map[string]interface {}`;
    expectFailure(await patchConfigMap([], strategicPatch), 400, 'BadRequest', problem('array'));
    expectFailure(await patchConfigMap('"x"', strategicPatch), 400, 'BadRequest', problem('string'));
    expect((await patchConfigMap('null', strategicPatch)).status).toBe(200);
  });
});
