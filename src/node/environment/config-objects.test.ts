/**
 * Proves the cache of config maps and secrets: few reads, no stale answers to `fresh` reads, missing objects
 * not cached.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../client/client.ts';
import { configMaps, secrets } from '../../client/resources.ts';
import { type Cluster, start } from '../../cluster/index.ts';
import { ConfigObjects } from './config-objects.ts';

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
    // Proves the cache: `cached` may return an older answer, `fresh` returns the newest, and entries expire.
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
    // Proves that the absence of an object is not cached.
    const objects = new ConfigObjects(client);
    expect(await objects.secret('default', 'late')).toBeUndefined();
    await client.create(secrets, 'default', { metadata: { name: 'late' }, data: { k: 'eA==' } });
    expect((await objects.secret('default', 'late'))?.data).toEqual({ k: 'eA==' });
    // A config map of the same name is a different object.
    expect(await objects.configMap('default', 'late')).toBeUndefined();
    objects.close();
  });

  it('are asked for once by many at a time, and forgotten when there are too many', async () => {
    // Proves that concurrent reads share one request, and that the number of cached objects is bounded.
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
    // Proves that a failure is thrown to the caller and not cached.
    const gone = new Client('http://127.0.0.1:1');
    const objects = new ConfigObjects(gone);
    await expect(objects.secret('default', 'x')).rejects.toThrow('ECONNREFUSED');
    await expect(objects.secret('default', 'x')).rejects.toThrow('ECONNREFUSED');
    objects.close();
    gone.close();
  });
});
