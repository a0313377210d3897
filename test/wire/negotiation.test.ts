/** Content negotiation of answers and bodies. Wire contract, section 4. */
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Json, useCluster } from '../support/http.ts';
import { expectFailure } from './failure.ts';
import { configMap, configMaps, created } from './objects.ts';

const client = useCluster();
const path = `${configMaps}/c`;
const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const asPartial = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const asPartialList = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

beforeAll(async () => {
  await created(client, configMaps, configMap('c'));
});

describe('Accept', () => {
  for (const accept of [
    '*/*',
    'application/json',
    'application/json;charset=utf-8',
    'application/json;whatever=1',
    'application/vnd.kubernetes.protobuf;q=0,application/json',
    'application/vnd.kubernetes.protobuf;q=0.5,application/json',
    'application/vnd.kubernetes.protobuf;stream=nonsense,application/json',
    'application/cbor,application/json',
    'application/json, */*;q=0.8',
    'text/html, */*;q=0.1',
    'text/plain;q=1, application/json;q=0.2',
  ])
    it(`${accept} gets JSON`, async () => {
      const reply = await client.get(path, { Accept: accept });
      expect(reply.status).toBe(200);
      expect(reply.headers['content-type']).toBe('application/json');
      expect(reply.text).toBe(`${JSON.stringify(reply.body)}\n`);
    });

  it('application/json;pretty=1 gets pretty JSON', async () => {
    const reply = await client.get(path, { Accept: 'application/json;pretty=1' });
    expect(reply.text).toBe(JSON.stringify(reply.body, null, 2));
  });

  it('application/yaml gets YAML', async () => {
    const reply = await client.get(path, { Accept: 'application/yaml' });
    expect(reply.headers['content-type']).toBe('application/yaml');
    expect(parse(reply.text)).toEqual((await client.get(path)).body);
    const list = await client.get(configMaps, { Accept: 'application/yaml' });
    expect(parse(list.text).kind).toBe('ConfigMapList');
  });

  it('is tried by quality, then by position, past what cannot be had', async () => {
    const yamlFirst = await client.get(path, { Accept: 'application/json;q=0.5,application/yaml' });
    expect(yamlFirst.headers['content-type']).toBe('application/yaml');
    const tableFirst = await client.get(path, { Accept: `${asTable},application/json` });
    expect(tableFirst.body.kind).toBe('Table');
    const odd = 'application/json;as=Nonsense;v=v1;g=meta.k8s.io,application/json';
    expect((await client.get(path, { Accept: odd })).body.kind).toBe('ConfigMap');
  });

  const unknown =
    /^406: Not Acceptable\n\nAvailable representations: application\/json, application\/yaml, application\/vnd.kubernetes.protobuf$/;
  for (const accept of [
    'text/plain',
    'application/xml',
    'application/*',
    'application/cbor',
    'application/cbor-seq',
  ])
    it(`${accept} is not acceptable`, async () => {
      expectFailure(await client.get(path, { Accept: accept }), 406, 'NotAcceptable', unknown, {});
    });

  it('refuses parameters it cannot serve', async () => {
    const only = /^only the following media types are accepted: application\/json, application\/yaml/;
    const odd = 'application/json;as=Nonsense;v=v1;g=meta.k8s.io';
    expectFailure(await client.get(path, { Accept: odd }), 406, 'NotAcceptable', only);
    expectFailure(
      await client.get(`${configMaps}?watch=true`, { Accept: odd }),
      406,
      'NotAcceptable',
      /^only the following media types are accepted: application\/json;stream=watch/,
    );
  });

  it('decides before anything is written', async () => {
    const refused = await client.post(configMaps, configMap('unseen'), { Accept: 'text/plain' });
    expect(refused.status).toBe(406);
    expect((await client.get(`${configMaps}/unseen`)).status).toBe(404);
  });

  it('does not change errors', async () => {
    for (const accept of [asTable, asPartial, 'application/yaml'])
      expectFailure(
        await client.get(`${configMaps}/gone`, { Accept: accept }),
        404,
        'NotFound',
        'configmaps "gone" not found',
        { name: 'gone', kind: 'configmaps' },
      );
  });
});

