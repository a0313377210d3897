/** The replication controller (kinds.md 23.1): pods are created, replaced, adopted, released and deleted. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Json, mergePatch, useCluster } from '../support/http.ts';
import { Mirror } from './mirror.ts';

// No scheduler: these tests set where pods run and their status.
const api = useCluster({ controllers: ['-scheduler', '-node', '-pod-collector'] });
let namespace = '';
let count = 0;
const opened: Mirror[] = [];

const path = (resource: string, name = '') =>
  `/api/v1/namespaces/${namespace}/${resource}${name && `/${name}`}`;

beforeEach(async () => {
  namespace = `replication-${++count}`;
  expect((await api.post('/api/v1/namespaces', { metadata: { name: namespace } })).status).toBe(200);
});
afterEach(() => {
  for (const mirror of opened.splice(0)) mirror.close();
});

async function mirror(resource: string, query = ''): Promise<Mirror> {
  const made = await Mirror.open(api, path(resource), query);
  opened.push(made);
  return made;
}

const template = (labels: object = { app: 'web' }, more: object = {}) => ({
  metadata: { labels, annotations: { note: 'hello' }, ...more },
  spec: { containers: [{ name: 'c', image: 'i:1' }] },
});

async function makeController(name: string, replicas: number, spec: object = {}): Promise<Json> {
  const reply = await api.post(path('replicationcontrollers'), {
    metadata: { name },
    spec: { replicas, selector: { app: 'web' }, template: template(), ...spec },
  });
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

async function makePod(name: string, labels: object, more: object = {}): Promise<Json> {
  const reply = await api.post(path('pods'), { ...template(labels), metadata: { name, labels, ...more } });
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

async function setStatus(pod: string, status: object): Promise<void> {
  const reply = await api.patch(`${path('pods', pod)}/status`, { status });
  expect(reply.status, reply.text).toBe(200);
}

const bind = (pod: string, node = 'n1') =>
  api.post(`${path('pods', pod)}/binding`, { metadata: { name: pod }, target: { kind: 'Node', name: node } });

const ready = (at = '2026-01-02T03:04:05Z', status = 'True') => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status, lastTransitionTime: at }],
});

const scale = (name: string, replicas: number) =>
  api.patch(path('replicationcontrollers', name), { spec: { replicas } });

const names = (objects: Json[]): string[] => objects.map(({ metadata }) => metadata.name).sort();
const alive = (objects: Json[]): Json[] => objects.filter(({ metadata }) => !metadata.deletionTimestamp);

describe('pods', () => {
  test('are made from the template, owned by the controller, and counted', async () => {
    const pods = await mirror('pods');
    const controllers = await mirror('replicationcontrollers');
    const events = await mirror('events');
    const made = await makeController('web', 3, {
      template: template({ app: 'web', tier: 'front' }, { finalizers: ['example.com/hold'] }),
    });
    const { status } = await controllers.object('web', (one) => one.status.replicas === 3);
    expect(status).toEqual({ replicas: 3, fullyLabeledReplicas: 3, observedGeneration: 1 });
    const [pod] = await pods.until((all) => all.length === 3);
    expect(pod.metadata).toMatchObject({
      generateName: 'web-',
      labels: { app: 'web', tier: 'front' },
      annotations: { note: 'hello' },
      finalizers: ['example.com/hold'],
    });
    expect(pod.metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
    expect(pod.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'v1',
        kind: 'ReplicationController',
        name: 'web',
        uid: made.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(pod.spec.containers[0]).toMatchObject({ name: 'c', image: 'i:1' });
    const told = await events.until((all) => all.length === 3);
    expect(told.map(({ message }) => message).sort()).toEqual(
      names(pods.objects).map((name) => `Created pod: ${name}`),
    );
    expect(told[0]).toMatchObject({
      type: 'Normal',
      reason: 'SuccessfulCreate',
      source: { component: 'replication-controller' },
      involvedObject: {
        kind: 'ReplicationController',
        name: 'web',
        uid: made.metadata.uid,
        apiVersion: 'v1',
      },
    });
  });

  test('that go, fail or are being deleted are replaced', async () => {
    const pods = await mirror('pods');
    await makeController('web', 3);
    const [gone, failed, marked] = names(await pods.until((all) => all.length === 3)) as [
      string,
      string,
      string,
    ];
    await bind(marked);
    await api.delete(path('pods', gone));
    await setStatus(failed, { phase: 'Failed' });
    await api.delete(path('pods', marked));
    await pods.until((all) => all.length === 5 && !names(all).includes(gone));
    const { body } = await api.get(path('replicationcontrollers', 'web'));
    expect(body.status.replicas).toBe(3);
  });

  test('are made in order with what a watcher sees, and in number', async () => {
    const controllers = await mirror('replicationcontrollers');
    const pods = await mirror('pods');
    await makeController('web', 20);
    await controllers.object('web', (one) => one.status.replicas === 20);
    // The pods exist before the status shows them, and the status is written once.
    expect(controllers.events.length).toBe(2);
    await pods.until((all) => all.length === 20);
    const newest = Math.max(...pods.objects.map(({ metadata }) => Number(metadata.resourceVersion)));
    expect(Number(controllers.objects[0].metadata.resourceVersion)).toBeGreaterThan(newest);
    await scale('web', 4);
    const { status, metadata } = await controllers.object('web', (one) => one.status.replicas === 4);
    expect([status.observedGeneration, metadata.generation]).toEqual([2, 2]);
    await pods.until((all) => all.length === 4);
  });
});

describe('the status', () => {
  test('counts pods that are ready, and available after a while', async () => {
    const pods = await mirror('pods');
    const controllers = await mirror('replicationcontrollers');
    await makeController('web', 2, { minReadySeconds: 3600 });
    const [a, b] = names(await pods.until((all) => all.length === 2)) as [string, string];
    await setStatus(a, ready());
    const one = await controllers.object('web', ({ status }) => status.readyReplicas === 1);
    expect(one.status).toMatchObject({ replicas: 2, readyReplicas: 1, availableReplicas: 1 });
    await setStatus(b, ready(new Date().toISOString()));
    const two = await controllers.object('web', ({ status }) => status.readyReplicas === 2);
    expect(two.status).toMatchObject({ replicas: 2, readyReplicas: 2, availableReplicas: 1 });
    await setStatus(a, ready('2026-01-02T03:04:05Z', 'False'));
    const less = await controllers.object('web', ({ status }) => status.readyReplicas === 1);
    expect(less.status.availableReplicas).toBeUndefined();
  });

  test('is written when a pod becomes available through the passing of time', async () => {
    const pods = await mirror('pods');
    const controllers = await mirror('replicationcontrollers');
    await makeController('web', 1, { minReadySeconds: 1 });
    const [pod] = names(await pods.until((all) => all.length === 1)) as [string];
    await setStatus(pod, ready(new Date(Date.now() + 3_600_000).toISOString()));
    const before = await controllers.object('web', ({ status }) => status.readyReplicas === 1);
    expect(before.status.availableReplicas).toBeUndefined();
    // In a moment: nothing but the time is left to make it available.
    await setStatus(pod, ready(new Date(Date.now() + 500).toISOString()));
    await controllers.object('web', ({ status }) => status.availableReplicas === 1);
  });

  test('counts pods without all labels of the template as not fully labelled', async () => {
    const controllers = await mirror('replicationcontrollers');
    await makePod('old', { app: 'web' });
    await makeController('web', 2, { template: template({ app: 'web', tier: 'front' }) });
    const { status } = await controllers.object('web', (one) => one.status.replicas === 2);
    expect(status.fullyLabeledReplicas).toBe(1);
  });

  test('says what keeps pods from being made, until it no longer does', async () => {
    const controllers = await mirror('replicationcontrollers');
    const events = await mirror('events');
    const quota = { metadata: { name: 'few' }, spec: { hard: { pods: '2' } } };
    expect((await api.post(path('resourcequotas'), quota)).status).toBe(200);
    const quotas = await mirror('resourcequotas');
    await quotas.object('few', (one) => one.status.hard?.pods === '2');
    await makeController('web', 5);
    const failing = await controllers.object('web', (one) => one.status.conditions?.length);
    expect(failing.status.conditions).toEqual([
      {
        type: 'ReplicaFailure',
        status: 'True',
        lastTransitionTime: expect.any(String),
        reason: 'FailedCreate',
        message: expect.stringMatching(/exceeded quota: few/),
      },
    ]);
    const failures = await events.until((all) => all.some(({ reason }) => reason === 'FailedCreate'));
    expect(failures.find(({ reason }) => reason === 'FailedCreate')).toMatchObject({
      type: 'Warning',
      message: expect.stringMatching(/^Error creating: pods "web-.*" is forbidden: exceeded quota/),
    });
    await api.patch(path('resourcequotas', 'few'), { spec: { hard: { pods: '10' } } });
    const well = await controllers.object('web', (one) => one.status.replicas === 5);
    expect(well.status.conditions ?? []).toEqual([]);
  });
});

describe('ownership', () => {
  test('pods that fit and have no owner are adopted; those of others are not', async () => {
    const mine = await makePod('mine', { app: 'web' });
    await makePod('other', { app: 'db' });
    await makePod(
      'theirs',
      { app: 'web' },
      {
        ownerReferences: [
          { apiVersion: 'example.com/v1', kind: 'ReplicaSet', name: 'x', uid: 'y', controller: true },
        ],
      },
    );
    const pods = await mirror('pods');
    const made = await makeController('web', 2);
    const adopted = await pods.object('mine', ({ metadata }) => metadata.ownerReferences);
    expect(adopted.metadata.ownerReferences).toEqual([
      expect.objectContaining({ uid: made.metadata.uid, controller: true, blockOwnerDeletion: true }),
    ]);
    expect(adopted.metadata.uid).toBe(mine.metadata.uid);
    const all = await pods.until((now) => now.length === 4);
    expect(all.find((pod) => pod.metadata.name === 'other').metadata.ownerReferences).toBeUndefined();
    expect(all.find((pod) => pod.metadata.name === 'theirs').metadata.ownerReferences[0].uid).toBe('y');
  });

  test('a pod that comes later is adopted, and one too many goes', async () => {
    const pods = await mirror('pods');
    await makeController('web', 1);
    const [first] = names(await pods.until((all) => all.length === 1)) as [string];
    await bind(first);
    await setStatus(first, ready());
    await makePod('late', { app: 'web' });
    await pods.until(
      (all) =>
        !names(all).includes('late') && pods.events.some(({ object }) => object.metadata.name === 'late'),
    );
    expect(names(pods.objects)).toEqual([first]);
  });

  test('a pod that no longer fits is released and replaced', async () => {
    const pods = await mirror('pods');
    await makeController('web', 1);
    const [pod] = names(await pods.until((all) => all.length === 1)) as [string];
    await api.patch(path('pods', pod), { metadata: { labels: { app: 'debug' } } });
    await pods.until((all) => all.length === 2);
    const released = await pods.object(pod, ({ metadata }) => !metadata.ownerReferences);
    expect(released.metadata.labels).toEqual({ app: 'debug' });
    await api.patch(path('pods', pod), { metadata: { labels: { app: 'web' } } });
    await pods.until((all) => all.length === 1);
  });

  test('two controllers that select the same pods keep their own', async () => {
    const controllers = await mirror('replicationcontrollers');
    await Promise.all([makeController('a', 2), makeController('b', 3)]);
    await controllers.until(
      (all) => all.length === 2 && all.every(({ spec, status }) => status.replicas === spec.replicas),
    );
    const { items } = (await api.get(path('pods'))).body;
    expect(items.filter((pod: Json) => pod.metadata.ownerReferences[0].name === 'a').length).toBe(2);
    expect(items.length).toBe(5);
  });
});

describe('too many pods', () => {
  test('those that matter least go first, with their grace period', async () => {
    const pods = await mirror('pods');
    const controllers = await mirror('replicationcontrollers');
    const events = await mirror('events');
    await makeController('web', 4);
    const [unbound, waiting, unready, well] = names(await pods.until((all) => all.length === 4)) as [
      string,
      string,
      string,
      string,
    ];
    for (const pod of [waiting, unready, well]) await bind(pod);
    await setStatus(unready, ready(undefined, 'False'));
    await setStatus(well, ready());
    for (const [left, victim] of [
      [3, unbound],
      [2, waiting],
      [1, unready],
    ] as const) {
      await scale('web', left);
      await controllers.object('web', ({ status }) => status.replicas === left);
      await events.until((all) => all.some(({ message }) => message === `Deleted pod: ${victim}`));
    }
    const marked = ({ metadata }: Json): boolean => metadata.deletionTimestamp !== undefined;
    await pods.until((all) => all.filter(marked).length === 2);
    expect(names(alive(pods.objects))).toEqual([well]);
    for (const { metadata } of pods.objects.filter(marked))
      expect(metadata.deletionGracePeriodSeconds).toBe(30);
    expect(names(pods.objects)).not.toContain(unbound);
  });
});

describe('a controller that is deleted', () => {
  test('leaves its pods, which nobody replaces, in the order old clients expect', async () => {
    const pods = await mirror('pods');
    const controllers = await mirror('replicationcontrollers');
    await makeController('web', 2);
    await controllers.object('web', ({ status }) => status.replicas === 2);
    await api.delete(path('replicationcontrollers', 'web'));
    await controllers.until((all) => all.length === 0);
    expect(controllers.events.slice(2).map(({ type }) => type)).toEqual(['MODIFIED', 'DELETED']);
    const all = await pods.until(
      (now) => now.length === 2 && now.every(({ metadata }) => !metadata.ownerReferences),
    );
    await api.delete(path('pods', all[0].metadata.name));
    await pods.until((now) => now.length === 1);
  });

  test('takes its pods along when asked to, and makes no more', async () => {
    const pods = await mirror('pods');
    const controllers = await mirror('replicationcontrollers');
    await makeController('web', 3);
    await pods.until((all) => all.length === 3);
    await controllers.object('web');
    await api.delete(path('replicationcontrollers', 'web'), { propagationPolicy: 'Foreground' });
    await controllers.until((all) => all.length === 0);
    expect((await api.get(path('pods'))).body.items).toEqual([]);
    await pods.until((all) => all.length === 0);
    expect(pods.events.filter(({ type }) => type === 'ADDED').length).toBe(3);
  });

  test('with its namespace goes quietly', async () => {
    const pods = await mirror('pods');
    await makeController('web', 2);
    await pods.until((all) => all.length === 2);
    const namespaces = await Mirror.open(api, '/api/v1/namespaces');
    opened.push(namespaces);
    await namespaces.object(namespace);
    await api.delete(`/api/v1/namespaces/${namespace}`);
    await namespaces.until((all) => !names(all).includes(namespace));
  });
});

test('a merge patch of the scale is what kubectl scale sends', async () => {
  const controllers = await mirror('replicationcontrollers');
  await makeController('web', 0);
  const reply = await api.patch(
    `${path('replicationcontrollers', 'web')}/scale`,
    { spec: { replicas: 2 } },
    mergePatch,
  );
  expect(reply.status, reply.text).toBe(200);
  await controllers.object('web', ({ status }) => status.replicas === 2);
});
