/** A cluster with objects of many shapes, and the proof that a copy shows every one of them as it is. */
import { expect } from 'vitest';
import { call, until } from './source-history.ts';

/** Objects that servers renew or replace by themselves. */
const restless: ReadonlySet<string> = new Set([
  'leases',
  'endpoints',
  'endpointslices',
  'componentstatuses',
  'apiservices',
]);

const definition = {
  metadata: { name: 'ships.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'ships', kind: 'Ship' },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

/** @param maps how many ConfigMaps, applied by several managers */
export async function fillSource(url: string, maps: number): Promise<void> {
  await call(url, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  const ships = '/apis/example.com/v1/namespaces/default/ships';
  await until(() => call(url, 'GET', ships).catch(() => undefined), 'the kind');
  const named = { apiVersion: 'example.com/v1', kind: 'Ship', metadata: { name: 'ann' } };
  const ship = await call(url, 'POST', ships, { ...named, spec: { crew: 3 } });
  await call(url, 'PATCH', `${ships}/ann/status`, { status: { afloat: true } });
  const { uid } = ship.metadata;
  const owner = { apiVersion: 'example.com/v1', kind: 'Ship', name: 'ann', uid };
  const pods = '/api/v1/namespaces/default/pods';
  const pod = { metadata: { name: 'p', ownerReferences: [owner], finalizers: ['example.com/x'] } };
  await call(url, 'POST', '/api/v1/namespaces/default/serviceaccounts', {
    metadata: { name: 'default' },
  }).catch(() => undefined);
  await call(url, 'POST', pods, { ...pod, spec: { containers: [{ name: 'c', image: 'i' }] } });
  await call(url, 'PATCH', `${pods}/p/status`, { status: { phase: 'Running', podIP: '10.0.0.7' } });
  // It stays, because of its finalizer.
  await call(url, 'DELETE', `${pods}/p`);
  await call(url, 'POST', '/api/v1/namespaces/default/secrets', {
    metadata: { name: 'key' },
    stringData: { password: 'hush' },
  });
  for (let i = 0; i < maps; i += 50)
    await Promise.all(
      Array.from({ length: Math.min(50, maps - i) }, (_, n) =>
        applied(url, `m-${i + n}`, `manager-${n % 3}`),
      ),
    );
}

async function applied(url: string, name: string, manager: string): Promise<void> {
  const where = `${url}/api/v1/namespaces/default/configmaps/${name}?fieldManager=${manager}`;
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { name } });
  const headers = { 'Content-Type': 'application/apply-patch+yaml' };
  const answer = await fetch(where, { method: 'PATCH', headers, body });
  expect(answer.status, await answer.text()).toBeLessThan(300);
}

/** Versions are those of the copy's own store, only servers of old write links, and each server writes where it listens. */
const comparable = ({ items }: { items: any[] }): unknown[] =>
  items
    .filter(({ metadata: { name, namespace } }) => `${namespace}/${name}` !== 'default/kubernetes')
    .map(({ metadata: { resourceVersion: _, selfLink: __, ...metadata }, ...object }) => ({
      ...object,
      metadata,
    }));

/** Compares every list that the source has; resolves with the number of objects. */
export async function expectSameObjects(source: string, copy: string): Promise<number> {
  const { groups } = await call(source, 'GET', '/apis');
  const roots = [
    '/api/v1',
    ...groups.map(({ preferredVersion }: any) => `/apis/${preferredVersion.groupVersion}`),
  ];
  let count = 0;
  for (const root of roots) {
    const { resources } = await call(source, 'GET', root);
    for (const { name, verbs } of resources) {
      if (name.includes('/') || !verbs.includes('list') || restless.has(name)) continue;
      const objects = comparable(await call(source, 'GET', `${root}/${name}`));
      expect(comparable(await call(copy, 'GET', `${root}/${name}`)), `${root}/${name}`).toEqual(objects);
      count += objects.length;
    }
  }
  return count;
}
