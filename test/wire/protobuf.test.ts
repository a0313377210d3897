/**
 * Proves that answers in protobuf say what the same answers in JSON say: protobufjs reads objects, lists, watches and errors
 * of every kind. And that odd `Accept` headers get an answer, and change nothing.
 */
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Kind } from '../../src/api/kind/kind.ts';
import { builtinKinds } from '../../src/api/kinds/kinds.ts';
import { type Model, modelOf } from '../../src/api/model/model.ts';
import { dropped, isFlat } from '../../src/api/model/table-objects.fixture.ts';
import {
  decodedDocument,
  decodedEnvelope,
  decodedEvent,
  decodedMessage,
} from '../../src/api/protobuf/protobuf-decoder.fixture.ts';
import type { JsonObject } from '../../src/api/text/object.ts';
import { FrameReader } from '../support/frames.ts';
import { type Headers, type Json, type Reply, useCluster } from '../support/http.ts';
import { homeOf, workloadLabels as labels, validBody, workload } from './kind-bodies.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
const asProtobuf = { Accept: `${protobuf},application/json` };
const partialAs = (kind: string, version = 'v1') => ({
  Accept: `${protobuf};as=${kind};g=meta.k8s.io;v=${version},application/json;as=${kind};g=meta.k8s.io;v=v1`,
});

const client = useCluster({ controllers: false });
const maps = '/api/v1/namespaces/default/configmaps';
const status = modelOf('Status');

/** A value as it is after protobuf, which has no form for unset and empty fields. */
const expected = (model: Model, { kind, apiVersion, ...value }: JsonObject): JsonObject => ({
  ...(kind ? { kind, apiVersion } : {}),
  ...dropped(model, value),
});

const decoded = (reply: Reply, model: Model): JsonObject => {
  expect(reply.headers['content-type']).toBe(protobuf);
  return decodedDocument(reply.bytes, model);
};

/** A list, {1 metadata, 2 items}, whose items are of a model. */
function decodedList(reply: Reply, model: Model): JsonObject {
  expect(reply.headers['content-type']).toBe(protobuf);
  const { kind, apiVersion, raw } = decodedEnvelope(reply.bytes);
  const bytes = Buffer.from(raw);
  const items: JsonObject[] = [];
  let metadata: JsonObject | undefined;
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at++]!;
    let length = 0;
    for (let shift = 0, byte = 0x80; byte >= 0x80; shift += 7) {
      byte = bytes[at++]!;
      length += (byte & 0x7f) * 2 ** shift;
    }
    const message = bytes.subarray(at, at + length);
    if (tag === 0x0a) metadata = decodedMessage(modelOf('ListMeta'), message);
    else items.push(decodedMessage(model, message));
    at += length;
  }
  return { kind, apiVersion, metadata, items };
}

/** Schemas, which are in definitions, are tested in `protobuf-message.test.ts`. */
const kinds = builtinKinds.filter(({ model }) => isFlat(model));

