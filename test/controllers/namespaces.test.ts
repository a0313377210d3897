/** Deleted namespaces: their content is deleted, conditions show the progress, and then they disappear. */
import { describe, expect, test } from 'vitest';
import { type Json, mergePatch, useCluster } from '../support/http.ts';

const api = useCluster();
const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'i:1' }] } });

describe('a deleted namespace', () => {
  test('is Terminating, refuses new content, empties, and disappears', async () => {
    await api.post('/api/v1/namespaces', { metadata: { name: 'full' } });
    const at = (resource: string) => `/api/v1/namespaces/full/${resource}`;
    await api.post(at('pods'), pod('a'));
    await api.post(at('configmaps'), { metadata: { name: 'kept', finalizers: ['example.com/hold'] } });
    await api.post(at('secrets'), { metadata: { name: 's' } });
    const watch = await api.watch('/api/v1/watch/namespaces/full?resourceVersion=0');
    const reply = await api.delete('/api/v1/namespaces/full');
    expect(reply.status).toBe(200);
    expect(reply.body.status.phase).toBe('Terminating');
    expect(reply.body.metadata.deletionGracePeriodSeconds).toBeUndefined();

    const told = await watch.until(({ object }) => object.status.conditions?.length > 0);
    const condition = (type: string) => told.object.status.conditions.find((one: Json) => one.type === type);
    expect(condition('NamespaceContentRemaining')).toMatchObject({
      status: 'True',
      reason: 'SomeResourcesRemain',
      message: 'Some resources are remaining: configmaps. has 1 resource instances',
    });
    expect(condition('NamespaceFinalizersRemaining')).toMatchObject({
      status: 'True',
      message:
        'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
    });
    const refused = await api.post(at('configmaps'), { metadata: { name: 'late' } });
    expect(refused.status).toBe(403);
    expect(refused.body.message).toBe(
      'configmaps "late" is forbidden: unable to create new content in namespace full because it is being terminated',
    );
    expect((await api.delete('/api/v1/namespaces/full')).status).toBe(200);

    await api.patch(at('configmaps/kept'), { metadata: { finalizers: null } }, mergePatch);
    await watch.until(({ type }) => type === 'DELETED');
    watch.close();
    expect((await api.get('/api/v1/namespaces/full')).status).toBe(404);
    for (const resource of ['pods', 'configmaps', 'secrets', 'serviceaccounts'])
      expect((await api.get(at(resource))).body.items).toEqual([]);
  });

  test('can be made anew at once', async () => {
    for (let i = 0; i < 5; i++) {
      expect((await api.post('/api/v1/namespaces', { metadata: { name: 'again' } })).status).toBe(200);
      expect((await api.post('/api/v1/namespaces/again/pods', pod('a'))).status).toBe(200);
      const watch = await api.watch('/api/v1/watch/namespaces/again?resourceVersion=0');
      await api.delete('/api/v1/namespaces/again');
      await watch.until(({ type }) => type === 'DELETED');
      watch.close();
    }
  });
});

describe('the default account', () => {
  test('is there for a pod the moment its namespace is', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `quick-${i}`);
    const replies = await Promise.all(
      names.map(async (name) => {
        await api.post('/api/v1/namespaces', { metadata: { name } });
        return api.post(`/api/v1/namespaces/${name}/pods`, pod('a'));
      }),
    );
    expect(replies.map((reply) => reply.status)).toEqual(names.map(() => 200));
    expect(replies[0]!.body.spec.serviceAccountName).toBe('default');
  });

  test('comes back when it is deleted', async () => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    const watch = await api.watch(`${accounts}?watch=true&resourceVersion=0`);
    await watch.until(({ object }) => object.metadata.name === 'default');
    await api.delete(`${accounts}/default`);
    await watch.until(({ type }) => type === 'DELETED');
    expect((await watch.next()).type).toBe('ADDED');
    watch.close();
  });
});

describe('without controllers', () => {
  const alone = useCluster({ controllers: false });

  test('a pod can be created the moment its namespace is there', async () => {
    await alone.post('/api/v1/namespaces', { metadata: { name: 'new' } });
    expect((await alone.post('/api/v1/namespaces/new/pods', pod('a'))).status).toBe(200);
    expect((await alone.get('/api/v1/namespaces/new/serviceaccounts/default')).status).toBe(200);
  });

  test('a namespace waits for somebody to finalize it', async () => {
    await alone.delete('/api/v1/namespaces/new');
    const waiting = (await alone.get('/api/v1/namespaces/new')).body;
    expect(waiting.status.phase).toBe('Terminating');
    const reply = await alone.put('/api/v1/namespaces/new/finalize', { ...waiting, spec: {} });
    expect(reply.status).toBe(200);
    expect((await alone.get('/api/v1/namespaces/new')).status).toBe(404);
  });
});

describe('a namespace that is deleted while clients write into it', () => {
  const kinds = ['configmaps', 'secrets', 'pods', 'services', 'serviceaccounts'];
  const objectOf = (resource: string, name: string): Json => {
    if (resource === 'pods') return pod(name);
    return { metadata: { name }, ...(resource === 'services' ? { spec: { ports: [{ port: 80 }] } } : {}) };
  };

  test('goes, and leaves nothing behind', async () => {
    for (let round = 0; round < 10; round++) {
      const name = `busy-${round}`;
      await api.post('/api/v1/namespaces', { metadata: { name } });
      const watch = await api.watch(`/api/v1/watch/namespaces/${name}?resourceVersion=0`);
      const writing = Array.from({ length: 60 }, async (_, i) => {
        const resource = kinds[i % kinds.length]!;
        return api.post(`/api/v1/namespaces/${name}/${resource}`, objectOf(resource, `o${i}`));
      });
      const [{ status }] = await Promise.all([api.delete(`/api/v1/namespaces/${name}`), ...writing]);
      expect(status).toBe(200);
      await watch.until(({ type }) => type === 'DELETED');
      watch.close();
      for (const { status: code } of await Promise.all(writing)) expect([200, 403, 404]).toContain(code);
    }
    for (const resource of [...kinds, 'endpoints', 'events']) {
      const { items } = (await api.get(`/api/v1/${resource}`)).body;
      const left = items.map(({ metadata }: Json) => metadata.namespace as string);
      expect(left.filter((namespace: string) => namespace.startsWith('busy-'))).toEqual([]);
    }
  });
});

describe('a namespace that a client finalizes', () => {
  const alone = useCluster({ controllers: false });

  test('takes along what that client does not know', async () => {
    await alone.post('/api/v1/namespaces', { metadata: { name: 'known' } });
    const at = '/api/v1/namespaces/known/configmaps';
    await alone.post(at, { metadata: { name: 'newer', finalizers: ['example.com/hold'] } });
    const watch = await alone.watch(`${at}?watch=true&resourceVersion=0`);
    const deleting = (await alone.delete('/api/v1/namespaces/known')).body;
    const reply = await alone.put('/api/v1/namespaces/known/finalize', { ...deleting, spec: {} });
    expect(reply.status, reply.text).toBe(200);
    expect((await alone.get('/api/v1/configmaps')).body.items).toEqual([]);
    await watch.until(({ type }) => type === 'DELETED');
    watch.close();
  });
});
