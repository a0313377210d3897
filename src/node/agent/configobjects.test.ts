/** Proves that config maps and secrets are read rarely, never stale where it matters, and missing ones again. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../client/client.ts';
import { configMaps, secrets } from '../../client/resources.ts';
import { type Cluster, start } from '../../cluster/index.ts';
import { ConfigObjects } from './configobjects.ts';

let cluster: Cluster;
let client: Client;

beforeAll(async () => {
  cluster = await start({ store: 'memory' });
  client = new Client(cluster.url);
});

afterAll(async () => {
  client.close();
  await cluster.close();
});

const setText = (name: string, text: string) => client.patch(configMaps, 'default', name, { data: { text } });

describe('config objects', () => {
  it('are kept for a while, and read anew when that matters', async () => {
    // Proves the cache: an older answer for those who take one, the newest for those who ask, and the end of its life.
    let now = 0;
    const objects = new ConfigObjects(client, { now: () => now });
    await client.create(configMaps, 'default', { metadata: { name: 'one' }, data: { text: 'a' } });
    const text = async (freshness?: 'fresh') =>
      (await objects.configMap('default', 'one', freshness))?.data?.text;
    expect(await text()).toBe('a');
    await setText('one', 'b');
    expect(await text()).toBe('a');
    expect(await text('fresh')).toBe('b');
    expect(await text()).toBe('b');
    await setText('one', 'c');
    now = 3_000;
    expect(await text()).toBe('c');
    objects.close();
    await expect(text()).rejects.toThrow('closing');
  });

  it('are seen as soon as they are made', async () => {
    // Proves that nothing is remembered of an object that is not there.
    const objects = new ConfigObjects(client);
    expect(await objects.secret('default', 'late')).toBeUndefined();
    await client.create(secrets, 'default', { metadata: { name: 'late' }, data: { k: 'eA==' } });
    expect((await objects.secret('default', 'late'))?.data).toEqual({ k: 'eA==' });
    // A config map of that name is something else.
    expect(await objects.configMap('default', 'late')).toBeUndefined();
    objects.close();
  });

  it('are asked for once by many at a time, and forgotten when there are too many', async () => {
    // Proves sharing of a request under way, and the bound on what is kept.
    const asked: string[] = [];
    const counting = new Client(cluster.url);
    const get = counting.get.bind(counting);
    counting.get = (of, namespace, name) => {
      asked.push(name);
      return get(of, namespace, name);
    };
    const objects = new ConfigObjects(counting);
    await client.create(configMaps, 'default', { metadata: { name: 'shared' } });
    await Promise.all(Array.from({ length: 20 }, () => objects.configMap('default', 'shared')));
    expect(asked).toEqual(['shared']);
    await Promise.all(Array.from({ length: 120 }, (_, i) => objects.configMap('default', `none-${i}`)));
    await objects.configMap('default', 'shared');
    expect(asked.filter((name) => name === 'shared')).toHaveLength(2);
    objects.close();
    counting.close();
  });

  it('fail when the server does, and recover', async () => {
    // Proves that a failure is told and not kept.
    const gone = new Client('http://127.0.0.1:1');
    const objects = new ConfigObjects(gone);
    await expect(objects.secret('default', 'x')).rejects.toThrow('ECONNREFUSED');
    await expect(objects.secret('default', 'x')).rejects.toThrow('ECONNREFUSED');
    objects.close();
    gone.close();
  });
});
