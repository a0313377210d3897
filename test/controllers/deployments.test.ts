/**
 * Deployments on simulated nodes: a change of the template replaces pods within bounds that hold at every
 * observed moment; rollouts are paused, undone, stuck and cleaned up.
 */
import { describe, expect, test } from 'vitest';
import { replicaSetName, templateHash } from '../../src/controllers/workloads/template-hash.ts';
import { type Json, jsonPatch } from '../support/http.ts';
import {
  api,
  broken,
  change,
  condition,
  deployed,
  imageOf,
  isAlive,
  isComplete,
  isReady,
  manifest,
  messages,
  mirror,
  path,
  progress,
  revisionKey,
  revisionOf,
  rolling,
  setsNow,
  template,
  useDeployments,
} from './deployments.fixture.ts';

useDeployments();

const useImage = (image: string) => change({ template: template(image, { readinessGates: null }) });
const setOf = async (image: string): Promise<Json> => (await setsNow()).find((set) => imageOf(set) === image);

/** Whether the number of pods is within the bounds; checked after every watch event. */
const within = (pods: Json[], most: number, least: number): boolean => {
  const alive = pods.filter(isAlive);
  expect(alive.length, 'pods').toBeLessThanOrEqual(most);
  expect(alive.filter(isReady).length, 'available pods').toBeGreaterThanOrEqual(least);
  return true;
};

