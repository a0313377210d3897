/** Proves that the default roles exist also where nobody is checked by them, and that embedded clusters choose. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Cluster, StartOptions } from '../cluster.ts';
import { start } from '../start.ts';

const group = 'apis/rbac.authorization.k8s.io/v1';

async function started(options: StartOptions): Promise<Cluster> {
  const cluster = await start(options);
  onTestFinished(() => cluster.close());
  return cluster;
}

const answer = async ({ url }: Cluster, route: string, init?: RequestInit) =>
  (await fetch(`${url}/${route}`, init)).json();

async function namesOf(cluster: Cluster, resource: string): Promise<string[]> {
  const { items } = (await answer(cluster, `${group}/${resource}`)) as {
    items: { metadata: { name: string } }[];
  };
  return items.map(({ metadata }) => metadata.name);
}

/** Resolves when the server says that it is ready, with what it says of each part. */
async function readiness({ url }: Cluster): Promise<string> {
  for (;;) {
    const read = await fetch(`${url}/readyz?verbose`);
    const text = await read.text();
    if (read.ok) return text;
  }
}

it('are there without the secure door, and stay as users have changed them', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'wherry-policy-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const cluster = await started({ dataDir, defaultRoles: true, controllers: ['housekeeping'] });
  expect(await readiness(cluster)).toContain('[+]poststarthook/rbac/bootstrap-roles ok');
  for (const [resource, name] of [
    ['clusterroles', 'cluster-admin'],
    ['clusterroles', 'system:node'],
    ['clusterrolebindings', 'system:basic-user'],
    ['roles', 'extension-apiserver-authentication-reader'],
    ['rolebindings', 'system:controller:bootstrap-signer'],
  ] as const)
    expect(await namesOf(cluster, resource), name).toContain(name);
  const labelled = await answer(cluster, `${group}/clusterroles/system:discovery`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ metadata: { labels: { mine: 'yes' } } }),
  });
  await answer(cluster, `${group}/clusterroles/view`, { method: 'DELETE' });
  const { resourceVersion } = (labelled as { metadata: { resourceVersion: string } }).metadata;
  await cluster.close();

  const again = await started({ dataDir, defaultRoles: true, controllers: ['none'] });
  await readiness(again);
  expect(await namesOf(again, 'clusterroles')).toContain('view');
  expect(await answer(again, `${group}/clusterroles/system:discovery`)).toMatchObject({
    metadata: { labels: { mine: 'yes' }, resourceVersion },
  });
});

it('are there where the secure door allows everything, as kube-apiserver makes them in every mode', async () => {
  const cluster = await started({ store: 'memory', secure: { authorizationModes: ['AlwaysAllow'] } });
  expect(await readiness(cluster)).toContain('[+]poststarthook/rbac/bootstrap-roles ok');
  expect(await namesOf(cluster, 'clusterroles')).toContain('edit');
});

it('are not made in a cluster of a program that opens no secure door and does not ask for them', async () => {
  const cluster = await started({ store: 'memory' });
  expect(await readiness(cluster)).not.toContain('bootstrap-roles');
  expect(await namesOf(cluster, 'clusterroles')).toEqual([]);
});

it('are not written by a cluster that was closed at once', async () => {
  const errors: Error[] = [];
  const cluster = await start({
    store: 'memory',
    defaultRoles: true,
    onError: (error) => void errors.push(error),
  });
  await cluster.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(errors).toEqual([]);
});
