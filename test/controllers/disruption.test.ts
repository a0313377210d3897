/**
 * Disruption budgets: the controller computes the allowed disruptions, evictions respect them. Kinds
 * contract, section 11; numbers, conditions and messages are those of Kubernetes.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { expectFailure } from '../wire/failure.ts';
import { until, untilList } from './objects.ts';

// No nodes and no scheduler: these tests set where pods run and their status. No garbage collection.
const api = useCluster({ controllers: ['-scheduler', '-node', '-pod-collector', '-garbagecollector'] });
let namespace = '';
let count = 0;

beforeEach(async () => {
  namespace = `disruption-${++count}`;
  expect((await api.post('/api/v1/namespaces', { metadata: { name: namespace } })).status).toBe(200);
});

const path = (resource: string, name = '') =>
  `/api/v1/namespaces/${namespace}/${resource}${name && `/${name}`}`;
const budgets = (name = '', version = 'v1') =>
  `/apis/policy/${version}/namespaces/${namespace}/poddisruptionbudgets${name && `/${name}`}`;

const web = { matchLabels: { app: 'web' } };

async function made(where: string, body: Json): Promise<Json> {
  const reply = await api.post(where, body);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

const budget = (name: string, spec: Json): Promise<Json> =>
  made(budgets(), { metadata: { name }, spec: { selector: web, ...spec } });

const conditions = (ready: boolean) => ({
  phase: 'Running',
  conditions: [
    { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2026-01-02T03:04:05Z' },
  ],
});

async function setStatus(pod: string, status: object): Promise<void> {
  const reply = await api.patch(`${path('pods', pod)}/status`, { status });
  expect(reply.status, reply.text).toBe(200);
}

/** A pod on a node without an agent, so that it stays when it is deleted. */
async function pod(name: string, ready = true, metadata: object = {}): Promise<Json> {
  const object = await made(path('pods'), {
    metadata: { name, labels: { app: 'web' }, ...metadata },
    spec: { nodeName: 'afar', containers: [{ name: 'c', image: 'i:1' }] },
  });
  await setStatus(name, conditions(ready));
  return object;
}

const evict = (name: string, more: Json = {}, query = '') =>
  api.post(`${path('pods', name)}/eviction${query}`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name },
    ...more,
  });

/** Waits for figures: [allowed, healthy, desired, expected]. */
const figures = (name: string, ...wanted: number[]): Promise<Json> =>
  until(api, budgets(name), ({ metadata, status }) => {
    const { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods, observedGeneration } = status;
    const shown = [disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods];
    return observedGeneration === metadata.generation && String(shown) === String(wanted);
  });

const violation = "Cannot evict pod as it would violate the pod's disruption budget.";
const refusal = (cause: string) => ({
  causes: [{ reason: 'DisruptionBudget', message: `The disruption budget ${cause}` }],
});

/** A controller with the requested number of pods, all ready. */
async function controller(name: string, replicas: number): Promise<string[]> {
  await made(path('replicationcontrollers'), {
    metadata: { name },
    spec: {
      replicas,
      selector: { app: 'web', of: name },
      template: {
        metadata: { labels: { app: 'web', of: name } },
        spec: { nodeName: 'afar', containers: [{ name: 'c', image: 'i:1' }] },
      },
    },
  });
  await until(api, path('replicationcontrollers', name), ({ status }) => status.replicas === replicas);
  const { items } = (await api.get(`${path('pods')}?labelSelector=of%3D${name}`)).body;
  const names = items.map(({ metadata }: Json) => metadata.name);
  for (const one of names) await setStatus(one, conditions(true));
  return names;
}

