/** Proves that definitions as projects publish them are taken by every verb, and that their kinds work. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Client, type Json, mergePatch } from '../support/http.ts';
import { define, definitionOf, definitionsPath, objectOf, objectsPath } from './definition.ts';

const applyType = 'application/apply-patch+yaml';
const jsonPatch = 'application/json-patch+json';
const strategicPatch = 'application/strategic-merge-patch+json';

let cluster: Cluster;
let client: Client;
beforeAll(async () => {
  cluster = await start({ port: 0, like: 'kubernetes', controllers: false });
  client = new Client(cluster.url);
});
afterAll(() => cluster.close());

/** A definition with a kind of each union in its schema. */
function withUnions(plural: string, kind: string): Json {
  const definition = definitionOf(plural, kind, [
    {
      name: 'v1',
      spec: {
        list: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
        lists: { type: 'array', items: { type: 'array', items: { type: 'integer' } } },
        map: { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
        anything: { type: 'object', additionalProperties: true },
        port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
        level: { type: 'string', enum: ['low', 'high'], default: 'low' },
      },
    },
  ]);
  return definition;
}

describe('a definition with unions in its schema', () => {
  const path = `${definitionsPath}/barges.test.example.com`;
  const definition = withUnions('barges', 'Barge');
  const specOf = ({ body }: { body: Json }): Json =>
    body.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties;

  it('is applied, twice, and by another manager', async () => {
    const first = await client.patch(`${path}?fieldManager=one`, definition, applyType);
    expect(first.status, first.text).toBeLessThan(300);
    expect(specOf(first)).toMatchObject({ map: { additionalProperties: { items: { type: 'string' } } } });
    expect(specOf(first)).toMatchObject({ anything: { additionalProperties: true } });
    expect((await client.patch(`${path}?fieldManager=one`, definition, applyType)).status).toBe(200);
    expect((await client.patch(`${path}?fieldManager=two`, definition, applyType)).status).toBe(200);
  });

  it('is changed by every patch and by an update', async () => {
    const version = {
      ...definition.spec.versions[0],
      additionalPrinterColumns: [{ name: 'Level', type: 'string', jsonPath: '.spec.level' }],
    };
    const versions = { spec: { versions: [version] } };
    const one = await client.patch(path, versions, mergePatch);
    expect(one.body.spec.versions[0].additionalPrinterColumns).toHaveLength(1);
    expect((await client.patch(path, { spec: definition.spec }, strategicPatch)).status).toBe(200);
    const at = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/more';
    const added = { op: 'add', path: at, value: { type: 'array', items: { type: 'string' } } };
    expect(specOf(await client.patch(path, [added], jsonPatch)).more.items).toEqual({ type: 'string' });
    const { body } = await client.get(path);
    delete body.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.more;
    expect((await client.put(path, body)).status).toBe(200);
  });

  it('is refused in words when a union has a value of the wrong type', async () => {
    const wrong = structuredClone(definition);
    wrong.metadata.name = 'wrongs.test.example.com';
    wrong.spec.names = { plural: 'wrongs', kind: 'Wrong' };
    wrong.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.list.items = 5;
    const wrongPath = `${definitionsPath}/wrongs.test.example.com?fieldManager=one`;
    const refused = await client.patch(wrongPath, wrong, applyType);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.body.kind).toBe('Status');
    expect((await client.post(definitionsPath, wrong)).status).toBe(400);
  });
});

