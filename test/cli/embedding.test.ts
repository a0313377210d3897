/**
 * Proves that clusters can be embedded: many in one process, independent of each other, and closed without
 * leftovers.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CoreV1Api, KubeConfig, Watch } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, StartError, type StartOptions, start } from '../../src/cluster/index.ts';
import { Client } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const library = join(import.meta.dirname, '../..', 'dist', 'index.js');
const folders: string[] = [];
const open: Cluster[] = [];

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'wherry-embed-'));
  folders.push(path);
  return path;
}

async function begin(options?: StartOptions): Promise<Cluster> {
  const cluster = await start(options);
  open.push(cluster);
  return cluster;
}

afterEach(async () => {
  for (const cluster of open.splice(0)) await cluster.close();
});
afterAll(async () => {
  for (const path of folders) await rm(path, { recursive: true, force: true });
});

/** With `npm test` a third of them. */
const clusterCount = isRelease ? 30 : 10;

describe('many clusters in one process', () => {
  it('do not know of each other', async () => {
    const clusters = await Promise.all(
      Array.from({ length: clusterCount }, async (_, i) =>
        begin(i % 5 === 0 ? { dataDir: await folder() } : {}),
      ),
    );
    expect(new Set(clusters.map(({ url }) => url)).size).toBe(clusterCount);
    const clients = clusters.map(({ url }) => new Client(url));
    await Promise.all(
      clients.map((client, i) => client.post(configMaps, { metadata: { name: `only-${i}` } })),
    );
    const lists = await Promise.all(clients.map((client) => client.get(configMaps)));
    expect(
      lists.map(({ body }) => body.items.map((item: { metadata: { name: string } }) => item.metadata.name)),
    ).toEqual(lists.map((_, i) => [`only-${i}`]));
    // Closing some does not affect the others.
    const half = clusterCount / 2;
    await Promise.all(clusters.slice(0, half).map((cluster) => cluster.close()));
    for (const client of clients.slice(0, half)) await expect(client.get('/healthz')).rejects.toThrow();
    for (const client of clients.slice(half)) expect((await client.get('/healthz')).text).toBe('ok');
  });
});

