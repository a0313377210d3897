/** Proves that owners of fields in one version of a custom kind are found when another version is written. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { HookHost } from '../../src/extensions/calls/hook-host.fixture.ts';
import { Client, type Json, mergePatch } from '../support/http.ts';
import { define, definitionOf, definitionsPath, objectOf, objectsPath } from './definition.ts';

const group = 'test.example.com';

describe('ownership in several versions', () => {
  const host = new HookHost();
  let cluster: Cluster;
  let client: Client;
  beforeAll(async () => {
    await host.start();
    cluster = await start({ port: 0, like: 'kubernetes', controllers: false });
    client = new Client(cluster.url);
    host.hooks.set('/convert', { convert: { to: 'v2', rename: ['size', 'amount'] } });
    const boxes = definitionOf('boxes', 'Box', [
      { name: 'v1', storage: true, spec: { color: { type: 'string' } } },
      { name: 'v2', spec: { amount: { type: 'integer' }, color: { type: 'string' } } },
      { name: 'v3', served: false, spec: { amount: { type: 'integer' }, color: { type: 'string' } } },
    ]);
    boxes.spec.conversion = {
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: { url: `${host.url}/convert`, caBundle: host.ca },
      },
    };
    await define(client, boxes);
    const level = { level: { type: 'integer', default: 1 }, color: { type: 'string' } };
    await define(
      client,
      definitionOf('jars', 'Jar', [
        { name: 'v1', storage: true, spec: level },
        { name: 'v2', spec: level },
      ]),
    );
  });
  afterAll(async () => {
    await cluster.close();
    await host.close();
  });

  const apply = (
    manager: string,
    name: string,
    version: string,
    spec: Json,
    force = false,
    plural = 'boxes',
  ) =>
    client.patch(
      `${objectsPath(plural, version)}/${name}?fieldManager=${manager}&force=${force}`,
      objectOf(plural === 'boxes' ? 'Box' : 'Jar', name, spec, version),
      'application/apply-patch+yaml',
    );
  const owned = ({ metadata }: Json): Json =>
    Object.fromEntries(
      (metadata.managedFields ?? []).map(({ manager, apiVersion, fieldsV1 }: Json) => [
        `${manager} ${apiVersion.split('/')[1]}`,
        Object.keys(fieldsV1['f:spec'] ?? fieldsV1).join(' '),
      ]),
    );

  it('conflicts in the words of the version in which a field is owned', async () => {
    await apply('alice', 'one', 'v1', { size: 1, color: 'red' });
    const refused = await apply('bob', 'one', 'v2', { amount: 2 });
    expect(refused.status).toBe(409);
    expect(refused.body.message).toBe('Apply failed with 1 conflict: conflict with "alice": .spec.size');
    const same = await apply('bob', 'one', 'v2', { amount: 1 });
    expect(owned(same.body)).toEqual({ 'alice v1': 'f:color f:size', 'bob v2': 'f:amount' });
    const forced = await apply('bob', 'one', 'v2', { amount: 2 }, true);
    expect(owned(forced.body)).toEqual({ 'alice v1': 'f:color', 'bob v2': 'f:amount' });
    expect(forced.body.spec).toEqual({ amount: 2, color: 'red' });
  });

  it('removes what the manager applied in another version', async () => {
    await apply('alice', 'two', 'v1', { size: 1, color: 'red' });
    await apply('bob', 'two', 'v2', { color: 'red' });
    const { body } = await apply('alice', 'two', 'v2', {});
    expect(body.spec).toEqual({ color: 'red' });
    expect(owned(body)).toEqual({ 'alice v2': '', 'bob v2': 'f:color' });
  });

  it('keeps what another manager owns in another version', async () => {
    await apply('alice', 'three', 'v1', { size: 1, color: 'red' });
    await apply('bob', 'three', 'v2', { amount: 1 });
    const { body } = await apply('alice', 'three', 'v1', { color: 'red' });
    expect(body.spec).toEqual({ size: 1, color: 'red' });
    expect(owned(body)).toEqual({ 'alice v1': 'f:color', 'bob v2': 'f:amount' });
  });

  it('takes fields from their owners when another version of them is updated', async () => {
    await apply('alice', 'four', 'v1', { size: 1, color: 'red' });
    const path = `${objectsPath('boxes', 'v2')}/four?fieldManager=carol`;
    const { body } = await client.patch(path, { spec: { amount: 5 } }, mergePatch);
    expect(owned(body)).toEqual({ 'alice v1': 'f:color', 'carol v2': 'f:amount' });
    const labelled = await client.patch(path, { metadata: { labels: { a: 'b' } } }, mergePatch);
    expect(owned(labelled.body)['alice v1']).toBe('f:color');
  });

  it('takes entries of versions that are not served, and drops those of versions that are not there', async () => {
    const object = objectOf('Box', 'five', { size: 1, color: 'red' });
    const entry = (manager: string, version: string, field: string) => ({
      manager,
      operation: 'Update',
      apiVersion: `${group}/${version}`,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': { [`f:${field}`]: {}, 'f:other': {} } },
    });
    object.metadata.managedFields = [
      entry('known', 'v3', 'color'),
      entry('unknown', 'v9', 'color'),
      entry('renamed', 'v2', 'amount'),
    ];
    const { body } = await client.post(`${objectsPath('boxes')}?fieldManager=poster`, object);
    expect(owned(body)).toEqual({
      'known v3': 'f:other',
      'renamed v2': 'f:other',
      'poster v1': '. f:color f:size',
    });
  });

  it('asks no webhook about an object that is owned in one version', async () => {
    await apply('alice', 'six', 'v1', { size: 1 });
    host.take();
    await apply('bob', 'six', 'v1', { color: 'red' });
    expect(host.take()).toEqual([]);
  });

  it('refuses an apply that it cannot compare, and forgets owners with an update', async () => {
    await apply('alice', 'seven', 'v2', { amount: 1 });
    const update = (url: string) =>
      client.patch(
        `${definitionsPath}/boxes.${group}`,
        { spec: { conversion: { webhook: { clientConfig: { url } } } } },
        mergePatch,
      );
    await update(`${host.url}/broken`);
    host.hooks.set('/broken', { convert: { fail: 'not today' } });
    const refused = await apply('bob', 'seven', 'v1', { color: 'red' });
    expect(refused.status).toBe(500);
    expect(refused.body.message).toBe(`conversion webhook for ${group}/v1, Kind=Box failed: not today`);
    const { status, body } = await client.patch(
      `${objectsPath('boxes')}/seven`,
      { spec: { color: 'red' } },
      mergePatch,
    );
    expect(status).toBe(200);
    expect(body.spec).toEqual({ color: 'red', size: 1 });
    expect(body.metadata.managedFields).toBeUndefined();
    await update(`${host.url}/convert`);
  });

  it('brings no default of another version back when a field is removed', async () => {
    await apply('alice', 'jar', 'v1', { level: 5 }, false, 'jars');
    await apply('bob', 'jar', 'v2', { color: 'red' }, false, 'jars');
    const { body } = await apply('alice', 'jar', 'v1', {}, false, 'jars');
    expect(body.spec).toEqual({ color: 'red', level: 1 });
  });
});
