/**
 * Proves that a live cluster is recorded event by event, with GET requests alone and one watch per kind: through restarts of
 * the recorder, broken connections, versions that are gone, expired tokens and servers that ask to wait; and that times in
 * which changes may have been missed are gaps, in which nothing is made up.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  type Cluster,
  openDump,
  type RecordedCluster,
  type RecordOptions,
  record,
  start,
} from '../../src/cluster/index.ts';
import { Recording } from '../../src/recorder/following/recording.ts';
import { openLmdbStore } from '../../src/store/lmdb.ts';
import { isRelease } from '../support/tier.ts';
import { call, recordedEvents, ToldHistory, until, unversioned } from './source-history.ts';
import { SourceProxy } from './source-proxy.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const allMaps = '/api/v1/configmaps';
const ships = '/apis/example.com/v1/namespaces/default/ships';
let source: Cluster;
let proxy: SourceProxy;
let folder: string;
let recorders: RecordedCluster[] = [];
const told: ToldHistory[] = [];

const openSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const definition = (group: string, plural = 'ships', kind = 'Ship') => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: openSchema } }],
  },
});
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'wherry-record-'));
  source = await start({ store: 'memory', like: 'kubernetes', controllers: false });
  proxy = new SourceProxy(source.url);
  await proxy.listen();
  await call(source.url, 'POST', definitions, definition('example.com'));
  await until(() => call(source.url, 'GET', ships).catch(() => undefined));
  await call(source.url, 'POST', maps, { metadata: { name: 'old' }, data: { a: '1' } });
});
afterAll(async () => {
  proxy.close();
  await source.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  proxy.asked = [];
  proxy.interfere = () => undefined;
  proxy.watchesMax = 0;
});
afterEach(async () => {
  for (const one of told.splice(0)) await one.close();
  for (const one of recorders.splice(0)) await one.close();
  expect(proxy.writes).toBe(0);
});

async function recording(name: string, options: Partial<RecordOptions> = {}, user: object = {}) {
  const recorder = await record({
    dataDir: path.join(folder, name),
    kubeconfig: proxy.kubeconfig(folder, name, user),
    requestsPerSecond: 1_000,
    kinds: ['configmaps', 'ships.example.com', 'secrets'],
    onWarning: (message) => process.env['WHERRY_TOLD'] && console.error(name, message),
    ...options,
  });
  recorders.push(recorder);
  await until(() => recorder.status().watched >= 3, 'a watch for each kind');
  return recorder;
}

/** Follows the source from now on. */
async function following(where: string): Promise<ToldHistory> {
  const { metadata } = await call(source.url, 'GET', where);
  const one = new ToldHistory(source.url, where, metadata.resourceVersion);
  told.push(one);
  return one;
}

/** How often each object is changed. */
const changeRounds = isRelease ? 6 : 2;

/** Creates, changes and deletes objects, some of them several times. */
async function change(where: string, word: string, rounds = changeRounds): Promise<void> {
  await Promise.all(
    Array.from({ length: 4 }, async (_, i) => {
      const name = `${word}-${i}`;
      await call(source.url, 'POST', where, {
        metadata: { name },
        apiVersion: where === ships ? 'example.com/v1' : 'v1',
        kind: where === ships ? 'Ship' : 'ConfigMap',
      });
      for (let round = 0; round < rounds; round++)
        await call(source.url, 'PATCH', `${where}/${name}`, {
          metadata: { labels: { round: `${round % 2}` } },
          ...(where === maps ? { data: { round: `${round}` } } : { spec: { round } }),
        });
      if (i % 2 === 0) {
        await call(source.url, 'DELETE', `${where}/${name}`);
        await call(source.url, 'POST', where, {
          metadata: { name },
          apiVersion: where === ships ? 'example.com/v1' : 'v1',
          kind: where === ships ? 'Ship' : 'ConfigMap',
        });
      }
      await call(source.url, 'DELETE', `${where}/${name}`);
    }),
  );
}
const changesOf = (rounds = changeRounds): number => 4 * (rounds + 2) + 2 * 2;

/** What is recorded of gaps, read from the folder of a recorder that has ended. */
async function gapsIn(name: string) {
  const store = await openLmdbStore({ dataDir: path.join(folder, name) });
  try {
    return (await Recording.open(store)).gaps();
  } finally {
    await store.close();
  }
}

async function ended(recorder: RecordedCluster): Promise<void> {
  recorders = recorders.filter((one) => one !== recorder);
  await recorder.close();
}

