/** Eviction and ephemeral containers: two more ways to change a pod. Kinds contract, sections 1.2 and 11. */
import { describe, expect, it } from 'vitest';
import { type Json, mergePatch, strategicPatch, useCluster } from '../support/http.ts';
import { expectFailure } from './failure.ts';
import { created, pod, pods } from './objects.ts';

const client = useCluster({ controllers: ['namespace', 'serviceaccount'] });

const bound = (name: string): Promise<Json> => created(client, pods, pod(name, {}, { nodeName: 'afar' }));
const evict = (name: string, more: Json = {}) =>
  client.post(`${pods}/${name}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name },
    ...more,
  });

describe('an eviction', () => {
  it('is promised where kubectl drain looks for it', async () => {
    const { resources } = (await client.get('/api/v1')).body;
    expect(resources.find((one: Json) => one.name === 'pods/eviction')).toEqual({
      name: 'pods/eviction',
      singularName: '',
      namespaced: true,
      group: 'policy',
      version: 'v1',
      kind: 'Eviction',
      verbs: ['create'],
    });
    expect((await client.get('/apis')).body.groups).toContainEqual(
      expect.objectContaining({ name: 'policy' }),
    );
    const served = (await client.get('/apis/policy/v1')).body.resources;
    expect(served.map((one: Json) => one.name)).toEqual([
      'poddisruptionbudgets',
      'poddisruptionbudgets/status',
    ]);
  });

  it.each(['policy/v1', 'policy/v1beta1'])('of %s notes why, and deletes gracefully', async (apiVersion) => {
    const name = apiVersion.replace('/', '-');
    await bound(name);
    const reply = await evict(name, { apiVersion });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      code: 200,
    });
    const { metadata, status } = (await client.get(`${pods}/${name}`)).body;
    expect(metadata).toMatchObject({ deletionGracePeriodSeconds: 30 });
    expect(status.conditions).toContainEqual({
      type: 'DisruptionTarget',
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: expect.any(String),
      reason: 'EvictionByEvictionAPI',
      message: 'Eviction API: evicting',
    });
  });

  it('honours its delete options', async () => {
    const { metadata } = await bound('options');
    const wrong = await evict('options', { deleteOptions: { preconditions: { uid: 'other' } } });
    expect(wrong.status).toBe(409);
    const stale = await evict('options', { deleteOptions: { preconditions: { resourceVersion: '1' } } });
    expect(stale.status).toBe(409);
    for (const dry of [evict('options', { deleteOptions: { dryRun: ['All'] } }), dryRun('options')])
      expect((await dry).status).toBe(200);
    const { body } = await client.get(`${pods}/options`);
    expect(body.metadata.resourceVersion).toBe(metadata.resourceVersion);
    const preconditions = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
    const now = await evict('options', { deleteOptions: { gracePeriodSeconds: 0, preconditions } });
    expect(now.status).toBe(200);
    expect((await client.get(`${pods}/options`)).status).toBe(404);
  });

  const dryRun = (name: string) =>
    client.post(`${pods}/${name}/eviction?dryRun=All`, { metadata: { name }, kind: 'Eviction' });

  it('removes a pod that is on no node at once', async () => {
    await created(client, pods, pod('unbound'));
    expect((await evict('unbound')).status).toBe(200);
    expect((await client.get(`${pods}/unbound`)).status).toBe(404);
  });

  it('is refused for another pod, one that is not there, and in other ways', async () => {
    const other = await client.post(`${pods}/one/eviction`, { metadata: { name: 'two' } });
    expectFailure(other, 400, 'BadRequest', 'name in URL does not match name in Eviction object');
    expectFailure(await evict('none'), 404, 'NotFound', 'pods "none" not found', {
      name: 'none',
      kind: 'pods',
    });
    expect((await evict('none', { apiVersion: 'policy/v2' })).status).toBe(400);
    expect((await client.get(`${pods}/none/eviction`)).status).toBe(405);
  });
});

// No disruption controller runs, so the tests write the budgets' status.
describe('an eviction that a budget guards', () => {
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  const violation = "Cannot evict pod as it would violate the pod's disruption budget.";

  /** A ready pod, and a budget of the same name that selects it. */
  async function guarded(name: string, status?: Json): Promise<void> {
    await created(client, pods, pod(name, { labels: { budget: name } }, { nodeName: 'afar' }));
    const conditions = [{ type: 'Ready', status: 'True' }];
    await client.patch(`${pods}/${name}/status`, { status: { phase: 'Running', conditions } });
    const selector = { matchLabels: { budget: name } };
    await created(client, budgets, { metadata: { name }, spec: { selector, minAvailable: 1 } });
    if (!status) return;
    const reply = await client.patch(`${budgets}/${name}/status`, {
      status: { observedGeneration: 1, ...status },
    });
    expect(reply.status, reply.text).toBe(200);
  }

  const refused = async (name: string, cause: string) => {
    const reply = await evict(name);
    expectFailure(reply, 429, 'TooManyRequests', violation, {
      causes: [{ reason: 'DisruptionBudget', message: `The disruption budget ${name} ${cause}` }],
    });
    expect(reply.headers).not.toHaveProperty('retry-after');
  };

  it('waits for a budget that nobody has worked out', async () => {
    await guarded('unseen');
    const reply = await evict('unseen');
    expectFailure(reply, 429, 'TooManyRequests', violation, {
      causes: [
        {
          reason: 'DisruptionBudget',
          message: 'The disruption budget unseen is still being processed by the server.',
        },
      ],
      retryAfterSeconds: 10,
    });
    expect(reply.headers['retry-after']).toBe('10');
  });

  it('is written down in the budget before the pod goes', async () => {
    await guarded('spent', { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 });
    const before = (await client.get(`${budgets}/spent`)).body.metadata.resourceVersion;
    const watch = await client.watch(`${budgets}?watch=true&resourceVersion=${before}`);
    expect((await evict('spent')).status).toBe(200);
    const { object } = await watch.until(({ object }) => object.metadata.name === 'spent');
    watch.close();
    expect(object.status).toMatchObject({
      disruptionsAllowed: 0,
      disruptedPods: { spent: expect.stringMatching(/Z$/) },
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' }],
    });
    const gone = (await client.get(`${pods}/spent`)).body.metadata;
    expect(Number(gone.resourceVersion)).toBeGreaterThan(Number(object.metadata.resourceVersion));
  });

  it('is refused in words that say why', async () => {
    await guarded('few', { currentHealthy: 1, desiredHealthy: 1 });
    await refused('few', 'needs 1 healthy pods and has 1 currently');
    const condition = (reason: string) => ({
      type: 'DisruptionAllowed',
      status: 'False',
      reason,
      message: 'a message',
      lastTransitionTime: '2026-01-02T03:04:05Z',
    });
    await guarded('unsynced', { conditions: [condition('SyncFailed')] });
    await refused('unsynced', 'does not allow evicting pods currently because it failed sync: a message');
    await guarded('odd', { currentHealthy: 2, desiredHealthy: 1, conditions: [condition('Other')] });
    await refused('odd', 'does not allow evicting pods currently (Other): a message');
    await guarded('mute', { currentHealthy: 2, desiredHealthy: 1 });
    await refused('mute', 'does not allow evicting pods currently');
    const full = Object.fromEntries(
      Array.from({ length: 2001 }, (_, i) => [`p${i}`, '2026-01-02T03:04:05Z']),
    );
    await guarded('full', { disruptionsAllowed: 5, disruptedPods: full });
    expectFailure(
      await evict('full'),
      403,
      'Forbidden',
      'poddisruptionbudget.policy "full" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller',
      { name: 'full', group: 'policy', kind: 'poddisruptionbudget' },
    );
  });
});

describe('ephemeral containers', () => {
  const path = (name: string) => `${pods}/${name}/ephemeralcontainers`;
  const debug = { name: 'debug', image: 'registry.example/debug:1', targetContainerName: 'c' };
  const add = (name: string, ...containers: Json[]) =>
    client.patch(path(name), { spec: { ephemeralContainers: containers } }, strategicPatch);

  it('are added by a patch, with defaults and a new generation, and nothing else is', async () => {
    await bound('debugged');
    const reply = await client.patch(
      path('debugged'),
      {
        metadata: { labels: { ignored: 'yes' } },
        spec: { activeDeadlineSeconds: 1, ephemeralContainers: [debug] },
      },
      strategicPatch,
    );
    expect(reply.status).toBe(200);
    const { metadata, spec } = reply.body;
    expect(metadata.generation).toBe(2);
    expect(metadata.labels).toBeUndefined();
    expect(spec.activeDeadlineSeconds).toBeUndefined();
    expect(spec.ephemeralContainers).toEqual([
      expect.objectContaining({ ...debug, imagePullPolicy: 'IfNotPresent' }),
    ]);
    const second = await add('debugged', { name: 'more', image: 'registry.example/debug:1' });
    const names = second.body.spec.ephemeralContainers.map((one: Json) => one.name);
    expect(names.sort()).toEqual(['debug', 'more']);
    expect((await client.get(path('debugged'))).body).toEqual(second.body);
  });

  it('are added by an update', async () => {
    const object = await bound('updated');
    object.spec.ephemeralContainers = [debug];
    expect((await client.put(path('updated'), object)).body.spec.ephemeralContainers).toHaveLength(1);
    expect((await client.put(path('updated'), object)).status).toBe(409);
  });

  it('are added by an update of the kind that kubectl before 1.22 sends', async () => {
    const { metadata } = await bound('older');
    const send = (container: Json, version?: string) =>
      client.put(path('older'), {
        kind: 'EphemeralContainers',
        apiVersion: 'v1',
        metadata: { name: 'older', resourceVersion: version },
        ephemeralContainers: [container],
      });
    expect((await send(debug, metadata.resourceVersion)).status).toBe(200);
    const more = { ...debug, name: 'more' };
    expect((await send(more, metadata.resourceVersion)).status).toBe(409);
    const { body } = await send(more);
    expect(body.spec.ephemeralContainers.map((one: Json) => one.name).sort()).toEqual(['debug', 'more']);
    expect((await send('nonsense')).status).toBeGreaterThanOrEqual(400);
  });

  it('stay as they are', async () => {
    await bound('kept');
    await add('kept', debug);
    const removed = await client.patch(path('kept'), { spec: { ephemeralContainers: null } }, mergePatch);
    expect(removed.status).toBe(422);
    expect(removed.body.message).toContain('existing ephemeral containers "debug" may not be removed');
    const changed = await add('kept', { ...debug, image: 'registry.example/debug:2' });
    expect(changed.status).toBe(422);
    expect(changed.body.message).toContain('existing ephemeral containers "debug" may not be changed');
  });

  it('are no containers like others, and come only this way', async () => {
    await bound('plain');
    const causes = async (container: Json) =>
      (await add('plain', { ...debug, ...container })).body.details.causes.map(
        (cause: Json) => `${cause.field}: ${cause.message}`,
      );
    expect(await causes({ ports: [{ containerPort: 80 }], resources: { limits: { cpu: '1' } } })).toEqual([
      'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container',
    ]);
    expect(await causes({ targetContainerName: 'x' })).toEqual([
      'spec.ephemeralContainers[0].targetContainerName: Not found: "x"',
    ]);
    expect(await causes({ name: 'c' })).toEqual(['spec.ephemeralContainers[0].name: Duplicate value: "c"']);
    const main = await client.patch(`${pods}/plain`, { spec: { ephemeralContainers: [debug] } });
    expect(main.status).toBe(422);
  });
});
