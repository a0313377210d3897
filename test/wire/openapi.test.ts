/** OpenAPI, Swagger 1.2 and aggregated discovery as clients ask for them. Wire contract, sections 3.4, 3.7, 3.8. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { samples } from '../contract/samples.ts';
import { type Json, useCluster } from '../support/http.ts';

const client = useCluster();

const asked = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const answered = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

describe('/openapi/v2', () => {
  it('is protobuf for kubectl, with a type that Go can read', async () => {
    const reply = await client.get('/openapi/v2?timeout=32s', { Accept: asked });
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe(answered);
    expect(reply.headers.vary).toMatch(/^Accept\b/);
    // The version of the specification, in field 1.
    expect(reply.bytes.subarray(0, 5)).toEqual(Buffer.from('\x0a\x032.0'));
    const old = await client.get('/swagger-2.0.0.pb-v1');
    expect(old.headers['content-type']).toBe(answered);
    expect(old.bytes.equals(reply.bytes)).toBe(true);
  });

  it.each([
    undefined,
    '*/*',
    'application/json',
    'text/html, application/json;q=0.9',
    `application/json, ${asked}`,
  ])('is JSON for Accept: %s', async (accept) => {
    const reply = await client.get('/openapi/v2', accept ? { Accept: accept } : {});
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.body).toMatchObject({ swagger: '2.0', info: { title: 'Kubernetes' } });
    expect(reply.body.definitions['io.k8s.api.core.v1.Pod'].type).toBe('object');
  });

  it('is nothing else', async () => {
    expect((await client.get('/openapi/v2', { Accept: 'text/html' })).status).toBe(406);
    expect((await client.post('/openapi/v2', {})).status).toBe(405);
  });

  it.each([asked, 'application/json'])('is not sent again to who has it (%s)', async (accept) => {
    const first = await client.get('/openapi/v2', { Accept: accept });
    const etag = first.headers.etag!;
    expect(etag).toMatch(/^"[0-9A-F]+"$/);
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await client.get('/openapi/v2', { Accept: accept, 'If-None-Match': tags });
      expect(again.status).toBe(304);
      expect(again.bytes).toHaveLength(0);
      expect(again.headers.etag).toBe(etag);
    }
    const other = await client.get('/openapi/v2', { Accept: accept, 'If-None-Match': '"other"' });
    expect(other.status).toBe(200);
  });

  it('has another ETag in each form', async () => {
    const [pb, json] = await Promise.all(
      [asked, 'application/json'].map((accept) => client.get('/openapi/v2', { Accept: accept })),
    );
    expect(pb!.headers.etag).not.toBe(json!.headers.etag);
  });

  it('is compressed for those who take it', async () => {
    const plain = await client.get('/openapi/v2');
    const packed = await client.get('/openapi/v2', { 'Accept-Encoding': 'gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 4);
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    const refused = await client.get('/openapi/v2', { 'Accept-Encoding': 'br, gzip;q=0' });
    expect(refused.headers['content-encoding']).toBeUndefined();
  });

  it('can be asked for its head alone', async () => {
    const head = await client.request('HEAD', '/openapi/v2');
    expect(head.status).toBe(200);
    expect(head.bytes).toHaveLength(0);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(100_000);
  });
});