it('records every change, as the cluster tells it, and shows it read-only, now and in the past', async () => {
  const recorder = await recording('live', { kinds: undefined });
  await until(
    () => recorder.status().waiting === 0 && recorder.status().watched > 40,
    'a watch for each kind',
  );
  const resources = [...proxy.watches.keys()];
  expect(resources).toEqual(
    expect.arrayContaining(['/api/v1/pods', '/apis/apps/v1/deployments', '/apis/example.com/v1/ships']),
  );
  const sources = { [maps]: await following(maps), [ships]: await following(ships) };
  await Promise.all([change(maps, 'm'), change(ships, 's')]);
  for (const [where, history] of Object.entries(sources)) {
    await until(() => history.events.length === changesOf());
    const events = await recordedEvents(recorder.url, where, changesOf());
    expect(unversioned(events), where).toEqual(unversioned(history.events));
  }
  // What was there at the beginning is no change.
  const { oldest } = await call(recorder.url, 'GET', '/wherry/history');
  const past = await call(
    recorder.url,
    'GET',
    `${maps}?resourceVersion=${oldest}&resourceVersionMatch=Exact`,
  );
  expect(past.items.map(({ metadata }: any) => metadata.name)).toEqual(['old']);
  expect(past.items[0].metadata.uid).toBe((await call(source.url, 'GET', `${maps}/old`)).metadata.uid);
  await expect(call(recorder.url, 'DELETE', `${maps}/old`)).rejects.toThrow(
    'read-only copy of the cluster http',
  );
  expect(proxy.watchesMax).toBe(1);
  expect(new Set(proxy.asked.map(({ method }) => method))).toEqual(new Set(['GET']));
  const metrics = await (await fetch(`${recorder.url}/metrics`)).text();
  expect(Number(/^wherry_record_changes_total (\d+)/m.exec(metrics)![1])).toBeGreaterThanOrEqual(
    2 * changesOf(),
  );
  expect(metrics).toContain('wherry_record_gaps_total 0');
  expect(metrics).toContain(`wherry_record_resources{state="watched"} ${resources.length}`);
  expect((await call(recorder.url, 'GET', '/wherry/copy')).recording).toMatchObject({
    source: proxy.url,
    gaps: 0,
  });
});

it('goes on after a restart, with the changes that were made meanwhile, and can be opened when it has ended', async () => {
  const history = [await following(maps), await following(ships)];
  const first = await recording('again');
  const begins = async ({ url }: { url: string }) => (await call(url, 'GET', '/wherry/history')).oldestTime;
  const oldestTime = await begins(first);
  await Promise.all([change(maps, 'a'), change(ships, 'a')]);
  await until(async () => (await recordedEvents(first.url, maps, changesOf())).length === changesOf());
  await ended(first);
  await Promise.all([change(maps, 'b'), change(ships, 'b')]);
  const second = await recording('again');
  expect(await begins(second)).toBe(oldestTime);
  await Promise.all([change(maps, 'c'), change(ships, 'c')]);
  await until(() => history.every(({ events }) => events.length === 3 * changesOf()));
  for (const [i, where] of [maps, ships].entries())
    expect(unversioned(await recordedEvents(second.url, where, 3 * changesOf())), where).toEqual(
      unversioned(history[i]!.events),
    );
  await ended(second);
  expect((await gapsIn('again')).filter(({ why }) => !why.includes('fetched afterwards'))).toEqual([]);
  const opened = await openDump(path.join(folder, 'again'));
  try {
    expect(await begins(opened)).toBe(oldestTime);
    for (const [i, where] of [maps, ships].entries())
      expect(unversioned(await recordedEvents(opened.url, where, 3 * changesOf())), where).toEqual(
        unversioned(history[i]!.events),
      );
  } finally {
    await opened.close();
  }
});

it('notes a gap for kinds alone in which something changed meanwhile, from when the cluster was last seen on', async () => {
  await ended(await recording('quiet'));
  const store = await openLmdbStore({ dataDir: path.join(folder, 'quiet') });
  const kept = await Recording.open(store);
  // As if nothing had changed for an hour, and the recorder had been killed a minute ago.
  const seenMs = Date.now() - 60_000;
  for (const resource of ['configmaps', 'ships.example.com'])
    await kept.take(resource, [], { ...kept.position(resource)!, seenMs: seenMs - 3_600_000 });
  await kept.live(['configmaps', 'ships.example.com'], seenMs);
  await store.close();
  await change(ships, 'late');
  const second = await recording('quiet');
  await recordedEvents(second.url, ships, changesOf());
  await ended(second);
  const [gap, ...others] = await gapsIn('quiet');
  expect([gap, others]).toMatchObject([{ resources: ['ships.example.com'], fromMs: seenMs }, []]);
});