describe('rules', () => {
  it('read fields that are words of the language, plain and escaped, at every depth', async () => {
    const ref = { type: 'object', properties: { namespace: { type: 'string' }, if: { type: 'integer' } } };
    const rule = (text: string): Json => ({ rule: text, message: text });
    const definition = definitionOf('links', 'Link', [
      {
        name: 'v1',
        spec: { refs: { type: 'array', maxItems: 5, items: ref }, namespace: { type: 'string' } },
      },
    ]);
    const { spec } = definition.spec.versions[0].schema.openAPIV3Schema.properties;
    spec['x-kubernetes-validations'] = [
      rule("!has(self.namespace) || self.namespace != 'bad'"),
      rule("!has(self.__namespace__) || self.__namespace__ != 'worse'"),
      rule('!has(self.refs) || self.refs.all(r, !has(r.if) || r.if > 0 && r.__if__ > 1)'),
      rule("!has(self.refs) || self.refs.all(r, r.?namespace.orValue('') != 'hidden')"),
      rule('!has(oldSelf.namespace) || self.__namespace__ == oldSelf.namespace'),
    ];
    spec.properties.refs.items['x-kubernetes-validations'] = [rule("self.namespace.startsWith('n')")];
    await define(client, definition);
    const create = (name: string, content: Json) =>
      client.post(objectsPath('links'), objectOf('Link', name, content));
    expect((await create('good', { namespace: 'fine', refs: [{ namespace: 'n1', if: 2 }] })).status).toBe(
      201,
    );
    const message = async (content: Json) => (await create('refused', content)).body.message;
    expect(await message({ namespace: 'bad' })).toContain("self.namespace != 'bad'");
    expect(await message({ namespace: 'worse' })).toContain("self.__namespace__ != 'worse'");
    expect(await message({ refs: [{ namespace: 'n', if: 1 }] })).toContain('r.__if__ > 1');
    expect(await message({ refs: [{ namespace: 'x' }] })).toContain("self.namespace.startsWith('n')");
    const moved = await client.patch(
      `${objectsPath('links')}/good`,
      { spec: { namespace: 'other' } },
      mergePatch,
    );
    expect(moved.body.message).toContain('self.__namespace__ == oldSelf.namespace');
  });

  it('may look at keys of maps, and at parts of texts', async () => {
    const definition = definitionOf('sails', 'Sail', [
      {
        name: 'v1',
        spec: {
          labels: { type: 'object', additionalProperties: { type: 'string' } },
          version: { type: 'string', maxLength: 64 },
        },
      },
    ]);
    const { spec } = definition.spec.versions[0].schema.openAPIV3Schema.properties;
    spec['x-kubernetes-validations'] = [
      { rule: "self.labels.all(key, key.matches('^[a-z0-9]([-a-z0-9./]*[a-z0-9])?$') && key.size() < 317)" },
      { rule: "self.version.split('.').all(part, part.matches('^[0-9]+$'))" },
    ];
    await define(client, definition);
    const good = objectOf('Sail', 'good', { labels: { a: 'b' }, version: '1.2' });
    expect((await client.post(objectsPath('sails'), good)).status).toBe(201);
    const bad = objectOf('Sail', 'bad', { labels: { A: 'b' }, version: '1.x' });
    expect((await client.post(objectsPath('sails'), bad)).status).toBe(422);
  });
});