describe('a new deployment', () => {
  test('has a replica set of its own, named after its template', async () => {
    const events = await mirror('events');
    const made = await deployed(3);
    expect(made.metadata.annotations).toEqual({ [revisionKey]: '1' });
    const [set, ...more] = await setsNow();
    expect(more).toEqual([]);
    const hash = templateHash(made);
    expect(set.metadata).toMatchObject({
      name: `web-${hash}`,
      labels: { app: 'web', 'pod-template-hash': hash },
      annotations: {
        [revisionKey]: '1',
        'deployment.kubernetes.io/desired-replicas': '3',
        'deployment.kubernetes.io/max-replicas': '4',
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          name: 'web',
          uid: made.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
    expect(set.spec.selector.matchLabels).toEqual({ app: 'web', 'pod-template-hash': hash });
    expect(set.spec.template.metadata.labels).toEqual({ app: 'web', 'pod-template-hash': hash });
    expect(made.status).toMatchObject({
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      terminatingReplicas: 0,
    });
    expect(condition(made, 'Available')).toMatchObject({
      status: 'True',
      reason: 'MinimumReplicasAvailable',
    });
    expect(condition(made, 'Progressing')).toMatchObject({
      status: 'True',
      message: `ReplicaSet "web-${hash}" has successfully progressed.`,
    });
    const told = await events.until((all) => messages(all).length > 0);
    expect(messages(told)).toEqual([`Scaled up replica set web-${hash} from 0 to 3`]);
    expect(told.find(({ reason }) => reason === 'ScalingReplicaSet')).toMatchObject({
      source: { component: 'deployment-controller' },
      involvedObject: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    });
  });

  test('tells of its beginning before its pods are there', async () => {
    const deployments = await mirror('deployments');
    await deployed(2);
    await deployments.object('web', isComplete);
    const reasons = deployments.events.map(({ object }) => progress(object)).filter(Boolean);
    expect(reasons[0]).toBe('NewReplicaSetCreated');
    expect(reasons).toContain('ReplicaSetUpdated');
    expect(condition(deployments.events[1]!.object, 'Available')).toMatchObject({
      status: 'False',
      reason: 'MinimumReplicasUnavailable',
    });
  });

  test('counts on from revisions of 64 bits', async () => {
    const labels = { app: 'web', 'pod-template-hash': 'by-hand' };
    const annotations = { [revisionKey]: '3546343826724305832' };
    await api.post(path('replicasets'), {
      metadata: { name: 'by-hand', labels, annotations },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { ...template(), metadata: { labels } },
      },
    });
    await deployed(1);
    const [adopted] = await setsNow();
    expect(adopted.metadata.annotations[revisionKey]).toBe('3546343826724305832');
    await useImage('i:2');
    const sets = await mirror('replicasets');
    await sets.until((all) =>
      all.some(({ metadata }) => metadata.annotations?.[revisionKey] === '3546343826724305833'),
    );
  });

  test('adopts a replica set that fits, and lets go of one that no longer does', async () => {
    const hash = { 'pod-template-hash': 'made-by-hand' };
    const labels = { app: 'web', ...hash };
    const reply = await api.post(path('replicasets'), {
      metadata: { name: 'by-hand', labels },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { ...template(), metadata: { labels } },
      },
    });
    expect(reply.status, reply.text).toBe(200);
    const made = await deployed(2);
    const [set, ...more] = await setsNow();
    expect(more).toEqual([]);
    expect(set.metadata).toMatchObject({ name: 'by-hand', annotations: { [revisionKey]: '1' } });
    expect(set.metadata.ownerReferences[0].uid).toBe(made.metadata.uid);
    await api.patch(path('replicasets', 'by-hand'), { metadata: { labels: { app: 'mine' } } });
    const sets = await mirror('replicasets');
    const released = await sets.object('by-hand', ({ metadata }) => !metadata.ownerReferences);
    expect(released.spec.replicas).toBe(2);
    await sets.until((all) => all.length === 2);
  });
});

describe('a rolling update', () => {
  test.each([
    [4, 1, 0],
    [4, 0, 1],
    [4, '25%', '25%'],
    [5, '40%', '60%'],
    [3, 0, '10%'],
    [2, '100%', 0],
  ])('of %i pods with a surge of %s and %s missing keeps its bounds', async (replicas, surge, missing) => {
    await deployed(replicas, { strategy: rolling(surge, missing) });
    const pods = await mirror('pods');
    await pods.until((all) => all.filter(isReady).length === replicas);
    const share = (bound: number | string, round: (value: number) => number): number =>
      typeof bound === 'number' ? bound : round((Number.parseInt(bound, 10) * replicas) / 100);
    const most = replicas + share(surge, Math.ceil);
    const least = replicas - (share(missing, Math.floor) || (most === replicas ? 1 : 0));
    await useImage('i:2');
    await pods.until(
      (all) =>
        within(all, most, least) && all.length === replicas && all.every((pod) => imageOf(pod) === 'i:2'),
    );
    const done = await (await mirror('deployments')).object('web', isComplete);
    expect(revisionOf(done)).toBe('2');
    expect((await setOf('i:1')).spec.replicas).toBe(0);
  });

  test('waits until pods have been ready for long enough', async () => {
    await deployed(2, { strategy: rolling(1, 0), minReadySeconds: 1 });
    const pods = await mirror('pods');
    await pods.until((all) => all.length === 2);
    await useImage('i:2');
    await pods.until((all) => !all.some((pod) => imageOf(pod) === 'i:1' && isAlive(pod)));
    const seconds = (time: string): number => Date.parse(time) / 1000;
    const told = pods.events.map(({ object }) => object);
    const ready = told
      .filter((pod) => imageOf(pod) === 'i:2' && isReady(pod))
      .map(({ status }) =>
        seconds(status.conditions.find((one: Json) => one.type === 'Ready').lastTransitionTime),
      );
    const marked = told
      .filter((pod) => imageOf(pod) === 'i:1' && !isAlive(pod))
      .map(({ metadata }) => seconds(metadata.deletionTimestamp) - metadata.deletionGracePeriodSeconds);
    // A second (minReadySeconds) for the first of the new pods, then another for the second one.
    expect(Math.max(...marked) - Math.min(...ready)).toBeGreaterThanOrEqual(2);
    expect((await setOf('i:2')).spec.minReadySeconds).toBe(1);
    await change({ minReadySeconds: 0 });
    await (await mirror('replicasets')).until((all) =>
      all.some((set) => imageOf(set) === 'i:2' && !set.spec.minReadySeconds),
    );
  });

  test('that is changed in the middle goes on with the newest template', async () => {
    await deployed(4, { strategy: rolling(1, 1) });
    const pods = await mirror('pods');
    await pods.until((all) => all.filter(isReady).length === 4);
    await useImage('i:2');
    await pods.until((all) => within(all, 5, 3) && all.some((pod) => imageOf(pod) === 'i:2'));
    await useImage('i:3');
    await pods.until(
      (all) => within(all, 5, 3) && all.length === 4 && all.every((pod) => imageOf(pod) === 'i:3'),
    );
    const revisions = (await setsNow()).map((set) => `${imageOf(set)} ${revisionOf(set)}`).sort();
    expect(revisions).toEqual(['i:1 1', 'i:2 2', 'i:3 3']);
  });
});

test('pods that are replaced all at once are gone before new ones come', async () => {
  await deployed(3, { strategy: { type: 'Recreate' } });
  const pods = await mirror('pods');
  await pods.until((all) => all.length === 3);
  await useImage('i:2');
  await pods.until((all) => {
    const running = all.filter(({ status }) => status.phase === 'Running' || status.phase === 'Pending');
    expect(new Set(running.map(imageOf)).size, 'templates at a time').toBeLessThanOrEqual(1);
    return all.length === 3 && all.every((pod) => imageOf(pod) === 'i:2' && isReady(pod));
  });
  await (await mirror('deployments')).object('web', isComplete);
});

describe('a rollback', () => {
  test('finds the replica set of the old template, whose revision is the newest then', async () => {
    const made = await deployed(2);
    const deployments = await mirror('deployments');
    await useImage('i:2');
    await deployments.object('web', (one) => isComplete(one) && revisionOf(one) === '2');
    const first = await setOf('i:1');
    // As kubectl rollout undo does.
    const reply = await api.patch(
      path('deployments', 'web'),
      [{ op: 'replace', path: '/spec/template', value: made.spec.template }],
      jsonPatch,
    );
    expect(reply.status, reply.text).toBe(200);
    await deployments.object('web', (one) => isComplete(one) && revisionOf(one) === '3');
    const again = await setOf('i:1');
    expect(again.metadata.uid).toBe(first.metadata.uid);
    expect(again.spec.replicas).toBe(2);
    expect(again.metadata.annotations).toMatchObject({
      [revisionKey]: '3',
      'deployment.kubernetes.io/revision-history': '1',
    });
    expect(await setsNow()).toHaveLength(2);
  });
});

describe('a paused deployment', () => {
  test('keeps its template until it is resumed, but follows its number of replicas', async () => {
    await deployed(2);
    const deployments = await mirror('deployments');
    await change({ paused: true });
    await deployments.object('web', (one) => progress(one) === 'DeploymentPaused');
    const { metadata } = await change({ replicas: 3, template: template('i:2') });
    const paused = await deployments.object(
      'web',
      ({ status }) => status.observedGeneration === metadata.generation && status.availableReplicas === 3,
    );
    expect(paused.status.updatedReplicas).toBeUndefined();
    expect(condition(paused, 'Progressing')).toMatchObject({
      status: 'Unknown',
      message: 'Deployment is paused',
    });
    expect((await setsNow()).map(imageOf)).toEqual(['i:1']);
    await change({ paused: null });
    await deployments.object('web', isComplete);
    expect((await setOf('i:2')).spec.replicas).toBe(3);
    expect(deployments.events.map(({ object }) => object.spec.paused ?? false)).toContain(true);
  });
});

describe('a stuck rollout', () => {
  test('is told of after its deadline, goes no further, and recovers by a rollback', async () => {
    await deployed(3, { strategy: rolling(1, 0), progressDeadlineSeconds: 1 });
    const deployments = await mirror('deployments');
    const pods = await mirror('pods');
    await pods.until((all) => all.filter(isReady).length === 3);
    await change({ template: template('i:broken', broken) });
    // On a slow machine the deadline may pass before the new pod is counted; its count is progress again.
    const stuck = await deployments.object(
      'web',
      (one) => progress(one) === 'ProgressDeadlineExceeded' && one.status.unavailableReplicas === 1,
    );
    const set = await setOf('i:broken');
    expect(condition(stuck, 'Progressing')).toMatchObject({
      status: 'False',
      message: `ReplicaSet "${set.metadata.name}" has timed out progressing.`,
    });
    expect(stuck.status).toMatchObject({
      replicas: 4,
      updatedReplicas: 1,
      availableReplicas: 3,
      unavailableReplicas: 1,
    });
    expect(condition(stuck, 'Available').status).toBe('True');
    await useImage('i:1');
    await pods.until(
      (all) => within(all, 4, 3) && all.length === 3 && all.every((pod) => imageOf(pod) === 'i:1'),
    );
    await deployments.object('web', isComplete);
  });

  test('gives way to the next template, its useless pods first', async () => {
    await deployed(4, { strategy: rolling(1, 1), progressDeadlineSeconds: 600 });
    const pods = await mirror('pods');
    await change({ template: template('i:broken', broken) });
    await pods.until((all) => all.filter((pod) => imageOf(pod) === 'i:broken').length === 2);
    await useImage('i:2');
    await pods.until(
      (all) => within(all, 5, 3) && all.length === 4 && all.every((pod) => imageOf(pod) === 'i:2'),
    );
    await (await mirror('deployments')).object('web', isComplete);
  });

  test('says what keeps pods from being made', async () => {
    const quotas = await mirror('resourcequotas');
    await api.post(path('resourcequotas'), { metadata: { name: 'few' }, spec: { hard: { pods: '1' } } });
    await quotas.object('few', (one) => one.status.hard?.pods === '1');
    await api.post(path('deployments'), manifest(2));
    const deployments = await mirror('deployments');
    const failing = await deployments.object('web', (one) => condition(one, 'ReplicaFailure'));
    expect(condition(failing, 'ReplicaFailure')).toMatchObject({
      status: 'True',
      reason: 'FailedCreate',
      message: expect.stringMatching(/exceeded quota: few/),
    });
    await api.patch(path('resourcequotas', 'few'), { spec: { hard: { pods: '9' } } });
    const well = await deployments.object('web', isComplete);
    expect(condition(well, 'ReplicaFailure')).toBeUndefined();
  });
});

test('a replica set that cannot be made is told of until it can', async () => {
  const quotas = await mirror('resourcequotas');
  const hard = { 'count/replicasets.apps': '0' };
  await api.post(path('resourcequotas'), { metadata: { name: 'none' }, spec: { hard } });
  await quotas.object('none', (one) => one.status.hard);
  await api.post(path('deployments'), manifest(1));
  const deployments = await mirror('deployments');
  const failing = await deployments.object('web', (one) => progress(one) === 'ReplicaSetCreateError');
  expect(condition(failing, 'Progressing')).toMatchObject({
    status: 'False',
    message: expect.stringMatching(/^Failed to create new replica set "web-.*": .*exceeded quota: none/),
  });
  await api.patch(path('resourcequotas', 'none'), { spec: { hard: { 'count/replicasets.apps': '1' } } });
  await deployments.object('web', isComplete);
});

test('a name that is taken is avoided, and that is counted', async () => {
  const intended = manifest(1);
  // The template with the server's defaults, by a dry run.
  const dry = (await api.post(`${path('deployments')}?dryRun=All`, intended)).body;
  const name = replicaSetName('web', templateHash(dry));
  const labels = { app: 'squatter' };
  const squatter = await api.post(path('replicasets'), {
    metadata: { name },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { ...template(), metadata: { labels } },
    },
  });
  expect(squatter.status, squatter.text).toBe(200);
  const made = await deployed(1);
  expect(made.status.collisionCount).toBe(1);
  const own = (await setsNow()).filter(({ metadata }) => metadata.name !== name);
  expect(own.map(({ metadata }) => metadata.name)).toEqual([replicaSetName('web', templateHash(made))]);
});