it('writes a change once though two groups serve it, and begins anew with a gap where another cluster answers', async () => {
  const jobs = '/apis/batch/v1/namespaces/default/jobs';
  const job = {
    metadata: { name: 'j' },
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
  };
  const told: string[] = [];
  const recorder = await recording('twins', { kinds: undefined, onWarning: (message) => told.push(message) });
  await until(() => recorder.status().waiting === 0 && recorder.status().watched > 40);
  await call(source.url, 'POST', jobs, job);
  await call(source.url, 'PATCH', `${jobs}/j`, { metadata: { labels: { a: 'b' } } });
  const events = await recordedEvents(recorder.url, jobs, 2);
  const before = recorder.status().watched;
  const other = await start({ store: 'memory', like: 'kubernetes', controllers: false });
  try {
    await call(other.url, 'POST', maps, { metadata: { name: 'elsewhere' } });
    proxy.target = other.url;
    proxy.cut();
    proxy.mend();
    await until(async () => (await call(recorder.url, 'GET', maps)).items[0].metadata.name === 'elsewhere');
    await until(async () => (await call(recorder.url, 'GET', jobs)).items.length === 0);
    expect((await recordedEvents(recorder.url, jobs, 3)).map(({ type }) => type)).toEqual([
      'ADDED',
      'MODIFIED',
      'DELETED',
    ]);
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED']);
    await until(() => recorder.status().waiting === 0 && recorder.status().watched > 40);
    // That of a kind which the other cluster does not have included.
    expect(recorder.status().gaps).toBe(before);
    // All connections broke, and one sentence says so.
    expect(told).toHaveLength(1);
    await ended(recorder);
    const whys = new Set((await gapsIn('twins')).map(({ why }) => why));
    expect(whys).toEqual(new Set(['another cluster answered']));
    expect((await gapsIn('twins')).filter(({ toMs }) => toMs === undefined)).toEqual([]);
  } finally {
    proxy.target = source.url;
    await recorder.close();
    await other.close();
    await call(source.url, 'DELETE', `${jobs}/j?propagationPolicy=Background`);
  }
});

it('loses nothing when connections break, and the server asks to wait', async () => {
  const history = await following(maps);
  const recorder = await recording('broken');
  await change(maps, 'x');
  let asked = 0;
  proxy.interfere = ({ url }) =>
    url.startsWith(allMaps) && asked++ < 2 ? { code: 429, headers: { 'Retry-After': '1' } } : undefined;
  proxy.cut();
  await change(maps, 'y');
  proxy.mend();
  await change(maps, 'z');
  const events = await recordedEvents(recorder.url, maps, 3 * changesOf());
  expect(asked).toBeGreaterThanOrEqual(2);
  expect(unversioned(events)).toEqual(unversioned(history.events));
});

it('notes a gap where versions are gone, and writes what is different alone', async () => {
  for (const name of ['same', 'back', 'other', 'gone', 'anew'])
    await call(source.url, 'POST', maps, { metadata: { name }, data: { a: '1' } });
  const recorder = await recording('gap');
  await call(source.url, 'PATCH', `${maps}/same`, { data: { a: '2' } });
  await recordedEvents(recorder.url, maps, 1);
  proxy.cut();
  await call(source.url, 'PATCH', `${maps}/other`, { data: { a: '2' } });
  await call(source.url, 'PATCH', `${maps}/other`, { data: { a: '3' } });
  await call(source.url, 'DELETE', `${maps}/gone`);
  await call(source.url, 'DELETE', `${maps}/anew`);
  await call(source.url, 'POST', maps, { metadata: { name: 'anew' }, data: { a: '1' } });
  await call(source.url, 'POST', maps, { metadata: { name: 'new' } });
  proxy.interfere = ({ url }) =>
    url.startsWith(`${allMaps}?watch=true`) && recorder.status().gaps === 0 ? { code: 410 } : undefined;
  proxy.mend();
  const events = await recordedEvents(recorder.url, maps, 6);
  expect(events.map(({ type, object }) => `${type} ${object.metadata.name} ${object.data?.a ?? ''}`)).toEqual(
    ['MODIFIED same 2', 'DELETED anew 1', 'ADDED anew 1', 'ADDED new ', 'MODIFIED other 3', 'DELETED gone 1'],
  );
  // After the gap it goes on by watching.
  await call(source.url, 'DELETE', `${maps}/new`);
  const [last] = (await recordedEvents(recorder.url, maps, 7)).slice(-1);
  const state = async (url: string) =>
    (await call(url, 'GET', maps)).items.map(
      ({ metadata: { resourceVersion: _, ...metadata }, ...rest }: any) => ({ ...rest, metadata }),
    );
  expect(await state(recorder.url)).toEqual(await state(source.url));
  await ended(recorder);
  const gaps = (await gapsIn('gap')).filter(({ why }) => why === 'the cluster had forgotten what changed');
  expect(gaps).toEqual([
    {
      fromMs: expect.any(Number),
      toMs: expect.any(Number),
      why: 'the cluster had forgotten what changed',
      resources: ['configmaps'],
      versions: { first: expect.any(Number), last: expect.any(Number) },
    },
  ]);
  const [{ fromMs, toMs, versions }] = gaps as [(typeof gaps)[0]];
  expect(toMs!).toBeGreaterThan(fromMs);
  const found = events.filter(
    ({ object }) =>
      Number(object.metadata.resourceVersion) >= versions!.first &&
      Number(object.metadata.resourceVersion) <= versions!.last,
  );
  expect(found).toHaveLength(5);
  expect(Number(last!.object.metadata.resourceVersion)).toBeGreaterThan(versions!.last);
});

