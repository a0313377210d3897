/**
 * Replica sets: pods are selected by expressions, counted while terminating, deleted first where they are
 * many, and garbage collected.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { Mirror } from './mirror.ts';

// No scheduler: these tests set where pods run and their status.
const api = useCluster({ controllers: ['-scheduler', '-node', '-pod-collector'] });
let namespace = '';
let count = 0;
const opened: Mirror[] = [];

const groups: Record<string, string> = { replicasets: '/apis/apps/v1' };
const path = (resource: string, name = '') =>
  `${groups[resource] ?? '/api/v1'}/namespaces/${namespace}/${resource}${name && `/${name}`}`;

beforeEach(async () => {
  namespace = `sets-${++count}`;
  expect((await api.post('/api/v1/namespaces', { metadata: { name: namespace } })).status).toBe(200);
});
afterEach(() => {
  for (const mirror of opened.splice(0)) mirror.close();
});

async function mirror(resource: string): Promise<Mirror> {
  const made = await Mirror.open(api, path(resource));
  opened.push(made);
  return made;
}

const template = (labels: object = { app: 'web' }) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'c', image: 'i:1' }] },
});

async function makeSet(
  name: string,
  replicas: number,
  spec: object = {},
  metadata: object = {},
): Promise<Json> {
  const reply = await api.post(path('replicasets'), {
    metadata: { name, ...metadata },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: template(), ...spec },
  });
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

async function makePod(name: string, labels: object, metadata: object = {}): Promise<void> {
  const reply = await api.post(path('pods'), {
    ...template(labels),
    metadata: { name, labels, ...metadata },
  });
  expect(reply.status, reply.text).toBe(200);
}

const bind = (pod: string, node: string) =>
  api.post(`${path('pods', pod)}/binding`, { metadata: { name: pod }, target: { kind: 'Node', name: node } });

const makeReady = (pod: string) =>
  api.patch(`${path('pods', pod)}/status`, {
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }],
    },
  });

const scale = (name: string, replicas: number) =>
  api.patch(`${path('replicasets', name)}/scale`, { spec: { replicas } });

const names = (objects: Json[]): string[] => objects.map(({ metadata }) => metadata.name).sort();
const isMarked = ({ metadata }: Json): boolean => metadata.deletionTimestamp !== undefined;

describe('pods', () => {
  test('are made, owned by the set, counted, and told of in events', async () => {
    const pods = await mirror('pods');
    const sets = await mirror('replicasets');
    const events = await mirror('events');
    const made = await makeSet('web', 2);
    const { status } = await sets.object('web', (one) => one.status.replicas === 2);
    expect(status).toEqual({
      replicas: 2,
      fullyLabeledReplicas: 2,
      terminatingReplicas: 0,
      observedGeneration: 1,
    });
    const [pod] = await pods.until((all) => all.length === 2);
    expect(pod.metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
    expect(pod.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: 'web',
        uid: made.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    const told = await events.until((all) => all.length === 2);
    expect(told[0]).toMatchObject({
      reason: 'SuccessfulCreate',
      source: { component: 'replicaset-controller' },
      involvedObject: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' },
    });
  });

  test('are selected by expressions, too; those that no longer fit are released and replaced', async () => {
    const pods = await mirror('pods');
    await makePod('fits', { app: 'web', tier: 'front' });
    await makePod('other', { app: 'web', tier: 'back' });
    await makeSet('web', 2, {
      selector: {
        matchLabels: { app: 'web' },
        matchExpressions: [
          { key: 'tier', operator: 'In', values: ['front', 'edge'] },
          { key: 'legacy', operator: 'DoesNotExist' },
        ],
      },
      template: template({ app: 'web', tier: 'edge' }),
    });
    const adopted = await pods.object('fits', ({ metadata }) => metadata.ownerReferences);
    expect(adopted.metadata.ownerReferences[0]).toMatchObject({ kind: 'ReplicaSet', name: 'web' });
    await pods.until((all) => all.length === 3);
    await api.patch(path('pods', 'fits'), { metadata: { labels: { legacy: 'yes' } } });
    await pods.until((all) => all.length === 4);
    const released = await pods.object('fits', ({ metadata }) => !metadata.ownerReferences);
    expect(released.metadata.labels.legacy).toBe('yes');
    expect(
      pods.objects.find(({ metadata }) => metadata.name === 'other').metadata.ownerReferences,
    ).toBeUndefined();
  });

  test('of a controller with the same name, in another kind, are left to it', async () => {
    const sets = await mirror('replicasets');
    const controller = await api.post(path('replicationcontrollers'), {
      metadata: { name: 'web' },
      spec: { replicas: 2, selector: { app: 'web' }, template: template() },
    });
    expect(controller.status, controller.text).toBe(200);
    const pods = await mirror('pods');
    await pods.until((all) => all.length === 2);
    await makeSet('web', 3);
    await sets.object('web', (one) => one.status.replicas === 3);
    await pods.until((all) => all.length === 5);
    const owners = pods.objects.map(({ metadata }) => metadata.ownerReferences[0].kind).sort();
    expect(owners).toEqual([...Array(3).fill('ReplicaSet'), ...Array(2).fill('ReplicationController')]);
  });

  test('that are being deleted are counted apart until they are gone', async () => {
    const pods = await mirror('pods');
    const sets = await mirror('replicasets');
    await makeSet('web', 2);
    const all = names(await pods.until((now) => now.length === 2));
    for (const pod of all) await bind(pod, 'n1');
    await scale('web', 0);
    const { status } = await sets.object('web', (one) => one.status.terminatingReplicas === 2);
    expect(status.replicas).toBe(0);
    for (const pod of all) await api.delete(path('pods', pod), { gracePeriodSeconds: 0 });
    await sets.object('web', (one) => one.status.terminatingReplicas === 0);
  });

  test('that cannot be made are told of until they can', async () => {
    const sets = await mirror('replicasets');
    const quotas = await mirror('resourcequotas');
    await api.post(path('resourcequotas'), { metadata: { name: 'few' }, spec: { hard: { pods: '1' } } });
    await quotas.object('few', (one) => one.status.hard?.pods === '1');
    await makeSet('web', 2);
    const failing = await sets.object('web', (one) => one.status.conditions?.length);
    expect(failing.status.conditions).toMatchObject([
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' },
    ]);
    await api.patch(path('resourcequotas', 'few'), { spec: { hard: { pods: '5' } } });
    const well = await sets.object('web', (one) => one.status.replicas === 2);
    expect(well.status.conditions ?? []).toEqual([]);
  });
});

test('the pod that goes is one that stands beside pods of the same deployment', async () => {
  // An owner without a controller in this cluster, of an existing kind.
  const owner = await api.post(path('configmaps'), { metadata: { name: 'owner' } });
  const ownerReferences = [
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.body.metadata.uid, controller: true },
  ];
  const pods = await mirror('pods');
  const labels = (set: string) => ({ app: 'web', set });
  const spec = (set: string) => ({ selector: { matchLabels: labels(set) }, template: template(labels(set)) });
  await makeSet('sibling', 2, spec('sibling'), { ownerReferences });
  await makeSet('mine', 2, spec('mine'), { ownerReferences });
  await pods.until((all) => all.length === 4);
  const of = (set: string) => names(pods.objects.filter(({ metadata }) => metadata.labels.set === set));
  for (const pod of of('sibling')) await bind(pod, 'crowded');
  const [first, second] = of('mine') as [string, string];
  await bind(first, 'crowded');
  await bind(second, 'quiet');
  // The second pod gets more restarts: it would be deleted first if crowded nodes did not count more.
  for (const pod of [first, second, ...of('sibling')]) await makeReady(pod);
  await api.patch(`${path('pods', second)}/status`, {
    status: { containerStatuses: [{ name: 'c', restartCount: 5, image: 'i:1', imageID: '', ready: true }] },
  });
  await scale('mine', 1);
  await pods.until((all) => all.some(isMarked));
  expect(names(pods.objects.filter(isMarked))).toEqual([first]);
});

describe('a set that is deleted', () => {
  test('takes its pods along', async () => {
    const pods = await mirror('pods');
    await makeSet('web', 2);
    await pods.until((all) => all.length === 2);
    await api.delete(path('replicasets', 'web'));
    await pods.until((all) => all.length === 0);
  });

  test('in the foreground goes after its pods, and makes no more', async () => {
    const pods = await mirror('pods');
    const sets = await mirror('replicasets');
    await makeSet('web', 2);
    await pods.until((all) => all.length === 2);
    await sets.object('web');
    await api.delete(path('replicasets', 'web'), { propagationPolicy: 'Foreground' });
    await sets.until((all) => all.length === 0);
    expect((await api.get(path('pods'))).body.items).toEqual([]);
    await pods.until((all) => all.length === 0);
    expect(pods.events.filter(({ type }) => type === 'ADDED').length).toBe(2);
  });

  test('may leave its pods, which the next one of its kind adopts', async () => {
    const pods = await mirror('pods');
    const sets = await mirror('replicasets');
    await makeSet('web', 2);
    const before = names(await pods.until((all) => all.length === 2));
    await sets.object('web', ({ status }) => status.replicas === 2);
    await api.delete(path('replicasets', 'web'), { propagationPolicy: 'Orphan' });
    await sets.until((all) => all.length === 0);
    await pods.until((all) => all.every(({ metadata }) => !metadata.ownerReferences));
    const { metadata } = await makeSet('next', 2);
    await pods.until((all) => all.every((pod) => pod.metadata.ownerReferences?.[0].uid === metadata.uid));
    expect(names(pods.objects)).toEqual(before);
  });
});