test('revisions beyond the limit are forgotten, the oldest first', async () => {
  await deployed(1, { revisionHistoryLimit: 2 });
  const deployments = await mirror('deployments');
  for (const revision of [2, 3, 4, 5]) {
    await useImage(`i:${revision}`);
    await deployments.object('web', (one) => isComplete(one) && revisionOf(one) === String(revision));
  }
  const sets = await mirror('replicasets');
  await sets.until((all) => all.length === 3);
  expect(sets.objects.map(revisionOf).sort()).toEqual(['3', '4', '5']);
  await change({ revisionHistoryLimit: 0 });
  await sets.until((all) => all.length === 1);
  expect(sets.objects.map(revisionOf)).toEqual(['5']);
});

test('annotations are handed on to the replica set', async () => {
  await deployed(1);
  await api.patch(path('deployments', 'web'), {
    metadata: {
      annotations: {
        'kubernetes.io/change-cause': 'because',
        'kubectl.kubernetes.io/last-applied-configuration': '{}',
      },
    },
  });
  const sets = await mirror('replicasets');
  const [set] = await sets.until(
    ([one]) => one?.metadata.annotations['kubernetes.io/change-cause'] === 'because',
  );
  expect(Object.keys(set.metadata.annotations)).not.toContain(
    'kubectl.kubernetes.io/last-applied-configuration',
  );
  expect(revisionOf(set)).toBe('1');
});