describe.each(kinds.map((kind): [string, Kind] => [`${kind.apiVersion} ${kind.kind}`, kind]))(
  '%s',
  (_name, kind) => {
    const { model } = kind;
    const body = validBody(kind, 'proto');
    const { name } = body.metadata;
    const path = `${homeOf(kind)}/${name}`;

    it('is read, listed and watched as in JSON', async () => {
      const made = await client.post(homeOf(kind), body, asProtobuf);
      if (made.status !== 200) throw new Error(JSON.stringify(decoded(made, status)));
      const whole = (await client.get(path)).body;
      expect(decoded(made, model)).toEqual(expected(model, whole));
      expect(decoded(await client.get(path, asProtobuf), model)).toEqual(expected(model, whole));

      const list = (await client.get(homeOf(kind))).body;
      expect(decodedList(await client.get(homeOf(kind), asProtobuf), model)).toEqual({
        ...list,
        items: list.items.map((item: Json) => expected(model, item)),
      });
      const partial = decoded(await client.get(path, partialAs('PartialObjectMetadata')), modelOf('Pod'));
      const { metadata } = expected(model, whole);
      expect(partial).toEqual({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });

      const from = `fieldSelector=metadata.name%3D${name}&resourceVersion=${list.metadata.resourceVersion}`;
      const watch = `${homeOf(kind)}?watch=true&${from}`;
      const frames = new FrameReader(await client.stream(watch, asProtobuf));
      expect(frames.headers['content-type']).toBe(`${protobuf};stream=watch`);
      const lines = await client.watch(watch);
      await client.patch(path, { metadata: { annotations: { changed: 'yes' } } });
      const deleted = await client.delete(path, undefined, asProtobuf);
      const { kind: answered } = decodedEnvelope(deleted.bytes);
      expect([answered, deleted.headers['content-type']]).toEqual([
        answered === 'Status' ? 'Status' : kind.kind,
        protobuf,
      ]);
      // A namespace waits for its finalizer.
      for (const type of ['MODIFIED', kind.kind === 'Namespace' ? 'MODIFIED' : 'DELETED']) {
        const frame = await frames.next();
        const line = await lines.next();
        expect(frame!.type).toBe(type);
        expect(decodedDocument(frame!.object, model)).toEqual(expected(model, line.object));
      }
      frames.close();
      lines.close();
    });
  },
);

describe('other answers', () => {
  it('are in protobuf, too: reviews, scales, discovery, component statuses, success', async () => {
    const review = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } };
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    expect(
      decoded(
        await client.post(path, review, asProtobuf),
        modelOf('SelfSubjectAccessReview', 'authorization-v1'),
      ),
    ).toMatchObject({ kind: 'SelfSubjectAccessReview', ...review, status: { allowed: true } });

    const deployments = '/apis/apps/v1/namespaces/default/deployments';
    await client.post(deployments, { metadata: { name: 'scaled' }, ...workload });
    const scale = modelOf('Scale', 'autoscaling-v1');
    const json = (await client.get(`${deployments}/scaled/scale`)).body;
    expect(decoded(await client.get(`${deployments}/scaled/scale`, asProtobuf), scale)).toEqual(
      expected(scale, json),
    );

    for (const [at, kind] of [
      ['/api', 'APIVersions'],
      ['/apis', 'APIGroupList'],
      ['/apis/apps', 'APIGroup'],
      ['/apis/apps/v1', 'APIResourceList'],
    ] as const) {
      const { kind: _kind, apiVersion: _version, ...value } = (await client.get(at)).body;
      expect(decoded(await client.get(at, { Accept: protobuf }), modelOf(kind))).toEqual({
        kind,
        apiVersion: 'v1',
        ...dropped(modelOf(kind), value),
      });
    }

    const components = await client.get('/api/v1/componentstatuses', asProtobuf);
    expect(decoded(components, modelOf('ComponentStatusList'))['kind']).toBe('ComponentStatusList');
    expect((await client.get('/version', asProtobuf)).headers['content-type']).toBe('application/json');
  });

  it('are errors', async () => {
    const reply = await client.get(`${maps}/gone`, asProtobuf);
    expect(reply.status).toBe(404);
    expect(decoded(reply, status)).toEqual(expected(status, (await client.get(`${maps}/gone`)).body));
    const refused = await client.post(maps, { metadata: { name: 'Not A Name' } }, asProtobuf);
    expect(refused.status).toBe(422);
    expect(decoded(refused, status)).toMatchObject({ reason: 'Invalid', code: 422 });
    // A client that asks for metadata alone, in any form, gets its errors as JSON.
    const partial = await client.get(`${maps}/gone`, partialAs('PartialObjectMetadata'));
    expect([partial.headers['content-type'], partial.body.reason]).toEqual(['application/json', 'NotFound']);
  });

  it('are pages of lists, and lists at an older version', async () => {
    const before = (await client.get(maps)).body.metadata.resourceVersion;
    for (const name of ['p1', 'p2', 'p3']) await client.post(maps, { metadata: { name }, data: { name } });
    const model = modelOf('ConfigMap');
    const names = (list: JsonObject): string[] =>
      (list['items'] as Json[]).map(({ metadata }) => metadata.name);
    const first = decodedList(await client.get(`${maps}?limit=2`, asProtobuf), model);
    const { continue: next, remainingItemCount } = first['metadata'] as Json;
    expect(remainingItemCount).toBeGreaterThan(0);
    const rest = decodedList(await client.get(`${maps}?limit=500&continue=${next}`, asProtobuf), model);
    const all = decodedList(await client.get(maps, asProtobuf), model);
    expect([...names(first), ...names(rest)]).toEqual(names(all));
    // A third time, it comes from the cache.
    for (let i = 0; i < 3; i++)
      expect(names(decodedList(await client.get(maps, asProtobuf), model))).toEqual(names(all));
    const old = `${maps}?resourceVersion=${before}&resourceVersionMatch=Exact`;
    expect(names(decodedList(await client.get(old, asProtobuf), model))).not.toContain('p1');
    const empty = await client.get(`${maps}?labelSelector=none%3Dsuch`, asProtobuf);
    expect(decodedList(empty, model)['items']).toEqual([]);
  });

  it('are lists of metadata alone', async () => {
    await client.post(maps, { metadata: { name: 'alone', labels }, data: { a: 'b' } });
    const reply = await client.get(
      `${maps}?labelSelector=app%3Dproto`,
      partialAs('PartialObjectMetadataList'),
    );
    const { metadata } = (await client.get(`${maps}/alone`)).body;
    expect(decodedList(reply, modelOf('ConfigMap'))).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: expect.any(String) },
      items: [{ metadata }],
    });
    const wrong = await client.get(maps, partialAs('PartialObjectMetadata'));
    expect([wrong.status, wrong.body.message]).toEqual([
      406,
      'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
    ]);
  });

  it('are objects and lists longer than what is built at once', async () => {
    const data = { text: 'é'.repeat(300_000) };
    for (let i = 0; i < 9; i++)
      expect((await client.post(maps, { metadata: { name: `long-${i}` }, data })).status).toBe(200);
    const model = modelOf('ConfigMap');
    expect(decoded(await client.get(`${maps}/long-0`, asProtobuf), model)).toMatchObject({ data });
    const items = decodedList(await client.get(maps, asProtobuf), model)['items'] as Json[];
    expect(items.filter((item) => item.data?.text === data.text)).toHaveLength(9);
    for (let i = 0; i < 9; i++) await client.delete(`${maps}/long-${i}`);
  });
});