describe('numbers of 64 bits and fractions in a schema', () => {
  const spec = {
    nanos: {
      type: 'integer',
      format: 'int64',
      maximum: 9223372036854774807n,
      minimum: -9223372036854774807n,
    },
    ratio: { type: 'number', minimum: 0.25, maximum: 99.5, multipleOf: 0.25 },
    long: { type: 'string', maxLength: 9007199254740993n, minLength: 0 },
    many: { type: 'array', items: { type: 'integer' }, maxItems: 9007199254740993n },
    map: { type: 'object', additionalProperties: { type: 'string' }, maxProperties: 9007199254740993n },
    preset: { type: 'integer', format: 'int64', default: 9007199254740993n, enum: [9007199254740993n, 5] },
    step: { type: 'integer', format: 'int64', multipleOf: 9007199254740993n },
  };
  /** With whole numbers in full, as texts of projects have them. */
  const text = (value: Json): string =>
    JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `int:${inner}` : inner)).replace(
      /"int:(-?\d+)"/g,
      '$1',
    );
  const json = { 'Content-Type': 'application/json' };
  const path = objectsPath('gauges');

  it('are taken, kept and used', async () => {
    const definition = definitionOf('gauges', 'Gauge', [{ name: 'v1', spec }]);
    const { properties } = definition.spec.versions[0].schema.openAPIV3Schema;
    properties.spec['x-kubernetes-validations'] = [
      { rule: "self.many.all(n, n > 0) && self.map.all(k, k != '')" },
      { rule: 'self.nanos < 9223372036854774000' },
    ];
    // Without bounds of any use, the first rule is as dear as without any.
    const dear = await client.request('POST', definitionsPath, text(definition), json);
    expect(dear.status).toBe(422);
    expect(dear.body.message).toContain('estimated rule cost exceeds budget');
    properties.spec['x-kubernetes-validations'].shift();
    const made = await client.request('POST', definitionsPath, text(definition), json);
    expect(made.status, made.text).toBe(201);
    expect(made.text).toContain('"maximum":9223372036854775000');
    expect(made.text).toContain('"maxLength":9007199254740993');
    const applied = await client.request(
      'PATCH',
      `${definitionsPath}/gauges.test.example.com?fieldManager=one&force=true`,
      text(definition),
      { 'Content-Type': applyType },
    );
    expect(applied.status, applied.text).toBe(200);
  });

  it('check objects', async () => {
    const create = (content: string) =>
      client.request(
        'POST',
        path,
        `{"apiVersion":"test.example.com/v1","kind":"Gauge","metadata":{"generateName":"g-"},"spec":${content}}`,
        json,
      );
    const good = await create(
      '{"nanos":9223372036854773000,"ratio":0.75,"long":"x","many":[1],"map":{"a":"b"}}',
    );
    expect(good.status, good.text).toBe(201);
    expect(good.text).toContain('"preset":9007199254740993');
    const refusal = async (content: string): Promise<string> => {
      const { status, body } = await create(content);
      expect(status).toBe(422);
      return body.message;
    };
    expect(await refusal('{"nanos":9223372036854775807}')).toContain(
      'should be less than or equal to 9223372036854774784',
    );
    expect(await refusal('{"nanos":1,"ratio":0.3}')).toContain('should be a multiple of 0.25');
    expect(await refusal('{"nanos":1,"preset":9007199254740992}')).toContain('Unsupported value');
    expect(await refusal('{"nanos":1,"step":9007199254740995}')).toContain('should be a multiple of');
  });

  it.each(['/openapi/v2', '/openapi/v3', '/openapi/v3/apis/test.example.com/v1'])(
    'are in %s',
    async (place) => {
      const { status, text: shown } = await client.get(place);
      expect(status).toBe(200);
      if (place !== '/openapi/v3') expect(shown).toMatch(/"default": ?9007199254740993/);
      if (place !== '/openapi/v3') expect(shown).toMatch(/"maxItems": ?9007199254740993/);
    },
  );

  it('are in the protobuf form of OpenAPI 2', async () => {
    const accept = { Accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' };
    const { status, text: shown } = await client.get('/openapi/v2', accept);
    expect(status).toBe(200);
    expect(shown).toContain('9007199254740993');
  });
});

describe('defaults of a status', () => {
  const conditions = [{ type: 'Accepted', status: 'Unknown', reason: 'Pending' }];
  beforeAll(async () => {
    const definition = definitionOf('docks', 'Dock', [{ name: 'v1' }]);
    const { properties } = definition.spec.versions[0].schema.openAPIV3Schema;
    const text = { type: 'string' };
    const condition = { type: 'object', properties: { type: text, status: text, reason: text } };
    properties.status = {
      type: 'object',
      default: { conditions },
      properties: {
        conditions: { type: 'array', items: condition },
        phase: { type: 'string', default: 'New' },
      },
    };
    await define(client, definition);
  });
  const status = { conditions, phase: 'New' };
  const path = objectsPath('docks');

  it('are shown by whatever creates, and kept by what changes', async () => {
    const sent = { ...objectOf('Dock', 'sent'), status: { phase: 'Mine' } };
    expect((await client.post(path, sent)).body.status).toEqual(status);
    expect((await client.post(path, objectOf('Dock', 'plain'))).body.status).toEqual(status);
    expect((await client.get(`${path}/plain`)).body.status).toEqual(status);
    const applied = await client.patch(
      `${path}/applied?fieldManager=m`,
      objectOf('Dock', 'applied'),
      applyType,
    );
    expect(applied.body.status).toEqual(status);
    const owned = JSON.stringify(applied.body.metadata.managedFields);
    expect(owned).not.toContain('f:status');
    const changed = await client.patch(`${path}/plain`, { spec: { size: 2 } }, mergePatch);
    expect(changed.body).toMatchObject({ status, metadata: { generation: 2 } });
    const own = await client.patch(`${path}/plain/status`, { status: { phase: 'Done' } }, mergePatch);
    expect(own.body.status).toEqual({ conditions, phase: 'Done' });
    const emptied = await client.patch(`${path}/plain/status`, { status: null }, mergePatch);
    expect(emptied.body.status).toEqual(status);
    const dry = await client.post(`${path}?dryRun=All`, objectOf('Dock', 'dry'));
    expect(dry.body.status).toEqual(status);
  });
});

