/** Proves that without the plugin NamespaceLifecycle objects can be in namespaces that do not exist, and stay there. */
import { expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';

const client = useCluster({
  like: 'kubernetes',
  controllers: ['namespace'],
  admission: { disabled: ['NamespaceLifecycle'] },
});

it('an object in a namespace that does not exist stays', async () => {
  const nowhere = '/api/v1/namespaces/nowhere/configmaps';
  const made = await client.post(nowhere, { metadata: { name: 'kept' }, data: { a: 'b' } });
  expect(made.status, made.text).toBe(201);
  // The controller of namespaces has worked since.
  await client.post('/api/v1/namespaces', { metadata: { name: 'going' } });
  const { body: going } = await client.delete('/api/v1/namespaces/going');
  const watch = await client.watch(
    `/api/v1/namespaces?watch=true&resourceVersion=${going.metadata.resourceVersion}`,
  );
  await watch.until(({ type }) => type === 'DELETED');
  expect((await client.get(`${nowhere}/kept`)).body).toEqual(made.body);
  expect((await client.get(nowhere)).body.items).toHaveLength(1);
});