it('follows kinds as their definitions come and go, and shows those that have gone in the past', async () => {
  const recorder = await recording('kinds', { kinds: undefined });
  const boats = '/apis/boats.example.com/v1/namespaces/default/boats';
  await call(source.url, 'POST', definitions, definition('boats.example.com', 'boats', 'Boat'));
  await until(() => call(source.url, 'GET', boats).catch(() => undefined));
  await until(() => proxy.watches.get('/apis/boats.example.com/v1/boats'), 'a watch for the new kind');
  await call(source.url, 'POST', boats, {
    apiVersion: 'boats.example.com/v1',
    kind: 'Boat',
    metadata: { name: 'b' },
    spec: { a: 1 },
  });
  await call(source.url, 'PATCH', `${boats}/b`, { spec: { a: 2 } });
  await until(
    async () => (await call(recorder.url, 'GET', `${boats}/b`).catch(() => undefined))?.spec.a === 2,
  );
  const { metadata } = await call(recorder.url, 'GET', boats);
  await call(source.url, 'DELETE', `${definitions}/boats.boats.example.com`);
  await until(
    async () =>
      (await call(recorder.url, 'GET', `${definitions}/boats.boats.example.com`).catch(() => undefined)) ===
      undefined,
  );
  await until(async () => (await call(recorder.url, 'GET', boats)).items.length === 0);
  await until(() => !proxy.watches.get('/apis/boats.example.com/v1/boats'), 'the end of the watch');
  const at = `${boats}?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`;
  expect((await call(recorder.url, 'GET', at)).items[0].spec).toEqual({ a: 2 });
  await ended(recorder);
  const opened = await openDump(path.join(folder, 'kinds'));
  try {
    expect((await call(opened.url, 'GET', at)).items[0].spec).toEqual({ a: 2 });
  } finally {
    await opened.close();
  }
});

it('records metadata alone, in protobuf, and of secrets names and keys', async () => {
  await call(source.url, 'POST', '/api/v1/namespaces/default/secrets', {
    metadata: { name: 'key' },
    data: { password: 'aHVzaA==' },
  });
  const recorder = await recording('metadata', { metadataOnly: true });
  await call(source.url, 'POST', maps, { metadata: { name: 'meta', labels: { a: 'b' } }, data: { a: '1' } });
  const { object } = (await recordedEvents(recorder.url, maps, 1))[0]!;
  const { resourceVersion: _, ...metadata } = object.metadata;
  const { resourceVersion: __, ...original } = (await call(source.url, 'GET', `${maps}/meta`)).metadata;
  expect({ data: object.data, metadata }).toEqual({ data: undefined, metadata: original });
  const watched = proxy.asked.filter(({ url }) => url.startsWith(`${allMaps}?watch=true`));
  expect(watched[0]!.accept).toMatch(/^application\/vnd\.kubernetes\.protobuf;as=PartialObjectMetadata;/);
  await ended(recorder);
  const whole = await recording('secrets');
  expect((await call(whole.url, 'GET', '/api/v1/namespaces/default/secrets/key')).data).toEqual({
    password: Buffer.from('removed').toString('base64'),
  });
});

