/**
 * Proves that a data folder and a backup of data format 1, written by the version before
 * (`fixtures/format1.mjs`), are converted at the first start: every object of every kind with its uid and
 * version, and all of its history. A start that is killed during the conversion loses nothing.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { open } from 'lmdb';
import { describe, expect, it } from 'vitest';
import { builtinKinds } from '../../src/api/kinds/kinds.ts';
import { start } from '../../src/cluster/index.ts';
import { restore } from '../../src/cluster/store/backup.ts';
import { idOfPlural } from '../../src/registry/former-keys.ts';
import { openLmdbStore } from '../../src/store/lmdb.ts';
import { Child, useChildren } from '../support/child.ts';
import { Client, type Json } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';

const children = useChildren();
const configMaps = '/api/v1/namespaces/default/configmaps';

interface Former {
  readonly resourceVersion: string;
  /** Items of every list, by path. */
  readonly lists: Record<string, Json[]>;
  /** Type, name, uid and version of every change, by path. */
  readonly changes: Record<string, [string, string, string, string][]>;
}

const fixture = async (name: string): Promise<Buffer> =>
  gunzipSync(await readFile(join(import.meta.dirname, '..', 'fixtures', `format1.${name}.gz`)));

const former = async (): Promise<Former> => JSON.parse((await fixture('json')).toString());

async function formerFolder(): Promise<string> {
  const dataDir = join(await children.folder(), 'data');
  await mkdir(dataDir);
  await writeFile(join(dataDir, 'data.mdb'), await fixture('data'));
  return dataDir;
}

/** The server writes its own address there at every start. */
const isOwnAddress = (path: string, name: string): boolean =>
  /^\/api\/v1\/(endpoints|services)$/.test(path) && name === 'kubernetes';

async function expectLists(client: Client, { lists }: Former): Promise<void> {
  for (const [path, items] of Object.entries(lists)) {
    const found: Json[] = (await client.get(path)).body.items;
    const others = (list: Json[]) => list.filter(({ metadata }) => !isOwnAddress(path, metadata.name));
    expect(others(found), path).toEqual(others(items));
    expect(found.map(({ metadata }) => metadata.uid)).toEqual(items.map(({ metadata }) => metadata.uid));
  }
}

const forEver = { ageMaxMs: 1e15 };

describe('the table of former keys', () => {
  it('has all kinds that are still stored in one group', () => {
    const ids = new Set(builtinKinds.map((kind) => kind.storage.id));
    expect([...idOfPlural.values()].filter((id) => !ids.has(id))).toEqual([]);
    expect(idOfPlural.size).toBe(31);
  });
});