describe('/openapi/v3', () => {
  it('lists a document for every version that is served', async () => {
    const { body, headers } = await client.get('/openapi/v3?timeout=32s', {
      Accept: 'application/json, */*',
    });
    expect(headers['content-type']).toBe('application/json');
    const groups = (await client.get('/apis')).body.groups.flatMap(({ versions }: Json) =>
      versions.map(({ groupVersion }: Json) => `apis/${groupVersion}`),
    );
    expect(Object.keys(body.paths)).toEqual(['api/v1', ...groups]);
    for (const [name, { serverRelativeURL }] of Object.entries<Json>(body.paths)) {
      expect(serverRelativeURL).toMatch(new RegExp(`^/openapi/v3/${name}\\?hash=[0-9A-F]+$`));
      const document = await client.get(serverRelativeURL);
      expect(document.body.openapi).toBe('3.0.0');
    }
  });

  it('may be kept for good by its hash, and is checked again without', async () => {
    const { body } = await client.get('/openapi/v3');
    const location = body.paths['api/v1'].serverRelativeURL;
    const hash = new URL(location, client.url).searchParams.get('hash');
    const byHash = await client.get(`${location}&timeout=32s`, { Accept: 'application/json' });
    expect(byHash.headers).toMatchObject({ 'cache-control': 'public, immutable', etag: `"${hash}"` });
    expect(byHash.headers.vary).toMatch(/^Accept\b/);
    const inAYear = Date.now() + 365 * 24 * 3600 * 1000;
    expect(Math.abs(Date.parse(byHash.headers.expires!) - inAYear)).toBeLessThan(60_000);
    const without = await client.get('/openapi/v3/api/v1');
    expect(without.bytes.equals(byHash.bytes)).toBe(true);
    expect(without.headers['cache-control']).toBe('no-cache, private');
    expect((await client.get('/openapi/v3/api/v1', { 'If-None-Match': `"${hash}"` })).status).toBe(304);
  });

  it('leads from an old hash to the new one', async () => {
    const reply = await client.get('/openapi/v3/api/v1?hash=OLD');
    expect(reply.status).toBe(301);
    expect(reply.headers.location).toBe(
      (await client.get('/openapi/v3')).body.paths['api/v1'].serverRelativeURL,
    );
  });

  it.each(['/openapi/v3/api/v2', '/openapi/v3/apis/nope/v1', '/openapi', '/openapi/v4', '/swaggerapi/nope'])(
    'has nothing at %s',
    async (path) => {
      expect((await client.get(path)).status).toBe(404);
    },
  );
});

/** Validates as kubectl 1.1 does: its first complaint, or undefined. */
function complaint(models: Json, at: string, type: string, value: Json): string | undefined {
  const model = models[type];
  if (!model) return `couldn't find type: ${type}`;
  if (Object.keys(model.properties).length === 0) return undefined;
  for (const name of model.required ?? []) if (value[name] === undefined) return `${at}.${name} is required`;
  for (const [name, field] of Object.entries(value)) {
    if (!model.properties[name]) return `found invalid field ${name} for ${type}`;
    const found = fieldComplaint(models, `${at}.${name}`, model.properties[name], field);
    if (found) return found;
  }
  return undefined;
}

function fieldComplaint(
  models: Json,
  at: string,
  { $ref, type, items }: Json,
  value: Json,
): string | undefined {
  const wrong = `${at} is no ${type}`;
  if ($ref && /^v.+\..*/.test($ref)) return complaint(models, at, $ref, value);
  switch (type) {
    case 'any':
      return undefined;
    case 'array':
      if (!Array.isArray(value)) return wrong;
      return value.map((item, i) => fieldComplaint(models, `${at}[${i}]`, items, item)).find(Boolean);
    case 'string':
      return ['string', 'number'].includes(typeof value) ? undefined : wrong;
    case 'integer':
      return typeof value === 'number' ? undefined : wrong;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : wrong;
    default:
      return `unexpected type ${type ?? $ref}`;
  }
}

describe('/swaggerapi', () => {
  it('lists declarations, and says where the server is', async () => {
    const listing = (await client.get('/swaggerapi/')).body;
    expect(listing.apis).toEqual(
      expect.arrayContaining([
        { path: '/api/v1', description: 'API at /api/v1' },
        { path: '/apis/extensions/v1beta1', description: 'API at /apis/extensions/v1beta1' },
      ]),
    );
    const declaration = (await client.get('/swaggerapi/api/v1')).body;
    expect(declaration.basePath).toBe(client.url);
    // Independent of the client's Host header.
    const other = await client.get('/swaggerapi/api/v1', { Host: 'localhost:1' });
    expect(other.body.basePath).toBe(client.url);
  });

  it('lets kubectl 1.1 accept every sample, and find what is wrong', async () => {
    const core = (await client.get('/swaggerapi/api/v1')).body.models;
    const extensions = (await client.get('/swaggerapi/apis/extensions/v1beta1')).body.models;
    for (const [kind, sample] of Object.entries(samples)) {
      const models = core[`v1.${kind}`] ? core : extensions;
      const version = models === core ? 'v1' : 'v1beta1';
      const manifest = { kind, apiVersion: version, ...sample.manifest('ns', 'a') };
      expect(complaint(models, kind, `${version}.${kind}`, manifest)).toBeUndefined();
    }
    const pod = (container: Json) => ({
      kind: 'Pod',
      metadata: { name: 'a', labels: { a: 'b' } },
      spec: { nodeSelector: { disk: 'ssd' }, containers: [container] },
    });
    const limits = { cpu: '1', memory: '64Mi' };
    const fine = { name: 'c', resources: { limits }, livenessProbe: { tcpSocket: { port: 80 } } };
    expect(complaint(core, 'Pod', 'v1.Pod', pod(fine))).toBeUndefined();
    expect(complaint(core, 'Pod', 'v1.Pod', pod({ ...fine, imagee: 'x' }))).toBe(
      'found invalid field imagee for v1.Container',
    );
    expect(complaint(core, 'Pod', 'v1.Pod', pod({ image: 'x' }))).toBe(
      'Pod.spec.containers[0].name is required',
    );
  });
});