describe('an applied object', () => {
  it('owns nothing where it has only empty sets', async () => {
    const names = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' };
    const inner = { type: 'object', properties: { names } };
    await define(client, definitionOf('ropes', 'Rope', [{ name: 'v1', spec: { names, inner } }]));
    const path = `${objectsPath('ropes')}/one`;
    await client.patch(`${path}?fieldManager=a`, objectOf('Rope', 'one', { size: 1 }), applyType);
    const empty = objectOf('Rope', 'one', { names: [], inner: { names: [] } });
    const { body } = await client.patch(`${path}?fieldManager=b`, empty, applyType);
    const fields = body.metadata.managedFields.map(({ manager, fieldsV1 }: Json) => [manager, fieldsV1]);
    expect(fields).toEqual([['a', { 'f:spec': { 'f:size': {} } }]]);
    const emptyObject = objectOf('Rope', 'one', { inner: {} });
    const other = await client.patch(`${path}?fieldManager=c`, emptyObject, applyType);
    const last = other.body.metadata.managedFields.find(({ manager }: Json) => manager === 'c');
    expect(last.fieldsV1).toEqual({ 'f:spec': { 'f:inner': {} } });
  });
});

describe('documents of kinds', () => {
  it('show no more than an object in OpenAPI 2 where any field may be', async () => {
    const definition = definitionOf('crates', 'Crate');
    definition.spec.versions[0].schema.openAPIV3Schema = {
      type: 'object',
      description: 'Holds anything.',
      'x-kubernetes-preserve-unknown-fields': true,
    };
    await define(client, definition);
    const { body } = await client.get('/openapi/v2');
    expect(body.definitions['com.example.test.v1.Crate']).toEqual({
      type: 'object',
      'x-kubernetes-group-version-kind': [{ group: 'test.example.com', kind: 'Crate', version: 'v1' }],
    });
  });

  it('describe apiVersion, kind and metadata in the words that tools look for', async () => {
    const { body } = await client.get('/openapi/v3/apis/test.example.com/v1');
    const { schemas } = body.components;
    const { apiVersion, metadata } = schemas['com.example.test.v1.Crate'].properties;
    expect(apiVersion.description).toContain('APIVersion defines');
    expect(metadata.description).toContain("Standard object's metadata");
    const meta = schemas['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'].properties;
    expect(meta.creationTimestamp.description).toContain('CreationTimestamp is a timestamp');
  });

  it('name the types of schemas, and have the kinds of the metrics API', async () => {
    const { body } = await client.get('/openapi/v3/apis/apiextensions.k8s.io/v1');
    const { schemas } = body.components;
    const prefix = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.';
    const { properties } = schemas[`${prefix}JSONSchemaProps`];
    const reference = (one: Json): string => (one.allOf?.[0] ?? one).$ref.split('.').at(-1);
    expect(reference(properties.enum.items)).toBe('JSON');
    expect(reference(properties.default)).toBe('JSON');
    expect(reference(properties.items)).toBe('JSONSchemaPropsOrArray');
    expect(reference(properties.additionalItems)).toBe('JSONSchemaPropsOrBool');
    expect(reference(properties.additionalProperties)).toBe('JSONSchemaPropsOrBool');
    expect(reference(properties.dependencies.additionalProperties)).toBe('JSONSchemaPropsOrStringArray');
    for (const name of ['JSON', 'JSONSchemaPropsOrArray', 'JSONSchemaPropsOrBool'])
      expect(schemas[prefix + name].description).toBeTruthy();
    const metrics = await client.get('/openapi/v3/apis/metrics.k8s.io/v1beta1');
    const found = metrics.body.components.schemas;
    expect(found['io.k8s.metrics.pkg.apis.metrics.v1beta1.NodeMetrics'].properties.usage).toBeDefined();
    expect(found['io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetricsList'].required).toEqual(['items']);
    const v2 = await client.get('/openapi/v2');
    expect(v2.body.definitions['io.k8s.metrics.pkg.apis.metrics.v1beta1.ContainerMetrics']).toBeDefined();
  });
});