describe('a data folder of the version before', () => {
  it('shows every object with its uid and version, and every change there was', async () => {
    const expected = await former();
    expect(Object.keys(expected.lists)).toHaveLength(31);
    const dataDir = await formerFolder();
    const said: string[] = [];
    const options = {
      dataDir,
      history: forEver,
      controllers: false,
      onWarning: (text: string) => said.push(text),
    };
    const cluster = await start(options);
    const client = new Client(cluster.url);
    const objects = Object.values(expected.lists).flat().length;
    expect(said).toContain(
      `the data folder ${dataDir} had a former format, and was taken over with ${objects} objects`,
    );
    await expectLists(client, expected);
    for (const [path, changes] of Object.entries(expected.changes)) {
      const watch = await client.watch(`${path}?watch=1&resourceVersion=1`);
      const events = (await watch.take(changes.length)).map(({ type, object: { metadata } }) => [
        type,
        metadata.name,
        metadata.uid,
        metadata.resourceVersion,
      ]);
      watch.close();
      expect(events, path).toEqual(changes);
    }
    // A past state can be read, too.
    const query = `?resourceVersion=${expected.changes['/api/v1/configmaps']![1]![3]}&resourceVersionMatch=Exact`;
    const past = (await client.get(configMaps + query)).body.items.map(({ metadata }: Json) => metadata.name);
    expect(past).toEqual(['a', 'b']);

    // Writes continue.
    const [configMap] = expected.lists['/api/v1/configmaps']!;
    const changed = await client.put(`${configMaps}/a`, { ...configMap, data: { a: 'now' } });
    expect(changed.status).toBe(200);
    expect(changed.body.metadata.uid).toBe(configMap.metadata.uid);
    expect(Number(changed.body.metadata.resourceVersion)).toBeGreaterThan(Number(expected.resourceVersion));
    expect((await client.post(configMaps, { metadata: { name: 'b' } })).status).toBe(200);
    expect((await client.delete(`${configMaps}/c`)).status).toBe(200);
    const ingress = await client.get('/apis/networking.k8s.io/v1/namespaces/default/ingresses/a');
    expect(ingress.body.spec.defaultBackend.service).toEqual({ name: 'a', port: { number: 80 } });
    await cluster.close();

    // The second start has nothing to convert.
    said.length = 0;
    const again = await start(options);
    expect(said.filter((text) => text.includes('format'))).toEqual([]);
    const { items } = (await new Client(again.url).get(configMaps)).body;
    expect(items.map(({ metadata, data }: Json) => [metadata.name, data])).toEqual([
      ['a', { a: 'now' }],
      ['b', undefined],
    ]);
    await again.close();
  });

  it('is taken over by the command, which says so once', async () => {
    const dataDir = await formerFolder();
    for (const says of [/had a former format, and was taken over with \d+ objects/, /^$/]) {
      const child = new Child(['serve', '--port', '0', '--secure-port', 'off', '--data-dir', dataDir]);
      const client = new Client(await child.ready());
      expect((await client.get(`${configMaps}/a`)).body.data).toEqual({ a: '3' });
      child.signal('SIGTERM');
      expect(await child.exited).toEqual({ code: 0, signal: null });
      expect(child.stderr).toMatch(says);
    }
  });

  it.runIf(isRelease)('loses nothing when the first start is killed in the middle', async () => {
    const objects = 20_000;
    const dataDir = await largeFormerFolder(objects);
    for (const bytes of [0, 1e6, 8e6]) {
      const child = new Child(['serve', '--port', '0', '--secure-port', 'off', '--data-dir', dataDir]);
      await builtBytes(dataDir, bytes);
      await child.kill();
      // The conversion had begun, and had not finished.
      expect([child.stdout, existsSync(join(dataDir, 'upgrading'))]).toEqual(['', true]);
    }
    const child = new Child([
      'serve',
      '--port',
      '0',
      '--secure-port',
      'off',
      '--data-dir',
      dataDir,
      '--log-level',
      'silent',
    ]);
    const client = new Client(await child.ready());
    const page = (await client.get(`${configMaps}?limit=1`)).body;
    expect(page.metadata.remainingItemCount).toBe(objects - 1);
    expect(page.items[0].metadata).toMatchObject({ name: 'c00000', uid: 'uid-0', resourceVersion: '1' });
    expect(existsSync(join(dataDir, 'upgrading'))).toBe(false);
    child.signal('SIGTERM');
    await child.exited;
  });
});

/**
 * Resolves when the file that the conversion writes has this many bytes. The folder comes and goes, which Node's recursive
 * watcher does not bear, so the file is asked for its size.
 */
async function builtBytes(dataDir: string, bytes: number): Promise<void> {
  const size = (): Promise<number> =>
    stat(join(dataDir, 'upgrading', 'data.mdb')).then(
      (found) => found.size,
      () => -1,
    );
  while ((await size()) < bytes);
}

/** A folder as the version before would have left it: written object by object, in format 1. */
async function largeFormerFolder(objects: number): Promise<string> {
  const dataDir = join(await children.folder(), 'data');
  const store = await openLmdbStore({ dataDir });
  const ballast = 'z'.repeat(2000);
  await Promise.all(
    Array.from({ length: objects }, (_, i) => {
      const name = `c${String(i).padStart(5, '0')}`;
      const text = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"${name}","namespace":"default","uid":"uid-${i}","creationTimestamp":"2026-01-01T00:00:00Z"},"data":{"a":"${ballast}"}}`;
      return store.write({ key: `configmaps\0default\0${name}`, value: Buffer.from(text), expected: 0 });
    }),
  );
  await store.close();
  const root = open({ path: dataDir, noSubdir: false, overlappingSync: false });
  const meta = root.openDB({ name: 'meta', encoding: 'binary', keyEncoding: 'binary' });
  await meta.put(Buffer.from('format'), Buffer.from([0, 0, 0, 0, 0, 1]));
  await root.close();
  return dataDir;
}

describe('a backup of the version before', () => {
  it('is restored with every object, its uid and its version', async () => {
    const expected = await former();
    const folder = await children.folder();
    await writeFile(join(folder, 'backup'), await fixture('backup'));
    const { objects, revision, warning } = await restore(join(folder, 'backup'), {
      dataDir: join(folder, 'data'),
    });
    expect([objects, warning]).toEqual([Object.values(expected.lists).flat().length, undefined]);
    expect(revision).toBe(Number(expected.resourceVersion) + 1e9);
    const cluster = await start({ dataDir: join(folder, 'data'), controllers: false });
    const client = new Client(cluster.url);
    await expectLists(client, expected);
    const created = await client.post(configMaps, { metadata: { name: 'new' } });
    expect(Number(created.body.metadata.resourceVersion)).toBeGreaterThan(revision);
    await cluster.close();
  });
});