describe('the status of a budget', () => {
  test('counts pods as they come, get ready and go', async () => {
    await budget('b', { minAvailable: 2 });
    const empty = await figures('b', 0, 0, 2, 0);
    expect(empty.status.conditions).toEqual([
      {
        type: 'DisruptionAllowed',
        status: 'False',
        observedGeneration: 1,
        lastTransitionTime: expect.any(String),
        reason: 'InsufficientPods',
        message: '',
      },
    ]);
    for (const name of ['a', 'b', 'c']) await pod(name);
    const enough = await figures('b', 1, 3, 2, 3);
    expect(enough.status.conditions).toMatchObject([{ status: 'True', reason: 'SufficientPods' }]);
    await setStatus('a', conditions(false));
    await figures('b', 0, 2, 2, 3);
    await setStatus('a', conditions(true));
    await figures('b', 1, 3, 2, 3);
    // A pod being deleted does not count, though it still exists.
    await api.delete(path('pods', 'c'));
    await figures('b', 0, 2, 2, 3);
    // Nor does one that no longer matches the selector.
    await api.patch(path('pods', 'b'), { metadata: { labels: { app: 'other' } } });
    await figures('b', 0, 1, 2, 2);
    await api.patch(budgets('b'), { spec: { minAvailable: 0 } });
    expect((await figures('b', 1, 1, 0, 2)).status.observedGeneration).toBe(2);
  });

  test('takes shares of what controllers are told to keep', async () => {
    await controller('one', 4);
    await controller('two', 3);
    await budget('half', { minAvailable: '50%' });
    await figures('half', 3, 7, 4, 7);
    await api.delete(budgets('half'));
    await budget('few', { maxUnavailable: '10%' });
    await figures('few', 1, 7, 6, 7);
    await api.patch(budgets('few'), { spec: { maxUnavailable: 3 } });
    await figures('few', 3, 7, 4, 7);
    // A pod without a controller is not expected, but is healthy.
    await pod('lonely');
    await figures('few', 4, 8, 4, 7);
    await api.patch(budgets('few'), { spec: { maxUnavailable: 10 } });
    await figures('few', 8, 8, 0, 7);
  });

  test('asks a deployment about the pods of its replica sets, and a stateful set about its own', async () => {
    const workload = async (kind: string, resource: string, replicas: number, more: object = {}) => {
      const labels = { app: 'web', of: resource };
      await made(`/apis/apps/v1/namespaces/${namespace}/${resource}`, {
        kind,
        metadata: { name: 'w' },
        spec: {
          replicas,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: { nodeName: 'afar', containers: [{ name: 'c', image: 'i:1' }] },
          },
          ...more,
        },
      });
      const items = await untilList(
        api,
        `${path('pods')}?labelSelector=of%3D${resource}`,
        (pods) => pods.length === replicas,
      );
      for (const { metadata } of items) await setStatus(metadata.name, conditions(true));
    };
    await workload('Deployment', 'deployments', 4);
    await budget('b', { maxUnavailable: '25%' });
    await figures('b', 1, 4, 3, 4);
    await workload('StatefulSet', 'statefulsets', 2, { serviceName: 'w', podManagementPolicy: 'Parallel' });
    await figures('b', 2, 6, 4, 6);
  });

  test('allows nothing where it cannot be told how many pods there should be', async () => {
    const owner = (kind: string, apiVersion: string) => ({
      ownerReferences: [{ apiVersion, kind, name: 'gone', uid: 'u', controller: true }],
    });
    await budget('b', { maxUnavailable: 1 });
    const failed = (message: string) =>
      until(api, budgets('b'), ({ status }) => status.conditions?.[0]?.message === message);
    await pod('orphan', true, owner('ReplicationController', 'v1'));
    const shown = await failed('found no controllers for pod "orphan"');
    expect(shown.status).toMatchObject({
      disruptionsAllowed: 0,
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed' }],
    });
    expectFailure(
      await evict('orphan'),
      429,
      'TooManyRequests',
      violation,
      refusal(
        'b does not allow evicting pods currently because it failed sync: found no controllers for pod "orphan"',
      ),
    );
    await api.delete(path('pods', 'orphan'), { gracePeriodSeconds: 0 });
    await pod('worker', true, owner('Job', 'batch/v1'));
    await failed('jobs.batch does not implement the scale subresource');
    await api.delete(path('pods', 'worker'), { gracePeriodSeconds: 0 });
    await pod('stranger', true, owner('Squid', 'sea.example/v1'));
    await failed('no matches for kind "Squid" in version "sea.example/v1"');
  });
});