describe('pretty', () => {
  const isPretty = async (query: string, headers = {}, at = path): Promise<boolean> => {
    const { text, body } = await client.get(`${at}${query}`, headers);
    expect([JSON.stringify(body, null, 2), `${JSON.stringify(body)}\n`]).toContain(text);
    return text.includes('\n  ');
  };

  it('is true, 1 or t', async () => {
    for (const value of ['true', '1', 't', 'T', 'TRUE', 'True'])
      expect(await isPretty(`?pretty=${value}`)).toBe(true);
    for (const value of ['false', '0', 'f', 'yes', '', 'nonsense'])
      expect(await isPretty(`?pretty=${value}`)).toBe(false);
  });

  it('is what curl, Wget and browsers get', async () => {
    for (const agent of ['curl/8.1', 'Wget/1.21', 'Mozilla/5.0 (X11)'])
      expect(await isPretty('', { 'User-Agent': agent })).toBe(true);
    expect(await isPretty('', { 'User-Agent': 'kubectl/v1.36.0' })).toBe(false);
  });

  it('in the query wins over everything', async () => {
    expect(await isPretty('?pretty=false', { 'User-Agent': 'curl/8.1' })).toBe(false);
    expect(await isPretty('?pretty=0', { Accept: 'application/json;pretty=1' })).toBe(false);
  });

  it('applies to errors', async () => {
    expect(await isPretty('?pretty=true', {}, `${configMaps}/gone`)).toBe(true);
    expect(await isPretty('', {}, `${configMaps}/gone`)).toBe(false);
  });

  it('never applies to a watch', async () => {
    const watch = await client.watch(`${configMaps}?watch=true&pretty=true`, { 'User-Agent': 'curl/8.1' });
    await watch.next();
    expect(watch.lines[0]).toMatch(/^{"type":"ADDED","object":{.*}}$/);
    watch.close();
  });
});

describe('gzip', () => {
  const gzip = { 'Accept-Encoding': 'gzip' };

  it('is for long answers to clients that take it', async () => {
    await created(client, configMaps, configMap('long', { text: 'x'.repeat(200_000) }));
    const plain = await client.get(`${configMaps}/long`);
    expect(plain.headers['content-encoding']).toBeUndefined();
    for (const where of [`${configMaps}/long`, configMaps]) {
      const reply = await client.get(where, gzip);
      expect(reply.headers['content-encoding']).toBe('gzip');
      expect(reply.headers.vary).toBe('Accept-Encoding');
      expect(JSON.parse(gunzipSync(reply.bytes).toString('utf8')).apiVersion).toBe('v1');
    }
  });

  for (const accept of ['application/json', 'application/vnd.kubernetes.protobuf'])
    it(`has the same list as without it, before and after changes, in ${accept}`, async () => {
      // Items are compressed once per version; the revision in the head moves with every object of any kind.
      const same = async (change: string): Promise<Buffer> => {
        const plain = await client.get(configMaps, { Accept: accept });
        for (let i = 0; i < 3; i++) {
          const zipped = await client.get(configMaps, { Accept: accept, ...gzip });
          expect(zipped.headers['content-encoding'], change).toBe('gzip');
          expect(zipped.headers['content-length'], change).toBe(String(zipped.bytes.length));
          expect(gunzipSync(zipped.bytes).equals(plain.bytes), change).toBe(true);
        }
        return plain.bytes;
      };
      const first = await same('none');
      await created(client, '/api/v1/namespaces/default/secrets', {
        metadata: { name: `other-${accept.length}` },
      });
      const second = await same('another kind');
      expect(second.equals(first)).toBe(false);
      await created(client, configMaps, configMap(`more-${accept.length}`, { text: 'ü"\\'.repeat(50_000) }));
      expect((await same('one more object')).length).toBeGreaterThan(second.length);
    });

  it('is not for short answers, refusals of it, and watches', async () => {
    expect((await client.get(path, gzip)).headers['content-encoding']).toBeUndefined();
    const refusing = await client.get(`${configMaps}/long`, { 'Accept-Encoding': 'gzip;q=0' });
    expect(refusing.headers['content-encoding']).toBeUndefined();
    const watch = await client.watch(`${configMaps}?watch=true`, gzip);
    expect(watch.headers['content-encoding']).toBeUndefined();
    watch.close();
  });
});

describe('metadata alone', () => {
  const metaOf = async (): Promise<Json> => (await client.get(path)).body.metadata;

  it('can be had of one object', async () => {
    const reply = await client.get(path, { Accept: asPartial });
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.body).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: await metaOf(),
    });
    const beta = await client.get(path, { Accept: asPartial.replace('v=v1', 'v=v1beta1') });
    expect(beta.body.apiVersion).toBe('meta.k8s.io/v1beta1');
  });

  it('can be had of a list', async () => {
    const { body } = await client.get(`${configMaps}?fieldSelector=metadata.name=c`, {
      Accept: asPartialList,
    });
    expect(body).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: expect.any(String) },
      items: [{ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: await metaOf() }],
    });
  });

  it('can be watched', async () => {
    const watch = await client.watch(`${configMaps}?watch=true&fieldSelector=metadata.name=c`, {
      Accept: asPartial,
    });
    expect(await watch.next()).toEqual({
      type: 'ADDED',
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: await metaOf() },
    });
    watch.close();
  });

  it('of the wrong shape is refused', async () => {
    expectFailure(
      await client.get(path, { Accept: asPartialList }),
      406,
      'NotAcceptable',
      'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)',
    );
    expectFailure(
      await client.get(configMaps, { Accept: asPartial }),
      406,
      'NotAcceptable',
      'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
    );
  });
});