describe('watches', () => {
  const initial =
    'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const model = modelOf('ConfigMap');

  it('mark the end of the initial state', async () => {
    await client.post(maps, { metadata: { name: 'initial' } });
    for (const [accept, kind] of [
      [asProtobuf, 'ConfigMap'],
      [partialAs('PartialObjectMetadata'), 'PartialObjectMetadata'],
    ] as const) {
      const frames = new FrameReader(
        await client.stream(`${maps}?${initial}&fieldSelector=metadata.name%3Dinitial`, accept),
      );
      const added = await frames.next();
      expect(decodedDocument(added!.object, model)).toMatchObject({ kind, metadata: { name: 'initial' } });
      const bookmark = await frames.next();
      expect(bookmark!.type).toBe('BOOKMARK');
      expect(decodedDocument(bookmark!.object, model)).toEqual({
        kind,
        apiVersion: kind === 'ConfigMap' ? 'v1' : 'meta.k8s.io/v1',
        metadata: {
          resourceVersion: expect.any(String),
          annotations: { 'k8s.io/initial-events-end': 'true' },
        },
      });
      frames.close();
    }
  });

  it('tell of a version that is too new as an answer, and share bytes among watchers', async () => {
    const refused = await client.get(`${maps}?watch=true&resourceVersion=abc`, asProtobuf);
    expect(decoded(refused, status)).toMatchObject({ status: 'Failure' });
    const { resourceVersion } = (await client.get(maps)).body.metadata;
    const path = `${maps}?watch=true&resourceVersion=${resourceVersion}`;
    const open = async (accept: Headers) => new FrameReader(await client.stream(path, accept));
    const watchers = [
      await open(asProtobuf),
      await open(asProtobuf),
      await open(partialAs('PartialObjectMetadata')),
    ];
    const lines = await client.watch(path);
    const data = { a: 'b' };
    await client.post(maps, { metadata: { name: 'shared' }, data });
    const [one, two, partial] = await Promise.all(watchers.map((watcher) => watcher.next()));
    expect(one).toEqual(two);
    expect(decodedDocument(one!.object, model)).toEqual(expected(model, (await lines.next()).object));
    expect(decodedDocument(partial!.object, model)).not.toHaveProperty('data');
    for (const watcher of [...watchers, lines]) watcher.close();
  });

  it('over a WebSocket are binary messages without a length', async () => {
    const url = `${client.url.replace('http', 'ws')}${maps}?watch=true&resourceVersion=0`;
    const socket = new WebSocket(url, { headers: { Accept: protobuf } });
    const [message, isBinary] = await new Promise<[Buffer, boolean]>((resolve, reject) => {
      socket.on('message', (data, binary) => resolve([data as Buffer, binary])).on('error', reject);
    });
    socket.close();
    const { type, object } = decodedEvent(message);
    expect([isBinary, type]).toEqual([true, 'ADDED']);
    expect(decodedDocument(object, model)['kind']).toBe('ConfigMap');
  });
});

