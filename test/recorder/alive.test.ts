/**
 * Proves that a copy of a live cluster can be brought to life: simulated nodes take the place of the real ones, controllers
 * make the pods anew, and a rollout can be rehearsed without the cluster that was copied noticing.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Cluster, importCluster, start } from '../../src/cluster/index.ts';

let source: Cluster;
let alive: Cluster | undefined;
let folder: string;

const call = async (url: string, method: string, where: string, body?: object): Promise<any> => {
  const type = method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json';
  const answer = await fetch(url + where, {
    method,
    headers: { 'Content-Type': type },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return answer.json();
};
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const pods = '/api/v1/namespaces/default/pods';
const withImage = (image: string) => ({ containers: [{ name: 'web', image }] });
const ready = async (url: string): Promise<unknown> => {
  const { status, metadata } = await call(url, 'GET', `${deployments}/web`);
  return [
    status?.updatedReplicas,
    status?.readyReplicas,
    status?.observedGeneration === metadata?.generation,
  ];
};
const patient = { timeout: 30_000 };

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'wherry-alive-'));
  source = await start({ store: 'memory', simulatedNodes: 2, like: 'kubernetes' });
  await source.nodesReady;
  await call(source.url, 'POST', deployments, {
    metadata: { name: 'web' },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: withImage('web:1') },
    },
  });
  await vi.waitFor(async () => expect(await ready(source.url)).toEqual([3, 3, true]), patient);
});
afterAll(async () => {
  await alive?.close();
  await source.close();
  rmSync(folder, { recursive: true, force: true });
});

it('comes to life on simulated nodes, and rolls out what the copied cluster never sees', async () => {
  const kubeconfig = path.join(folder, 'config');
  writeFileSync(kubeconfig, source.kubeconfig);
  const dataDir = path.join(folder, 'copy');
  const summary = await importCluster({ dataDir, kubeconfig, alive: true, requestsPerSecond: 1_000 });
  const copied = Object.fromEntries(summary.kinds.map(({ resource, objects }) => [resource, objects]));
  expect(copied).toMatchObject({
    'deployments.apps': 1,
    'replicasets.apps': 1,
    pods: 0,
    nodes: 0,
    events: 0,
  });
  const before = await call(source.url, 'GET', `${deployments}/web`);
  const sourcePods = (await call(source.url, 'GET', pods)).items.map((pod: any) => pod.metadata.name);

  alive = await start({ dataDir, simulatedNodes: 3, like: 'kubernetes' });
  await alive.nodesReady;
  const { url } = alive;
  await expect.poll(() => ready(url), patient).toEqual([3, 3, true]);
  const { metadata } = await call(url, 'GET', `${deployments}/web`);
  expect(metadata.uid).toBe(before.metadata.uid);
  // The replica set of the copy is the one that was copied: no second one is made beside it.
  expect((await call(url, 'GET', '/apis/apps/v1/namespaces/default/replicasets')).items).toHaveLength(1);
  const made = (await call(url, 'GET', pods)).items;
  expect(made.filter((pod: any) => sourcePods.includes(pod.metadata.name))).toEqual([]);
  expect(new Set(made.map((pod: any) => pod.status.phase))).toEqual(new Set(['Running']));

  await call(url, 'PATCH', `${deployments}/web`, { spec: { template: { spec: withImage('web:2') } } });
  await expect.poll(() => ready(url), patient).toEqual([3, 3, true]);
  const images = async () =>
    new Set((await call(url, 'GET', pods)).items.map((pod: any) => pod.spec.containers[0].image));
  await expect.poll(images, patient).toEqual(new Set(['web:2']));
  const now = await call(source.url, 'GET', `${deployments}/web`);
  expect(now.spec).toEqual(before.spec);
});
