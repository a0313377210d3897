/** The life of custom kinds: served at once, changed while watched, removed with their objects, empty when made anew. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { modelOf } from '../../src/api/model/model.ts';
import { start } from '../../src/cluster/index.ts';
import { Client, type Json, useCluster } from '../support/http.ts';
import { conditionOf, define, definitionOf, definitionsPath, objectOf, objectsPath } from './definition.ts';

const client = useCluster({ like: 'kubernetes' });
const definitionPath = (plural: string): string => `${definitionsPath}/${plural}.test.example.com`;

describe('a definition', () => {
  it('serves its kind before it says that it is established', async () => {
    await define(client, definitionOf('ships', 'Ship', undefined, { shortNames: ['sh'] }));
    const created = await client.post(objectsPath('ships'), objectOf('Ship', 'one', { size: 3, more: 1 }));
    expect(created).toMatchObject({ status: 201, body: { spec: { size: 3 }, metadata: { generation: 1 } } });
    expect(created.body.spec).toEqual({ size: 3 });
    expect(created.warnings.join()).toContain('spec.more');
    const discovered = (await client.get('/apis/test.example.com/v1')).body.resources;
    expect(discovered[0]).toMatchObject({ name: 'ships', shortNames: ['sh'] });
    // The server owns what it wrote into the status.
    const { metadata } = (await client.get(definitionPath('ships'))).body;
    const owned = metadata.managedFields.find((entry: Json) => entry.manager === 'kube-apiserver');
    expect(owned).toMatchObject({ operation: 'Update', subresource: 'status' });
    expect(Object.keys(owned.fieldsV1['f:status'])).toEqual(['f:acceptedNames', 'f:conditions']);
    expect(Object.keys(owned.fieldsV1['f:status']['f:conditions'])).toEqual([
      'k:{"type":"Established"}',
      'k:{"type":"NamesAccepted"}',
    ]);
  });

  it('that changes ends watches cleanly, keeps history and objects, and shows new defaults at once', async () => {
    await define(client, definitionOf('boats', 'Boat'));
    const { body } = await client.post(objectsPath('boats'), objectOf('Boat', 'old', { size: 1 }));
    const since = body.metadata.resourceVersion;
    const watch = await client.watch(`${objectsPath('boats')}?watch=true&resourceVersion=${since}`);
    const color = { color: { type: 'string', default: 'red' } };
    await client.patch(definitionPath('boats'), {
      spec: definitionOf('boats', 'Boat', [{ name: 'v1', spec: color }]).spec,
    });
    await expect(watch.until(() => false)).rejects.toThrow();
    expect((await client.get(`${objectsPath('boats')}/old`)).body.spec).toEqual({ color: 'red', size: 1 });
    await client.post(objectsPath('boats'), objectOf('Boat', 'new'));
    const again = await client.watch(`${objectsPath('boats')}?watch=true&resourceVersion=${since}`);
    expect(await again.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'new' } } });
    again.close();
  });

  it('that goes takes its objects along, waits for finalizers, and is empty when it is made anew', async () => {
    const definition = definitionOf('rafts', 'Raft');
    await define(client, definition);
    await client.post(objectsPath('rafts'), objectOf('Raft', 'a'));
    const held = objectOf('Raft', 'held');
    held.metadata.finalizers = ['example.com/hold'];
    await client.post(objectsPath('rafts'), held);
    const watch = await client.watch(`${definitionsPath}?watch=true`);
    const deleted = await client.delete(definitionPath('rafts'));
    expect(deleted.body.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    const objects = await client.watch(`${objectsPath('rafts')}?watch=true&resourceVersion=0`);
    await objects.until(({ object }) => object.metadata.name === 'held');
    const refused = await client.post(objectsPath('rafts'), objectOf('Raft', 'late'));
    expect(refused).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    await client.patch(`${objectsPath('rafts')}/held`, { metadata: { finalizers: null } });
    await watch.until(({ type, object }) => type === 'DELETED' && object.metadata.name.startsWith('rafts.'));
    watch.close();
    objects.close();
    await define(client, definition);
    expect((await client.get(objectsPath('rafts'))).body.items).toEqual([]);
  });

  it('that goes does not ask policies about its objects', async () => {
    const admission = '/apis/admissionregistration.k8s.io/v1';
    await define(client, definitionOf('barges', 'Barge'));
    await client.post(objectsPath('barges'), objectOf('Barge', 'a'));
    const rule = {
      operations: ['DELETE'],
      apiGroups: ['test.example.com'],
      apiVersions: ['*'],
      resources: ['barges'],
    };
    await client.post(`${admission}/validatingadmissionpolicies`, {
      metadata: { name: 'keep' },
      spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false' }] },
    });
    await client.post(`${admission}/validatingadmissionpolicybindings`, {
      metadata: { name: 'keep' },
      spec: { policyName: 'keep', validationActions: ['Deny'] },
    });
    expect((await client.delete(`${objectsPath('barges')}/a`)).status).toBe(422);
    const watch = await client.watch(`${definitionsPath}?watch=true`);
    await client.delete(definitionPath('barges'));
    await watch.until(({ type, object }) => type === 'DELETED' && object.metadata.name.startsWith('barges.'));
    watch.close();
    await client.delete(`${admission}/validatingadmissionpolicybindings/keep`);
  });

  it('whose finalizer is taken away leaves nothing behind', async () => {
    const definition = definitionOf('wrecks', 'Wreck');
    await define(client, definition);
    const held = objectOf('Wreck', 'held');
    held.metadata.finalizers = ['example.com/hold'];
    await client.post(objectsPath('wrecks'), held);
    const watch = await client.watch(`${definitionsPath}?watch=true`);
    await client.delete(definitionPath('wrecks'));
    await client.patch(definitionPath('wrecks'), { metadata: { finalizers: null } });
    await watch.until(({ type, object }) => type === 'DELETED' && object.metadata.name.startsWith('wrecks.'));
    watch.close();
    await define(client, definition);
    expect((await client.get(objectsPath('wrecks'))).body.items).toEqual([]);
  });

  it('that takes the names of another waits until they are free', async () => {
    await define(client, definitionOf('firsts', 'First', undefined, { shortNames: ['f'] }));
    const second = definitionOf('seconds', 'Second', undefined, { shortNames: ['f'] });
    const watch = await client.watch(`${definitionsPath}?watch=true`);
    const ofSecond = (object: Json): boolean => object.metadata.name === second.metadata.name;
    await client.post(definitionsPath, second);
    const conflicting = await watch.until(
      ({ object }) => ofSecond(object) && conditionOf(object, 'NamesAccepted') !== undefined,
    );
    expect(conditionOf(conflicting.object, 'NamesAccepted')).toMatchObject({
      status: 'False',
      reason: 'ShortNamesConflict',
    });
    expect((await client.get(objectsPath('seconds'))).status).toBe(404);
    await client.delete(definitionPath('firsts'));
    await watch.until(
      ({ object }) => ofSecond(object) && conditionOf(object, 'Established')?.status === 'True',
    );
    watch.close();
    expect((await client.get(objectsPath('seconds'))).status).toBe(200);
  });

  it('in a group of built-in kinds cannot take their names', async () => {
    const definition = definitionOf('leases', 'Loan');
    definition.metadata = {
      name: 'leases.coordination.k8s.io',
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
    };
    definition.spec.group = 'coordination.k8s.io';
    const watch = await client.watch(`${definitionsPath}?watch=true`);
    await client.post(definitionsPath, definition);
    const { object } = await watch.until(
      ({ object }) => conditionOf(object, 'NamesAccepted')?.status === 'False',
    );
    watch.close();
    expect(conditionOf(object, 'NamesAccepted').reason).toBe('PluralConflict');
    expect((await client.get('/apis/coordination.k8s.io/v1/leases')).body.kind).toBe('LeaseList');
  });

  it('can be sent as protobuf', async () => {
    const part = (number: number, content: Buffer | string): Buffer => {
      const bytes = Buffer.from(content as string);
      const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
      const tag = number < 16 ? [(number << 3) | 2] : [((number << 3) & 127) | 130, number >> 4];
      return Buffer.concat([Buffer.from([...tag, ...length]), bytes]);
    };
    const of = (model: string, name: string): number =>
      modelOf(model, 'apiextensions-v1').fields.get(name)!.pb[0]!;
    const schema = (name: string, content: Buffer | string) => part(of('JSONSchemaProps', name), content);
    const text = schema('type', 'string');
    const root = Buffer.concat([
      schema('type', 'object'),
      schema(
        'properties',
        Buffer.concat([
          part(1, 'labels'),
          // A schema in the place of a schema or a boolean.
          part(2, Buffer.concat([schema('type', 'object'), schema('additionalProperties', part(2, text))])),
        ]),
      ),
    ]);
    const version = Buffer.concat([part(1, 'v1'), Buffer.from([0x10, 1, 0x18, 1]), part(4, part(1, root))]);
    const names = Buffer.concat([part(1, 'coats'), part(4, 'Coat')]);
    const spec = [part(1, 'pb.example.com'), part(3, names), part(4, 'Cluster'), part(7, version)];
    const definition = [part(1, part(1, 'coats.pb.example.com')), part(2, Buffer.concat(spec))];
    const typeMeta = [part(1, 'apiextensions.k8s.io/v1'), part(2, 'CustomResourceDefinition')];
    const body = [Buffer.from('k8s\0'), part(1, Buffer.concat(typeMeta)), part(2, Buffer.concat(definition))];
    const reply = await client.post(`${definitionsPath}?dryRun=All`, Buffer.concat(body), {
      'Content-Type': 'application/vnd.kubernetes.protobuf',
    });
    expect(reply.status, reply.text).toBe(201);
    expect(reply.body.spec.versions[0].schema.openAPIV3Schema).toEqual({
      type: 'object',
      properties: { labels: { type: 'object', additionalProperties: { type: 'string' } } },
    });
  });

  it('has objects that cannot be sent as protobuf', async () => {
    const reply = await client.post(objectsPath('ships'), Buffer.from('k8s\0'), {
      'Content-Type': 'application/vnd.kubernetes.protobuf',
    });
    expect(reply.status).toBe(415);
  });
});

describe('versions', () => {
  const versions = (stored: string) =>
    ['v1', 'v2'].map((name) => ({
      name,
      storage: name === stored,
      spec: name === 'v2' ? { only2: { type: 'string' } } : {},
    }));

  it('that are stored change, object by object, and nothing is lost', async () => {
    await define(client, definitionOf('docks', 'Dock', versions('v1')));
    await client.post(objectsPath('docks'), objectOf('Dock', 'd', { size: 1 }));
    await client.patch(definitionPath('docks'), { spec: definitionOf('docks', 'Dock', versions('v2')).spec });
    const path2 = `${objectsPath('docks', 'v2')}/d`;
    const patched = await client.patch(path2, { spec: { only2: 'x' } });
    expect(patched).toMatchObject({ status: 200, body: { apiVersion: 'test.example.com/v2' } });
    expect((await client.get(path2)).body.spec).toEqual({ only2: 'x', size: 1 });
    expect((await client.get(`${objectsPath('docks')}/d`)).body.spec).toEqual({ size: 1 });
    const { status } = (await client.get(definitionPath('docks'))).body;
    expect(status.storedVersions).toEqual(['v1', 'v2']);
  });

  it('a write that changes nothing stores an object in the new version', async () => {
    await define(client, definitionOf('piers', 'Pier', versions('v1')));
    const { body } = await client.post(objectsPath('piers'), objectOf('Pier', 'p', { size: 1 }));
    await client.patch(definitionPath('piers'), { spec: definitionOf('piers', 'Pier', versions('v2')).spec });
    const read = (await client.get(`${objectsPath('piers', 'v2')}/p`)).body;
    const written = await client.put(`${objectsPath('piers', 'v2')}/p`, read);
    expect(written.body.metadata.resourceVersion).not.toBe(body.metadata.resourceVersion);
    const twice = await client.put(`${objectsPath('piers', 'v2')}/p`, written.body);
    expect(twice.body.metadata.resourceVersion).toBe(written.body.metadata.resourceVersion);
  });
});

describe('a definition whose objects stay', () => {
  it('says after a minute that they could not be removed, and goes on', async () => {
    let aheadMs = 0;
    const cluster = await start({
      port: 0,
      controllers: false,
      chance: { nowMs: () => Date.now() + aheadMs },
    });
    const api = new Client(cluster.url);
    await define(api, definitionOf('anchors', 'Anchor'));
    for (const name of ['a', 'b', 'c']) {
      const held = objectOf('Anchor', name);
      held.metadata.finalizers = ['test.example.com/hold'];
      await api.post(objectsPath('anchors'), held);
    }
    const watch = await api.watch(`${definitionsPath}?watch=true&resourceVersion=0`);
    const until = (reason: string) =>
      watch.until(({ object }) => conditionOf(object, 'Terminating')?.reason === reason);
    const release = (name: string) =>
      api.patch(`${objectsPath('anchors')}/${name}`, { metadata: { finalizers: null } });
    await api.delete(definitionPath('anchors'));
    await until('InstanceDeletionInProgress');
    aheadMs = 61_000;
    await release('a');
    const { object } = await until('InstanceDeletionCheck');
    expect(conditionOf(object, 'Terminating')).toMatchObject({
      status: 'True',
      message: 'could not confirm zero CustomResources remaining: context deadline exceeded',
    });
    await release('b');
    await until('InstanceDeletionInProgress');
    await release('c');
    await watch.until(({ type }) => type === 'DELETED');
    watch.close();
    await cluster.close();
  });
});

describe('a data folder', () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-kinds-'));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  it('keeps definitions and their objects', async () => {
    const first = await start({ dataDir, port: 0, controllers: false });
    const before = new Client(first.url);
    await define(before, definitionOf('crates', 'Crate'));
    await before.post(objectsPath('crates'), objectOf('Crate', 'c', { size: 2 }));
    await first.close();
    const second = await start({ dataDir, port: 0, controllers: false });
    const after = new Client(second.url);
    expect((await after.get(`${objectsPath('crates')}/c`)).body.spec).toEqual({ size: 2 });
    await second.close();
  });
});
