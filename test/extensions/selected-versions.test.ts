/** Proves that field selectors look at objects in the version that was asked for: lists, watches, deletecollection. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { HookHost } from '../../src/extensions/calls/hook-host.fixture.ts';
import { Client, type Json, mergePatch } from '../support/http.ts';
import { define, definitionOf, objectOf, objectsPath } from './definition.ts';

const selectable = (jsonPath: string): Json => ({ selectableFields: [{ jsonPath }] });
const names = ({ body }: { body: Json }): string[] => body.items.map(({ metadata }: Json) => metadata.name);

describe('field selectors of a version', () => {
  const host = new HookHost();
  let cluster: Cluster;
  let client: Client;
  beforeAll(async () => {
    await host.start();
    cluster = await start({ port: 0, like: 'kubernetes', controllers: false });
    client = new Client(cluster.url);
    host.hooks.set('/convert', { convert: { to: 'v2', rename: ['size', 'amount'] } });
    const crates = definitionOf('crates', 'Crate', [
      { name: 'v1', storage: true, more: selectable('.spec.size') },
      { name: 'v2', spec: { amount: { type: 'integer' } }, more: selectable('.spec.amount') },
    ]);
    crates.spec.conversion = {
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: { url: `${host.url}/convert`, caBundle: host.ca },
      },
    };
    await define(client, crates);
    const grade = { type: 'string', default: 'coarse' };
    await define(
      client,
      definitionOf('sacks', 'Sack', [
        { name: 'v1', storage: true },
        { name: 'v2', spec: { grade }, more: selectable('.spec.grade') },
      ]),
    );
  });
  afterAll(async () => {
    await cluster.close();
    await host.close();
  });

  const create = (name: string, size: number) =>
    client.post(objectsPath('crates'), objectOf('Crate', name, { size }));
  const inV2 = objectsPath('crates', 'v2');

  it('lists, also page by page and at an older version', async () => {
    const first = await create('small', 1);
    await create('large', 9);
    await create('huge', 9);
    expect(names(await client.get(`${inV2}?fieldSelector=spec.amount=9`))).toEqual(['huge', 'large']);
    expect(names(await client.get(`${inV2}?fieldSelector=spec.amount!=9`))).toEqual(['small']);
    expect(names(await client.get(`${objectsPath('crates')}?fieldSelector=spec.size=9`))).toHaveLength(2);
    const page = await client.get(`${inV2}?fieldSelector=spec.amount=9&limit=1`);
    expect(names(page)).toEqual(['huge']);
    const { continue: token } = page.body.metadata;
    const rest = await client.get(`${inV2}?fieldSelector=spec.amount=9&limit=1&continue=${token}`);
    expect(names(rest)).toEqual(['large']);
    const { resourceVersion } = first.body.metadata;
    const older = `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
    expect(names(await client.get(`${inV2}?fieldSelector=spec.amount=1&${older}`))).toEqual(['small']);
    expect(names(await client.get(`${inV2}?fieldSelector=spec.amount=9&${older}`))).toEqual([]);
    expect((await client.get(`${inV2}?fieldSelector=spec.size=9`)).status).toBe(400);
  });

  it('watches what comes to match and what no longer does', async () => {
    const { body } = await client.get(inV2);
    const watch = await client.watch(
      `${inV2}?watch=true&fieldSelector=spec.amount=5&resourceVersion=${body.metadata.resourceVersion}`,
    );
    try {
      await create('other', 4);
      await create('moving', 5);
      await client.patch(`${objectsPath('crates')}/moving`, { spec: { size: 6 } }, mergePatch);
      await create('last', 5);
      const seen: string[] = [];
      await watch.until(({ type, object }) => {
        seen.push(`${type} ${object.metadata.name} ${object.spec.amount}`);
        return object.metadata.name === 'last';
      });
      expect(seen).toEqual(['ADDED moving 5', 'DELETED moving 5', 'ADDED last 5']);
    } finally {
      watch.close();
    }
  });

  it('begins a watch with the objects that match', async () => {
    await create('there', 77);
    const watch = await client.watch(`${inV2}?watch=true&fieldSelector=spec.amount=77&resourceVersion=0`);
    try {
      const event = await watch.until(() => true);
      expect(event.object.metadata.name).toBe('there');
    } finally {
      watch.close();
    }
  });

  it('deletes a collection', async () => {
    await create('doomed', 13);
    await create('spared', 14);
    const deleted = await client.delete(`${inV2}?fieldSelector=spec.amount=13`);
    expect(deleted.status).toBe(200);
    expect((await client.get(`${inV2}/doomed`)).status).toBe(404);
    expect((await client.get(`${inV2}/spared`)).status).toBe(200);
  });

  it('tells a list that cannot be converted, and serves other versions meanwhile', async () => {
    await create('stuck', 21);
    host.hooks.set('/convert', { convert: { fail: 'no ladder' } } as Json);
    const refused = await client.get(`${inV2}?fieldSelector=spec.amount=21`);
    expect(refused.status).toBe(500);
    expect(refused.body.kind).toBe('Status');
    expect(names(await client.get(`${objectsPath('crates')}?fieldSelector=spec.size=21`))).toEqual(['stuck']);
    host.hooks.set('/convert', { convert: { to: 'v2', rename: ['size', 'amount'] } });
    expect(names(await client.get(`${inV2}?fieldSelector=spec.amount=21`))).toEqual(['stuck']);
  });

  it('sees defaults of a version that converts without a webhook', async () => {
    await client.post(objectsPath('sacks'), objectOf('Sack', 'plain', { size: 1 }));
    const inOther = objectsPath('sacks', 'v2');
    expect(names(await client.get(`${inOther}?fieldSelector=spec.grade=coarse`))).toEqual(['plain']);
    expect(names(await client.get(`${inOther}?fieldSelector=spec.grade=fine`))).toEqual([]);
  });
});
