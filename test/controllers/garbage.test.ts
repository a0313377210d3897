/** The garbage collector: dependents of a deleted owner, with each of the three propagation policies. */
import { beforeEach, describe, expect, test } from 'vitest';
import { brief, type Json, mergePatch, useCluster } from '../support/http.ts';

const api = useCluster();
let namespace = '';
let count = 0;
const path = (name = '') => `/api/v1/namespaces/${namespace}/configmaps${name && `/${name}`}`;

beforeEach(async () => {
  namespace = `garbage-${++count}`;
  expect((await api.post('/api/v1/namespaces', { metadata: { name: namespace } })).status).toBe(200);
});

const reference = (owner: Json, more: Json = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  ...more,
});

async function make(name: string, owners: Json[] = [], finalizers: string[] = []): Promise<Json> {
  const reply = await api.post(path(), { metadata: { name, ownerReferences: owners, finalizers } });
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

/** Waits until all these objects are deleted, in whatever order. */
async function gone(...names: string[]): Promise<string[]> {
  const watch = await api.watch(`${path()}?watch=true&resourceVersion=0`);
  const order: string[] = [];
  const list = (await api.get(path())).body.items.map((item: Json) => item.metadata.name);
  const waiting = new Set(names.filter((name) => list.includes(name)));
  while (waiting.size) {
    const event = await watch.until(({ type }) => type === 'DELETED');
    if (waiting.delete(event.object.metadata.name)) order.push(event.object.metadata.name);
  }
  watch.close();
  return order;
}

const left = async (): Promise<string[]> =>
  (await api.get(path())).body.items.map((item: Json) => item.metadata.name);

describe('background deletion', () => {
  test('removes the owner at once, then its dependents, and theirs', async () => {
    const owner = await make('owner');
    const child = await make('child', [reference(owner)]);
    await make('grandchild', [reference(child)]);
    await make('stranger');
    expect((await api.delete(path('owner'), { propagationPolicy: 'Background' })).status).toBe(200);
    expect((await api.get(path('owner'))).status).toBe(404);
    await gone('child', 'grandchild');
    expect(await left()).toEqual(['stranger']);
  });

  test('spares a dependent that has another owner, and makes it forget the one gone', async () => {
    const [a, b] = [await make('a'), await make('b')];
    await make('child', [reference(a), reference(b)]);
    const watch = await api.watch(
      `${path()}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dchild`,
    );
    await api.delete(path('a'));
    const { object } = await watch.until(({ type }) => type === 'MODIFIED');
    expect(object.metadata.ownerReferences.map((one: Json) => one.name)).toEqual(['b']);
    watch.close();
  });

  test('an object of the same name but another uid does not count as the owner', async () => {
    const owner = await make('owner');
    await make('child', [reference(owner, { uid: '00000000-0000-4000-8000-000000000000' })]);
    await gone('child');
    expect(await left()).toEqual(['owner']);
  });

  test('an owner of a kind that is not served keeps its dependents', async () => {
    await make('child', [{ apiVersion: 'example.com/v1', kind: 'ReplicaSet', name: 'x', uid: 'y' }]);
    const other = await make('other');
    await make('witness', [reference(other)]);
    await api.delete(path('other'));
    await gone('witness');
    expect(await left()).toEqual(['child']);
  });
});

describe('foreground deletion', () => {
  test('keeps the owner until the dependents that block it are gone', async () => {
    const owner = await make('owner');
    await make('child', [reference(owner, { blockOwnerDeletion: true })], ['example.com/hold']);
    const reply = await api.delete(path('owner'), { propagationPolicy: 'Foreground' });
    expect(reply.body.metadata.finalizers).toEqual(['foregroundDeletion']);
    expect(reply.body.metadata.deletionTimestamp).toBeDefined();
    const watch = await api.watch(
      `${path()}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dchild`,
    );
    await watch.until(({ object }) => object.metadata.deletionTimestamp !== undefined);
    watch.close();
    expect(await left()).toEqual(['child', 'owner']);
    await api.patch(path('child'), { metadata: { finalizers: null } }, mergePatch);
    await gone('owner');
    expect(await left()).toEqual([]);
  });

  test('does not wait for dependents that do not block', async () => {
    const owner = await make('owner');
    await make('child', [reference(owner)], ['example.com/hold']);
    await api.delete(path('owner'), { propagationPolicy: 'Foreground' });
    await gone('owner');
    expect(await left()).toEqual(['child']);
  });

  test('a second delete in the background lets the owner go at once', async () => {
    const owner = await make('owner');
    await make('child', [reference(owner, { blockOwnerDeletion: true })], ['example.com/hold']);
    await api.delete(path('owner'), { propagationPolicy: 'Foreground' });
    await api.delete(path('owner'), { propagationPolicy: 'Background' });
    expect((await api.get(path('owner'))).status).toBe(404);
  });
});

describe('owners in a circle', () => {
  /** a is owned by c, b by a, c by b, and each blocks its owner. */
  async function circle(): Promise<void> {
    const objects = [await make('a'), await make('b'), await make('c')];
    for (const [i, { metadata }] of objects.entries()) {
      const owner = reference(objects[(i + 2) % 3], { blockOwnerDeletion: true });
      const patch = { metadata: { ownerReferences: [owner] } };
      expect((await api.patch(path(metadata.name), patch, mergePatch)).status).toBe(200);
    }
  }

  test('all go when one is deleted in the foreground', async () => {
    await circle();
    await api.delete(path('a'), { propagationPolicy: 'Foreground' });
    await gone('a', 'b', 'c');
    expect(await left()).toEqual([]);
  });

  test('all go when all are deleted in the foreground', async () => {
    await circle();
    for (const name of ['a', 'b', 'c']) await api.delete(path(name), { propagationPolicy: 'Foreground' });
    await gone('a', 'b', 'c');
    expect(await left()).toEqual([]);
  });

  test('an owner goes when a client removes the reference it waits for', async () => {
    const owner = await make('owner');
    await make('child', [reference(owner, { blockOwnerDeletion: true })], ['example.com/hold']);
    await api.delete(path('owner'), { propagationPolicy: 'Foreground' });
    await api.patch(path('child'), { metadata: { ownerReferences: null } }, mergePatch);
    await gone('owner');
    expect(await left()).toEqual(['child']);
  });
});

describe('orphaning', () => {
  test('removes the owner, and leaves its dependents without a reference to it', async () => {
    const owner = await make('owner');
    const other = await make('other');
    await make('child', [reference(owner), reference(other)]);
    const reply = await api.delete(path('owner'), { propagationPolicy: 'Orphan' });
    expect(reply.body.metadata.finalizers).toEqual(['orphan']);
    await gone('owner');
    expect(await left()).toEqual(['child', 'other']);
    const child = (await api.get(path('child'))).body;
    expect(child.metadata.ownerReferences.map((one: Json) => one.name)).toEqual(['other']);
  });

  test('is what a replication controller does when a DELETE does not say', async () => {
    const collection = `/api/v1/namespaces/${namespace}/replicationcontrollers`;
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'c', image: 'i:1' }] },
    };
    const created = await api.post(collection, {
      metadata: { name: 'rc' },
      spec: { replicas: 0, selector: { a: 'b' }, template },
    });
    expect(created.status, created.text).toBe(200);
    const owned = { ...reference(created.body), kind: 'ReplicationController' };
    await make('child', [owned]);
    const watch = await api.watch(`${collection}?watch=true&resourceVersion=0`);
    expect((await api.delete(`${collection}/rc`)).body).toMatchObject({ kind: 'Status', status: 'Success' });
    const marked = await watch.until(({ object }) => object.metadata.deletionTimestamp !== undefined);
    expect(marked.object.metadata.finalizers).toEqual(['orphan']);
    expect(brief(await watch.until(({ type }) => type === 'DELETED'))).toBe('DELETED rc');
    watch.close();
    expect((await api.get(path('child'))).body.metadata.ownerReferences).toBeUndefined();
  });
});