describe('aggregated discovery', () => {
  const type = (version: string) =>
    `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  const accept = `${type('v2')},${type('v2beta1')},application/json`;

  /** The aggregated format split into lists, as client-go does. */
  async function takenApart(path: string, apiVersion: string): Promise<Json[]> {
    const { body } = await client.get(path, { Accept: accept });
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : [undefined, apiVersion];
    const item = body.items.find(({ metadata }: Json) => metadata.name === group);
    const { resources } = item.versions.find((one: Json) => one.version === version);
    const kindOf = ({ responseKind: { group, version, kind } }: Json) => ({
      ...(group ? { group, version } : {}),
      kind,
    });
    const list = resources.flatMap((whole: Json) => [
      ...(whole.responseKind.kind
        ? [
            {
              name: whole.resource,
              singularName: whole.singularResource,
              namespaced: whole.scope === 'Namespaced',
              ...kindOf(whole),
              verbs: whole.verbs,
              ...(whole.shortNames ? { shortNames: whole.shortNames } : {}),
              ...(whole.categories ? { categories: whole.categories } : {}),
            },
          ]
        : []),
      ...(whole.subresources ?? []).map((part: Json) => ({
        name: `${whole.resource}/${part.subresource}`,
        singularName: '',
        namespaced: whole.scope === 'Namespaced',
        ...kindOf(part),
        verbs: part.verbs,
      })),
    ]);
    return list;
  }

  /** The aggregated form has no place for it. */
  const withoutHash = (resources: Json[]): Json[] =>
    resources.map(({ storageVersionHash: _, ...resource }) => resource);

  it('says all that the plain form says', async () => {
    expect(await takenApart('/api', 'v1')).toEqual(withoutHash((await client.get('/api/v1')).body.resources));
    for (const { versions } of (await client.get('/apis')).body.groups)
      for (const { groupVersion } of versions)
        expect(await takenApart('/apis', groupVersion)).toEqual(
          withoutHash((await client.get(`/apis/${groupVersion}`)).body.resources),
        );
  });

  it('lists the groups in the same order, and the core without a name', async () => {
    const core = (await client.get('/api', { Accept: accept })).body;
    expect(core).toMatchObject({
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
    });
    expect(core.items).toHaveLength(1);
    expect(core.items[0].metadata).toEqual({});
    expect(core.items[0].versions[0]).toMatchObject({ version: 'v1', freshness: 'Current' });
    const names = (await client.get('/apis', { Accept: accept })).body.items.map(
      ({ metadata }: Json) => metadata.name,
    );
    expect(names).toEqual((await client.get('/apis')).body.groups.map(({ name }: Json) => name));
  });

  it('comes in the version asked for, and not to who prefers the plain form', async () => {
    for (const path of ['/api', '/apis']) {
      const newest = await client.get(path, { Accept: accept });
      expect(newest.headers).toMatchObject({
        'content-type': type('v2'),
        'cache-control': 'public',
        vary: 'Accept',
      });
      const beta = await client.get(path, { Accept: `${type('v2beta1')},application/json` });
      expect(beta.headers['content-type']).toBe(type('v2beta1'));
      expect(beta.body.apiVersion).toBe('apidiscovery.k8s.io/v2beta1');
      for (const other of [
        undefined,
        '*/*',
        `application/json,${type('v2')}`,
        `${type('v9')},application/json`,
      ]) {
        const plain = await client.get(path, other ? { Accept: other } : {});
        expect(plain.headers['content-type']).toBe('application/json');
        expect(plain.headers.vary).toBe('Accept');
        expect(plain.body.kind).toMatch(/^API(Versions|GroupList)$/);
      }
    }
  });

  it('is not sent again to who has it', async () => {
    for (const path of ['/api', '/apis']) {
      const { headers } = await client.get(path, { Accept: accept });
      const again = await client.get(path, { Accept: accept, 'If-None-Match': headers.etag! });
      expect(again.status).toBe(304);
      expect(again.headers.etag).toBe(headers.etag);
    }
  });
});