describe('a deployment that is deleted', () => {
  test('takes everything along', async () => {
    await deployed(2);
    const [sets, pods] = [await mirror('replicasets'), await mirror('pods')];
    await pods.until((all) => all.length === 2);
    await sets.until((all) => all.length === 1);
    await api.delete(path('deployments', 'web'));
    await sets.until((all) => all.length === 0);
    await pods.until((all) => all.length === 0);
  });

  test('in the foreground goes last', async () => {
    await deployed(2);
    const deployments = await mirror('deployments');
    await deployments.object('web');
    const reply = await api.delete(path('deployments', 'web'), { propagationPolicy: 'Foreground' });
    expect(reply.body.metadata.finalizers).toEqual(['foregroundDeletion']);
    await deployments.until((all) => all.length === 0);
    expect(await setsNow()).toEqual([]);
    expect((await api.get(path('pods'))).body.items).toEqual([]);
  });

  test('may leave its replica set, which its successor adopts', async () => {
    await deployed(2);
    const [before] = (await setsNow()) as [Json];
    const deployments = await mirror('deployments');
    await deployments.object('web');
    await api.delete(path('deployments', 'web'), { propagationPolicy: 'Orphan' });
    await deployments.until((all) => all.length === 0);
    const [orphan] = (await setsNow()) as [Json];
    expect(orphan.metadata.ownerReferences).toBeUndefined();
    const pods = (await api.get(path('pods'))).body.items.map(({ metadata }: Json) => metadata.uid).sort();
    const next = await deployed(3);
    const [adopted, ...more] = await setsNow();
    expect(more).toEqual([]);
    expect(adopted.metadata.uid).toBe(before.metadata.uid);
    expect(adopted.metadata.ownerReferences[0].uid).toBe(next.metadata.uid);
    const { items } = (await api.get(path('pods'))).body;
    expect(items.map(({ metadata }: Json) => metadata.uid)).toEqual(expect.arrayContaining(pods));
    await deployments.object('web', isComplete);
    expect(deployments.events.map(({ object }) => progress(object))).toContain('FoundNewReplicaSet');
  });
});

test('a replica set that is deleted is made again', async () => {
  await deployed(2);
  const [{ metadata }] = (await setsNow()) as [Json];
  const sets = await mirror('replicasets');
  await api.delete(path('replicasets', metadata.name));
  const again = await sets.object(
    metadata.name,
    (set) => set.metadata.uid !== metadata.uid && set.status.readyReplicas === 2,
  );
  expect(revisionOf(again)).toBe('1');
});