describe('odd Accept headers', () => {
  const odd = [
    `${protobuf};as=Table;v=v1;g=meta.k8s.io`,
    `${protobuf};as=Nonsense;v=v1;g=meta.k8s.io`,
    `${protobuf};as=__proto__;v=constructor;g=meta.k8s.io`,
    `${protobuf};stream=nonsense`,
    `${protobuf};q=0`,
    `${protobuf}+json`,
    'application/vnd.kubernetes.protobuf2',
    'application/cbor',
    ','.repeat(500),
    `${';'.repeat(500)}${protobuf}`,
    `${'a/b,'.repeat(60)}${protobuf}`,
  ];

  it('are not acceptable, and nothing is written', async () => {
    for (const [i, Accept] of odd.entries()) {
      const reply = await client.post(maps, { metadata: { name: `odd-${i}` } }, { Accept });
      expect([Accept, reply.status]).toEqual([Accept, 406]);
      expect((await client.get(`${maps}/odd-${i}`)).status).toBe(404);
      expect((await client.request('DELETE', maps, undefined, { Accept })).status).toBe(406);
    }
    expect((await client.get(maps)).body.items.length).toBeGreaterThan(0);
  });

  it('are read leniently where they mean something', async () => {
    await client.post(maps, { metadata: { name: 'lenient' } });
    for (const Accept of [
      protobuf.toUpperCase(),
      ` ${protobuf} ; unknown=1 `,
      `${protobuf};q=0.9, application/json;q=0.8`,
      `text/html, ${protobuf}`,
      `${protobuf};stream=watch`,
      `application/json;as=Nonsense;v=v1;g=meta.k8s.io,${protobuf}`,
    ])
      expect(decoded(await client.get(`${maps}/lenient`, { Accept }), modelOf('ConfigMap'))['kind']).toBe(
        'ConfigMap',
      );
    const table = await client.get(maps, {
      Accept: `${protobuf};as=Table;v=v1;g=meta.k8s.io,application/json`,
    });
    expect(table.body.kind).toBe('ConfigMapList');
  });

  it('of many kinds are all answered', async () => {
    for (let i = 0; i < 200; i++) {
      const Accept = `${protobuf};n=${i},application/json`;
      const reply = await client.get(`${maps}/lenient`, { Accept });
      expect(reply.headers['content-type']).toBe(protobuf);
    }
  });
});