describe('a cluster in a process', () => {
  const events = [
    'SIGTERM',
    'SIGINT',
    'SIGHUP',
    'uncaughtException',
    'unhandledRejection',
    'beforeExit',
    'warning',
  ];

  it('installs no handlers and prints nothing', async () => {
    const handlers = () => events.map((event) => process.listenerCount(event));
    const before = handlers();
    const written: unknown[] = [];
    const { stdout, stderr } = process;
    const originals = [stdout.write, stderr.write] as const;
    stdout.write = stderr.write = ((text: unknown) => written.push(text) > 0) as typeof stdout.write;
    try {
      for (const options of [{}, { dataDir: await folder() }]) {
        const cluster = await begin(options);
        const client = new Client(cluster.url);
        await client.post(configMaps, { metadata: { name: 'a' } });
        await client.post(configMaps, '{');
        expect(handlers()).toEqual(before);
        await cluster.close();
      }
    } finally {
      [stdout.write, stderr.write] = originals;
    }
    expect(written).toEqual([]);
    expect(handlers()).toEqual(before);
  });

  it('closes once, however often it is asked to, with clients of all sorts still there', async () => {
    const cluster = await begin();
    const client = new Client(cluster.url);
    const watch = await client.watch(`${configMaps}?watch=1`);
    const unread = await client.watch('/api/v1/namespaces?watch=1');
    const slow = client.get(`${configMaps}?resourceVersion=1000000`).catch(() => undefined);
    await Promise.all([cluster.close(), cluster.close(), cluster.close()]);
    await cluster.close();
    await Promise.all([watch.ended, unread.ended, slow]);
  });

  it('gives its folder back when it closes', async () => {
    const dataDir = await folder();
    const first = await begin({ dataDir });
    await expect(start({ dataDir })).rejects.toThrow(/is in use by process/);
    const created = await new Client(first.url).post(configMaps, { metadata: { name: 'a' } });
    await first.close();
    const second = await begin({ dataDir });
    expect((await new Client(second.url).get(`${configMaps}/a`)).text).toBe(created.text);
  });

  it('says what is wrong when it cannot start, and leaves nothing open', async () => {
    const first = await begin();
    const dataDir = await folder();
    const port = Number(new URL(first.url).port);
    await expect(start({ port, dataDir })).rejects.toThrow(StartError);
    await expect(start({ host: '0.0.0.0', dataDir })).rejects.toThrow(StartError);
    await expect(start({ store: 'lmdb' })).rejects.toThrow(StartError);
    // The folder can be opened again, so the store was closed.
    await begin({ dataDir });
    expect(await readdir(dataDir)).toContain('data.mdb');
  });

  it.each([
    [{ dataDirectory: 'x' }, 'there is no option "dataDirectory"'],
    [{ simulatedNode: 1 }, 'there is no option "simulatedNode"; did you mean "simulatedNodes"?'],
    [{ node: { image: 'x' } }, 'there is no option "node.image"; did you mean "node.images"?'],
    [{ history: { changes: 3 } }, 'there is no option "history.changes"; did you mean "history.changesMax"?'],
    [
      { chance: { random: Math.random } },
      'there is no option "chance.random"; did you mean "chance.randomBelow"?',
    ],
    [{ limits: { bodyBytes: 3 } }, 'there is no limit "bodyBytes"'],
    [{ store: 'sqlite' }, 'there is no store "sqlite"; there are memory, lmdb and etcd'],
    [{ store: 'sqlite', dataDir: 'x' }, 'there is no store "sqlite"; there are memory, lmdb and etcd'],
    [{ store: 'constructor' }, 'there is no store "constructor"; there are memory, lmdb and etcd'],
    [{ node: { images: '/nope.yaml' } }, /^image table \/nope\.yaml: ENOENT/],
  ])('refuses %j by name', async (options, says) => {
    const refused = start(options as StartOptions);
    await expect(refused).rejects.toThrow(StartError);
    await expect(refused).rejects.toThrow(says);
  });

  it('can be like Kubernetes: a create is 201, and a watch begins with the state', async () => {
    const cluster = await begin({ like: 'kubernetes', controllers: false });
    const client = new Client(cluster.url);
    expect((await client.post(configMaps, { metadata: { name: 'a' } })).status).toBe(201);
    await client.patch(`${configMaps}/a`, { data: { a: 'b' } });
    const watch = await client.watch(`${configMaps}?watch=1`);
    const first = await watch.until(() => true);
    expect([first.type, first.object.data]).toEqual(['ADDED', { a: 'b' }]);
    watch.close();
    await expect(start({ like: 'docker' } as unknown as StartOptions)).rejects.toThrow(
      'a cluster can be like "kubernetes" only, not "docker"',
    );
  });

  it('takes time, uids and suffixes from its host', async () => {
    const chance = {
      nowMs: () => Date.UTC(2001, 1, 3, 4, 5, 6),
      uid: () => 'uid-of-the-test',
      randomBelow: () => 0,
    };
    const cluster = await begin({ chance, controllers: false });
    const { metadata } = (
      await new Client(cluster.url).post(configMaps, { metadata: { generateName: 'a-' } })
    ).body;
    expect(metadata).toMatchObject({
      name: 'a-bbbbb',
      uid: 'uid-of-the-test',
      creationTimestamp: '2001-02-03T04:05:06Z',
    });
  });
});