describe('an eviction', () => {
  test('goes through while the budget has a pod to spare, and no further', async () => {
    await budget('b', { minAvailable: 1 });
    for (const name of ['a', 'b']) await pod(name);
    await figures('b', 1, 2, 1, 2);
    const dry = await evict('a', {}, '?dryRun=All');
    expect(dry.status, dry.text).toBe(200);
    expect((await evict('a', { deleteOptions: { dryRun: ['All'] } })).status).toBe(200);
    expect((await api.get(path('pods', 'a'))).body.metadata).not.toHaveProperty('deletionTimestamp');
    expect((await api.get(budgets('b'))).body.status.disruptionsAllowed).toBe(1);
    expect((await evict('a')).status).toBe(200);
    expect((await api.get(path('pods', 'a'))).body.metadata).toHaveProperty('deletionTimestamp');
    for (const query of ['', '?dryRun=All']) {
      const reply = await evict('b', {}, query);
      expectFailure(
        reply,
        429,
        'TooManyRequests',
        violation,
        refusal('b needs 1 healthy pods and has 1 currently'),
      );
      expect(reply.headers).not.toHaveProperty('retry-after');
    }
    await figures('b', 0, 1, 1, 2);
    // A pod that is already being deleted may be evicted again.
    expect((await evict('a')).status).toBe(200);
  });

  test('is one of many at once for the last pod to spare, and only one of them passes', async () => {
    await budget('b', { minAvailable: 7 });
    const names = Array.from({ length: 10 }, (_, i) => `p${i}`);
    await Promise.all(names.map((name) => pod(name)));
    await figures('b', 3, 10, 7, 10);
    const replies = await Promise.all(names.map((name) => evict(name)));
    expect(replies.map(({ status }) => status).sort()).toEqual([
      ...Array(3).fill(200),
      ...Array(7).fill(429),
    ]);
    const { items } = (await api.get(path('pods'))).body;
    expect(items.filter(({ metadata }: Json) => metadata.deletionTimestamp)).toHaveLength(3);
    const { status } = await figures('b', 0, 7, 7, 10);
    expect(status).not.toHaveProperty('disruptedPods');
  });

  test('asks no budget about pods that run nothing yet, or no more', async () => {
    await budget('b', { minAvailable: 9 });
    for (const [name, phase] of [
      ['waiting', 'Pending'],
      ['done', 'Succeeded'],
      ['failed', 'Failed'],
    ] as const) {
      await pod(name);
      await setStatus(name, { ...conditions(false), phase });
      expect((await evict(name)).status).toBe(200);
    }
  });

  test('lets pods that are not ready go while enough others are, or whenever the budget says so', async () => {
    await budget('b', { minAvailable: 2 });
    for (const name of ['a', 'b']) await pod(name);
    await pod('sick', false);
    await figures('b', 0, 2, 2, 3);
    expect((await evict('a')).status).toBe(429);
    expect((await evict('sick')).status).toBe(200);
    await setStatus('b', conditions(false));
    await figures('b', 0, 1, 2, 3);
    const others = await evict('b');
    expect(others.body.details).toEqual(refusal('b needs 2 healthy pods and has 1 currently'));
    await api.patch(budgets('b'), { spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } });
    expect((await evict('b')).status).toBe(200);
    expect((await evict('a')).status).toBe(429);
  });

  test('keeps to no more than one budget', async () => {
    for (const name of ['one', 'two']) await budget(name, { minAvailable: 0 });
    await pod('a');
    for (const name of ['one', 'two']) await figures(name, 1, 1, 0, 1);
    expectFailure(
      await evict('a'),
      500,
      undefined,
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  });

  test('meets a budget made in the older version', async () => {
    await pod('a');
    await made(budgets('', 'v1beta1'), {
      metadata: { name: 'none' },
      spec: { minAvailable: 5, selector: {} },
    });
    await figures('none', 0, 0, 5, 0);
    await made(budgets('', 'v1beta1'), { metadata: { name: 'b' }, spec: { minAvailable: 1, selector: web } });
    await figures('b', 0, 1, 1, 1);
    expect((await evict('a')).status).toBe(429);
    await api.patch(budgets('b', 'v1beta1'), { spec: { minAvailable: 0 } });
    await figures('b', 1, 1, 0, 1);
    expect((await evict('a', { apiVersion: 'policy/v1beta1' })).status).toBe(200);
  });
});
