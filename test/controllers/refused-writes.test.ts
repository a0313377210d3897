/** Proves that writes of controllers that the API refuses are told by events and conditions, and not as failures of the server. */
import { expect, it } from 'vitest';
import type { Json } from '../support/http.ts';
import { useTarget } from '../support/target.ts';

const target = useTarget({ controllers: true });
const labels = { app: 'web' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'example.com/web:1' }] } };
const spec = { replicas: 3, selector: { matchLabels: labels }, template };

it('over a quota, by deployments and replica sets', async () => {
  await target.post('/api/v1/namespaces', { metadata: { name: 'narrow' } });
  const quotas = '/api/v1/namespaces/narrow/resourcequotas';
  const watch = await target.watch(`${quotas}?watch=true`);
  await target.post(quotas, { metadata: { name: 'few' }, spec: { hard: { pods: '1' } } });
  await watch.until(({ object }) => object.status?.hard?.pods === '1');
  watch.close();
  const failures = await target.watch('/apis/apps/v1/namespaces/narrow/replicasets?watch=true');
  for (const [resource, name] of [
    ['deployments', 'd'],
    ['replicasets', 'r'],
  ])
    await target.post(`/apis/apps/v1/namespaces/narrow/${resource}`, { metadata: { name }, spec });
  const refused = new Set<string>();
  await failures.until(({ object }) => {
    const condition = object.status?.conditions?.find(({ type }: Json) => type === 'ReplicaFailure');
    if (condition?.message.includes('exceeded quota')) refused.add(object.metadata.name.slice(0, 1));
    return refused.size === 2;
  });
  failures.close();
  expect(target.failures).toEqual([]);
});

it('in a namespace that is being deleted', async () => {
  const namespace = '/api/v1/namespaces/going';
  await target.post('/api/v1/namespaces', { metadata: { name: 'going' } });
  const held = { metadata: { name: 'held', finalizers: ['example.com/hold'] } };
  await target.post(`${namespace}/configmaps`, held);
  await target.post('/apis/apps/v1/namespaces/going/replicasets', {
    metadata: { name: 'r', finalizers: ['example.com/hold'] },
    spec: { ...spec, replicas: 0 },
  });
  await target.delete(namespace);
  // The controller tries to make pods there, and cannot.
  await target.patch('/apis/apps/v1/namespaces/going/replicasets/r', {
    metadata: { finalizers: ['example.com/hold', 'foregroundDeletion'] },
    spec: { replicas: 2 },
  });
  const free = { metadata: { finalizers: null } };
  const watch = await target.watch('/api/v1/namespaces?watch=true&resourceVersion=0');
  await target.patch(`${namespace}/configmaps/held`, free);
  await target.patch('/apis/apps/v1/namespaces/going/replicasets/r', free);
  await watch.until(({ type, object }) => type === 'DELETED' && object.metadata.name === 'going');
  watch.close();
  expect(target.failures).toEqual([]);
});