describe('a process', () => {
  beforeAll(() => {
    if (!existsSync(library)) throw new Error(`${library} is missing; run: node scripts/build.mjs`);
  });

  /** Runs a script that may use `start`; it must end by itself. */
  function runs(script: string): Promise<{ code: number | null; output: string }> {
    const text = `import { request } from 'node:http';\nimport { start } from ${JSON.stringify(library)};\n${script}`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', text], { timeout: 60_000 });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => {
        output += part;
      });
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
  }

  it('ends by itself when its clusters in memory and on disk are closed', async () => {
    const script = `
      for (const options of [{}, { dataDir: ${JSON.stringify(await folder())} }]) {
        const cluster = await start(options);
        const sent = request(cluster.url + '/api/v1/namespaces?watch=1', (response) => {
          response.resume().on('close', () => console.log('watch ended', response.complete));
          const post = request(cluster.url + '${configMaps}', { method: 'POST' }, async (answer) => {
            answer.resume();
            await cluster.close();
            console.log('closed');
          });
          post.end('{"metadata":{"name":"a"}}');
        });
        sent.end();
      }`;
    const { code, output } = await runs(script);
    expect({ code, lines: output.split('\n').sort() }).toEqual({
      code: 0,
      lines: ['', 'closed', 'closed', 'watch ended true', 'watch ended true'],
    });
  });

  it('ends by itself when a cluster with an ingress and nodes is closed, ready or not', async () => {
    const script = `
      for (const wait of [true, false]) {
        const cluster = await start({ ingress: { port: 0, host: '127.0.0.1' }, simulatedNodes: 3 });
        if (wait) await cluster.nodesReady;
        await cluster.close();
        console.log('closed');
      }`;
    expect(await runs(script)).toEqual({ code: 0, output: 'closed\nclosed\n' });
  });

  it('ends by itself when its cluster could not start', async () => {
    const script = `
      await start({ host: '0.0.0.0' }).catch((error) => console.log(error.name));
      const cluster = await start();
      const port = Number(new URL(cluster.url).port);
      await start({ port, dataDir: ${JSON.stringify(await folder())} }).catch((error) => console.log(error.name));
      await cluster.close();`;
    expect(await runs(script)).toEqual({ code: 0, output: 'StartError\nStartError\n' });
  });

  it('does not end while a cluster is open', async () => {
    const script = `
      const cluster = await start();
      // A timer that does not count: the cluster alone keeps the process alive until it fires.
      setTimeout(() => cluster.close().then(() => console.log('closed')), 100).unref();`;
    expect(await runs(script)).toEqual({ code: 0, output: 'closed\n' });
  });
});

describe('the kubeconfig of a cluster', () => {
  it('is all that the official client needs', async () => {
    const cluster = await begin();
    const config = new KubeConfig();
    config.loadFromString(cluster.kubeconfig);
    expect(config.getCurrentCluster()!.server).toBe(cluster.url);
    const api = config.makeApiClient(CoreV1Api);
    const names = (await api.listNamespace()).items.map(({ metadata }) => metadata!.name);
    expect(names).toEqual(expect.arrayContaining(['default', 'kube-system']));

    const seen: string[] = [];
    const watch = new Watch(config);
    const ended = new Promise<unknown>((resolve, reject) => {
      const path = '/api/v1/namespaces/default/configmaps';
      watch
        .watch(path, {}, (type, object) => seen.push(`${type} ${object.metadata.name}`), resolve)
        .then(async (controller) => {
          const body = { metadata: { name: 'from-client' }, data: { a: 'b' } };
          const created = await api.createNamespacedConfigMap({ namespace: 'default', body });
          expect(created.data).toEqual({ a: 'b' });
          expect(created.metadata!.creationTimestamp).toBeInstanceOf(Date);
          await api.replaceNamespacedConfigMap({
            namespace: 'default',
            name: 'from-client',
            body: { ...created, data: { a: 'c' } },
          });
          await api.deleteNamespacedConfigMap({ namespace: 'default', name: 'from-client' });
          const missing = api.readNamespacedConfigMap({ namespace: 'default', name: 'from-client' });
          await expect(missing).rejects.toMatchObject({ code: 404 });
          void controller;
          // Closing the cluster ends the watch, after all its events.
          await cluster.close();
        })
        .catch(reject);
    });
    await ended;
    expect(seen).toEqual(['ADDED from-client', 'MODIFIED from-client', 'DELETED from-client']);
  });
});
