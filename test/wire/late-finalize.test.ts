/** Proves that a client that finalizes a namespace itself succeeds beside the controller that does so, where both are expected. */
import { afterEach, describe, expect, it } from 'vitest';
import { type Cluster, type StartOptions, start } from '../../src/cluster/index.ts';
import { Client, type Json, mergePatch } from '../support/http.ts';

describe('a namespace that a client finalizes', () => {
  let cluster: Cluster | undefined;
  afterEach(() => cluster?.close());

  /** A namespace as it is right after its deletion. */
  async function deleted(options: StartOptions): Promise<{ client: Client; read: Json; finalized: Json }> {
    cluster = await start({ store: 'memory', like: 'kubernetes', ...options });
    const client = new Client(cluster.url);
    await client.post('/api/v1/namespaces', { metadata: { name: 'suite' } });
    const read = (await client.delete('/api/v1/namespaces/suite')).body;
    return { client, read, finalized: { ...read, spec: { finalizers: [] } } };
  }
  const path = '/api/v1/namespaces/suite';
  const cleaning = (namespaceGraceMs: number): StartOptions => ({
    controllers: ['namespace'],
    controllerSettings: { namespaceGraceMs },
  });

  it('may be newer than what it has read', async () => {
    const { client, finalized } = await deleted(cleaning(3_600_000));
    await client.patch(path, { metadata: { labels: { changed: 'since' } } }, mergePatch);
    const reply = await client.put(`${path}/finalize`, finalized);
    expect(reply.status, reply.text).toBe(200);
    expect((await client.get(path)).status).toBe(404);
  });

  it('may be gone', async () => {
    const { client, read, finalized } = await deleted(cleaning(1));
    const watch = await client.watch(
      `/api/v1/namespaces?watch=true&resourceVersion=${read.metadata.resourceVersion}&fieldSelector=metadata.name%3Dsuite`,
    );
    await watch.until(({ type }) => type === 'DELETED');
    const reply = await client.put(`${path}/finalize`, finalized);
    expect([reply.status, reply.body.metadata?.uid]).toEqual([200, read.metadata.uid]);
    expect((await client.get(path)).status).toBe(404);
    // One of the same name is another.
    const again = (await client.post('/api/v1/namespaces', { metadata: { name: 'suite' } })).body;
    expect((await client.put(`${path}/finalize`, finalized)).status).toBe(200);
    expect((await client.get(path)).body).toEqual(again);
    // What never was cannot be finalized.
    const never = { metadata: { name: 'never' }, spec: { finalizers: [] } };
    expect((await client.put('/api/v1/namespaces/never/finalize', never)).status).toBe(404);
  });

  it('is a conflict elsewhere', async () => {
    const { client, finalized } = await deleted({ controllers: false });
    await client.patch(path, { metadata: { labels: { changed: 'since' } } }, mergePatch);
    expect((await client.put(`${path}/finalize`, finalized)).status).toBe(409);
  });
});