it('renews tokens of plugins, files and issuers when they expire', async () => {
  let issued = 0;
  let valid = 'none';
  const claims = (): string =>
    `h.${Buffer.from(JSON.stringify({ exp: Math.floor(Date.now() / 1_000) + 3_600, n: ++issued })).toString('base64url')}.s`;
  const { createServer } = await import('node:http');
  const tokens = createServer((incoming, response) => {
    if (incoming.url === '/.well-known/openid-configuration')
      return void response.end(JSON.stringify({ token_endpoint: `http://${incoming.headers.host}/token` }));
    void text(incoming).then((body) => {
      const form = new URLSearchParams(body);
      if (
        form.get('grant_type') !== 'refresh_token' ||
        form.get('client_secret') !== 'shh' ||
        form.get('refresh_token') !== `r${issued}`
      )
        return void response.writeHead(400).end('{"error":"invalid_grant"}');
      valid = claims();
      response.end(JSON.stringify({ id_token: valid, refresh_token: `r${issued}` }));
    });
  });
  await new Promise<void>((resolve) => tokens.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = tokens.address() as { port: number };
    const config = {
      'idp-issuer-url': `http://127.0.0.1:${port}`,
      'client-id': 'c',
      'client-secret': 'shh',
      'id-token': 'h.e30.s',
      'refresh-token': 'r0',
    };
    proxy.interfere = ({ authorization }) =>
      authorization === `Bearer ${valid}` ? undefined : { code: 401 };
    const recorder = await recording('oidc', {}, { 'auth-provider': { name: 'oidc', config } });
    // The token is refused from now on: the next requests renew it, with the newest refresh token.
    valid = 'revoked';
    proxy.cut();
    proxy.mend();
    await call(source.url, 'POST', maps, { metadata: { name: 'oidc' } });
    await recordedEvents(recorder.url, maps, 1);
    expect(issued).toBeGreaterThanOrEqual(2);
    await ended(recorder);
    // And the next run knows it, though the kubeconfig does not.
    await recording('oidc', {}, { 'auth-provider': { name: 'oidc', config } });
  } finally {
    tokens.close();
  }
  const program = path.join(folder, 'credential.sh');
  const current = path.join(folder, 'current');
  writeFileSync(current, 'one');
  writeFileSync(
    program,
    `#!/bin/sh\necho '{"kind":"ExecCredential","status":{"token":"'$(cat '${current}')'"}}'\n`,
  );
  chmodSync(program, 0o755);
  for (const [name, user] of [
    ['exec', { exec: { command: program, apiVersion: 'client.authentication.k8s.io/v1' } }],
    ['file', { tokenFile: current }],
  ] as const) {
    writeFileSync(current, 'one');
    valid = 'one';
    const recorder = await recording(name, {}, user);
    valid = 'two';
    writeFileSync(current, 'two');
    proxy.cut();
    proxy.mend();
    await call(source.url, 'POST', maps, { metadata: { name } });
    await recordedEvents(recorder.url, maps, 1);
    await ended(recorder);
  }
});

it('keeps history within its size, the oldest goes first', async () => {
  const recorder = await recording('small', { historyBytes: 16 * 2 ** 20 });
  const data = { text: 'x'.repeat(300_000) };
  await call(source.url, 'POST', maps, { metadata: { name: 'large' }, data });
  for (let i = 0; i < 60; i++) await call(source.url, 'PATCH', `${maps}/large`, { data: { i: String(i) } });
  await until(async () => (await call(recorder.url, 'GET', `${maps}/large`)).data.i === '59');
  await until(async () => recorder.status().historyBytes < 16 * 2 ** 20);
  const { oldest } = await call(recorder.url, 'GET', '/wherry/history');
  expect(Number(oldest)).toBeGreaterThan(20);
  const metrics = await (await fetch(`${recorder.url}/metrics`)).text();
  expect(Number(/^apiserver_storage_size_bytes\{.*\} (\S+)/m.exec(metrics)![1])).toBeLessThan(32 * 2 ** 20);
});

it('says what is wrong, and leaves other folders alone', async () => {
  const kubeconfig = proxy.kubeconfig(folder, 'wrong');
  await ended(await recording('mine'));
  const elsewhere = new SourceProxy('http://127.0.0.1:1');
  await elsewhere.listen();
  const other = elsewhere.kubeconfig(folder, 'other');
  elsewhere.cut();
  const dataDir = path.join(folder, 'mine');
  await expect(record({ dataDir, kubeconfig: other })).rejects.toThrow(
    `${dataDir} is a recording of ${proxy.url}`,
  );
  elsewhere.close();
  const cluster = await start({ dataDir: path.join(folder, 'cluster'), controllers: false });
  await cluster.close();
  await expect(record({ dataDir: path.join(folder, 'cluster'), kubeconfig })).rejects.toThrow('no recording');
});
