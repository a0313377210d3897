/** Daemon sets: one pod on every matching node, as nodes come and go, and updates within bounds. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Client, type Json, type WatchEvent } from '../support/http.ts';
import type { Mirror } from './mirror.ts';
import { makeNode } from './objects.ts';
import {
  imageOf,
  imagePatch,
  isMarked,
  isReady,
  moments,
  names,
  type Place,
  template,
  usePlace,
} from './sets.ts';

const make = (place: Place, spec: object = {}): Promise<Json> =>
  place.make('daemonsets', {
    metadata: { name: 'web' },
    spec: { selector: { matchLabels: { app: 'web' } }, template: template(), ...spec },
  });

const update = (place: Place, image: string): Promise<Json> =>
  place.change('daemonsets', 'web', imagePatch(image));

/** The node that a pod is on, or is to be scheduled to. */
const nodeOf = (pod: Json): string =>
  pod.spec.nodeName ??
  pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]
    .matchFields[0].values[0];

const nodesOf = (pods: Json[]): string[] => pods.map(nodeOf).sort();

/** Waits until every node has an available pod of the current template. */
const settled = (sets: Mirror, nodes: number): Promise<Json> =>
  sets.object(
    'web',
    ({ status, metadata }) =>
      status.observedGeneration === metadata.generation &&
      [status.desiredNumberScheduled, status.updatedNumberScheduled, status.numberAvailable].every(
        (count = 0) => count === nodes,
      ),
  );

describe('on nodes', () => {
  let cluster: Cluster | undefined;
  const place = usePlace(new Client(() => cluster!.url), 'daemons');
  const nodes = ['simulated-1', 'simulated-2', 'simulated-3'];
  beforeAll(async () => {
    cluster = await start({ store: 'memory', simulatedNodes: 3 });
  });
  afterAll(() => cluster?.close());

  const rolling = (bounds: object): object => ({
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: bounds },
  });

  /** The states observed during an update. */
  async function updated(spec: object): Promise<{ event: WatchEvent; objects: Map<string, Json> }[]> {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('daemonsets');
    await make(place, spec);
    await settled(sets, 3);
    await pods.until((all) => all.length === 3 && all.every(isReady));
    const before = pods.events.length;
    await update(place, 'i:2');
    await settled(sets, 3);
    await pods.until((all) => all.length === 3 && all.every((pod) => isReady(pod) && imageOf(pod) === 'i:2'));
    return [...moments(pods.events)].slice(before);
  }

  test('each has a pod of its own, bound by the scheduler', async () => {
    const sets = await place.mirror('daemonsets');
    const events = await place.mirror('events');
    const made = await make(place);
    const { status } = await settled(sets, 3);
    expect(status).toEqual({
      currentNumberScheduled: 3,
      numberMisscheduled: 0,
      desiredNumberScheduled: 3,
      numberReady: 3,
      observedGeneration: 1,
      updatedNumberScheduled: 3,
      numberAvailable: 3,
    });
    const pods = await place.list('pods');
    expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual(nodes);
    const [revision] = await place.list('controllerrevisions');
    const [pod] = pods as [Json];
    expect(pod.metadata).toMatchObject({
      generateName: 'web-',
      labels: {
        app: 'web',
        'controller-revision-hash': revision.metadata.labels['controller-revision-hash'],
      },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web', uid: made.metadata.uid }],
    });
    expect(pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution).toEqual({
      nodeSelectorTerms: [
        { matchFields: [{ key: 'metadata.name', operator: 'In', values: [pod.spec.nodeName] }] },
      ],
    });
    expect(pod.spec.tolerations).toEqual(
      [
        ['not-ready', 'NoExecute'],
        ['unreachable', 'NoExecute'],
        ['disk-pressure', 'NoSchedule'],
        ['memory-pressure', 'NoSchedule'],
        ['pid-pressure', 'NoSchedule'],
        ['unschedulable', 'NoSchedule'],
      ].map(([name, effect]) => ({ key: `node.kubernetes.io/${name}`, operator: 'Exists', effect })),
    );
    const told = await events.until(
      (all) => all.filter(({ involvedObject }) => involvedObject.kind === 'DaemonSet').length === 3,
    );
    expect(told.find(({ involvedObject }) => involvedObject.kind === 'DaemonSet')).toMatchObject({
      type: 'Normal',
      reason: 'SuccessfulCreate',
      message: expect.stringMatching(/^Created pod: web-[a-z0-9]{5}$/),
      source: { component: 'daemonset-controller' },
    });
  });

  test.each([
    [1, 2],
    ['60%', 1],
  ])(
    'an update with maxUnavailable %s leaves %i of 3 nodes served at every moment',
    async (maxUnavailable, served) => {
      for (const { objects } of await updated(rolling({ maxUnavailable }))) {
        const pods = [...objects.values()];
        expect(pods.filter(isReady).length).toBeGreaterThanOrEqual(served);
        expect(nodesOf(pods.filter((pod) => !isMarked(pod))).length).toBeLessThanOrEqual(3);
      }
    },
  );

  test('an update that surges serves every node at every moment, and few have two pods', async () => {
    for (const { objects } of await updated(rolling({ maxUnavailable: 0, maxSurge: 1 }))) {
      const pods = [...objects.values()];
      expect(new Set(nodesOf(pods.filter(isReady)))).toEqual(new Set(nodes));
      expect(pods.filter((pod) => !isMarked(pod)).length).toBeLessThanOrEqual(4);
    }
  });

  test('one that comes gets a pod, also when it is closed; one that goes is no longer counted', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('daemonsets');
    await make(place);
    await settled(sets, 3);
    await cluster!.simulated.start('late');
    await settled(sets, 4);
    await place.api.patch('/api/v1/nodes/late', { spec: { unschedulable: true } });
    const [pod] = (await pods.until((all) => nodesOf(all).includes('late'))).filter(
      (one) => nodeOf(one) === 'late',
    ) as [Json];
    await place.remove('pods', pod.metadata.name);
    await pods.until((all) =>
      all.some((one) => nodeOf(one) === 'late' && one.metadata.uid !== pod.metadata.uid && isReady(one)),
    );
    await cluster!.simulated.stop('late');
    await place.api.delete('/api/v1/nodes/late');
    await sets.object('web', ({ status }) => status.desiredNumberScheduled === 3);
  });

  test('only those that are selected have one, and it goes when they no longer are', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('daemonsets');
    const label = (node: string, disk: string | null): Promise<unknown> =>
      place.api.patch(`/api/v1/nodes/${node}`, { metadata: { labels: { disk } } });
    await label('simulated-2', 'ssd');
    await make(place, { template: template('i:1', { nodeSelector: { disk: 'ssd' } }) });
    await settled(sets, 1);
    expect(nodesOf(await place.list('pods'))).toEqual(['simulated-2']);
    await label('simulated-3', 'ssd');
    await settled(sets, 2);
    await label('simulated-2', null);
    await settled(sets, 1);
    await pods.until((all) => nodesOf(all).join() === 'simulated-3');
    await label('simulated-3', null);
    await settled(sets, 0);
    await pods.until((all) => all.length === 0);
  });

  test('a taint keeps pods away, and drives them out if it says so', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('daemonsets');
    const taint = (effect?: string): Promise<unknown> =>
      place.api.patch('/api/v1/nodes/simulated-1', {
        spec: { taints: effect ? [{ key: 'mine', effect }] : [] },
      });
    await make(place);
    await settled(sets, 3);
    await taint('NoSchedule');
    const { status } = await sets.object('web', (set) => set.status.desiredNumberScheduled === 2);
    expect(status).toMatchObject({ numberMisscheduled: 1, currentNumberScheduled: 2, numberReady: 2 });
    expect((await place.list('pods')).length).toBe(3);
    await taint('NoExecute');
    await pods.until((all) => nodesOf(all).join() === 'simulated-2,simulated-3');
    await place.change('daemonsets', 'web', {
      spec: { template: { spec: { tolerations: [{ key: 'mine', operator: 'Exists' }] } } },
    });
    await settled(sets, 3);
    await taint();
  });

  test('an older revision comes back with a new number', async () => {
    const sets = await place.mirror('daemonsets');
    await make(place, { revisionHistoryLimit: 1 });
    await settled(sets, 3);
    const [first] = (await place.list('controllerrevisions')) as [Json];
    await update(place, 'i:2');
    await settled(sets, 3);
    const reply = await place.api.patch(
      place.path('daemonsets', 'web'),
      first.data,
      'application/strategic-merge-patch+json',
    );
    expect(reply.status, reply.text).toBe(200);
    await settled(sets, 3);
    const revisions = await place.list('controllerrevisions');
    expect(revisions.map(({ revision }) => revision).sort()).toEqual([2, 3]);
    expect(revisions.find(({ revision }) => revision === 3).metadata.name).toBe(first.metadata.name);
    for (const pod of await place.list('pods'))
      expect(pod.metadata.labels['controller-revision-hash']).toBe(
        first.metadata.labels['controller-revision-hash'],
      );
    await update(place, 'i:3');
    await settled(sets, 3);
    const kept = await place.mirror('controllerrevisions');
    await kept.until((all) => all.length === 2 && all.some(({ revision }) => revision === 4));
  });
});

describe('with pods run by hand', () => {
  let cluster: Cluster | undefined;
  const place = usePlace(new Client(() => cluster!.url), 'by-hand');
  beforeAll(async () => {
    cluster = await start({ store: 'memory', controllers: ['-scheduler', '-pod-collector'] });
    for (const name of ['n1', 'n2']) await makeNode(place.api, name);
  });
  afterAll(() => cluster?.close());

  const bind = (pod: Json): Promise<unknown> =>
    place.api.post(`${place.path('pods', pod.metadata.name)}/binding`, {
      metadata: { name: pod.metadata.name },
      target: { kind: 'Node', name: nodeOf(pod) },
    });
  const on = (pods: Json[], node: string): Json => pods.find((pod) => nodeOf(pod) === node);

  test('a pod that fails is replaced, more slowly when it fails again', async () => {
    const pods = await place.mirror('pods');
    const events = await place.mirror('events');
    await make(place);
    const [first] = (await pods.until((all) => all.length === 2)) as [Json];
    const node = nodeOf(first);
    const failures = (): Json[] => events.objects.filter(({ reason }) => reason === 'FailedDaemonPod');
    // The back-off counts from the first failure.
    const began = Date.now();
    await place.report(first.metadata.name, { phase: 'Failed' });
    await pods.until((all) => on(all, node) && on(all, node).metadata.uid !== first.metadata.uid);
    const second = on(pods.objects, node);
    await place.report(second.metadata.name, { phase: 'Failed' });
    await pods.until((all) => on(all, node) && on(all, node).metadata.uid !== second.metadata.uid);
    expect(Date.now() - began).toBeGreaterThan(700);
    await events.until(() => failures().length === 2);
    expect(failures()[0]).toMatchObject({
      type: 'Warning',
      message: `Found failed daemon pod ${place.namespace}/${first.metadata.name} on node ${node}, will try to kill it`,
    });
  });

  test('a pod of an old template goes when it is deleted by hand, if that is how it is wanted', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('daemonsets');
    await make(place, { updateStrategy: { type: 'OnDelete' } });
    for (const pod of await pods.until((all) => all.length === 2)) await place.ready(pod.metadata.name);
    await update(place, 'i:2');
    const { status } = await sets.object('web', (set) => set.status.observedGeneration === 2);
    expect(status.updatedNumberScheduled).toBeUndefined();
    expect((await place.list('pods')).map(imageOf)).toEqual(['i:1', 'i:1']);
    await place.remove('pods', on(pods.objects, 'n1').metadata.name);
    await pods.until((all) => on(all, 'n1') && imageOf(on(all, 'n1')) === 'i:2');
    await sets.object('web', (set) => set.status.updatedNumberScheduled === 1);
  });

  test('an update waits until a new pod has been ready for long enough', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('daemonsets');
    const long = '2026-01-02T03:04:05Z';
    await make(place, { minReadySeconds: 3600 });
    for (const pod of await pods.until((all) => all.length === 2)) await place.ready(pod.metadata.name, long);
    await settled(sets, 2);
    await update(place, 'i:2');
    const [fresh] = (
      await pods.until((all) => all.length === 2 && all.some((pod) => imageOf(pod) === 'i:2'))
    ).filter((pod) => imageOf(pod) === 'i:2') as [Json];
    await place.ready(fresh.metadata.name);
    await sets.object('web', ({ status }) => status.numberReady === 2 && status.numberAvailable === 1);
    expect((await place.list('pods')).map(imageOf).sort()).toEqual(['i:1', 'i:2']);
    await place.ready(fresh.metadata.name, long);
    await pods.until((all) => all.length === 2 && all.every((pod) => imageOf(pod) === 'i:2'));
  });

  test('an old pod that is not available is replaced at once', async () => {
    const pods = await place.mirror('pods');
    await make(place);
    await pods.until((all) => all.length === 2);
    await update(place, 'i:2');
    await pods.until((all) => all.length === 2 && all.every((pod) => imageOf(pod) === 'i:2'));
  });

  test('a pod for a node that is gone before it got there goes, too', async () => {
    const pods = await place.mirror('pods');
    await makeNode(place.api, 'brief');
    await make(place);
    await pods.until((all) => all.length === 3);
    await place.api.delete('/api/v1/nodes/brief');
    await pods.until((all) => nodesOf(all).join() === 'n1,n2');
  });

  test('a second pod on a node is too many', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('daemonsets');
    await make(place);
    for (const pod of await pods.until((all) => all.length === 2)) {
      await bind(pod);
      await place.ready(pod.metadata.name);
    }
    await sets.object('web', ({ status }) => status.numberReady === 2);
    const old = names(pods.objects);
    const more = template('i:1', { nodeName: 'n1' });
    await place.make('pods', { ...more, metadata: { ...more.metadata, name: 'zz' } });
    await pods.object('zz', isMarked);
    expect(names((await place.list('pods')).filter((pod) => !isMarked(pod)))).toEqual(old);
  });

  test('a set that is deleted takes its pods and its history along', async () => {
    const pods = await place.mirror('pods');
    const revisions = await place.mirror('controllerrevisions');
    await make(place);
    await pods.until((all) => all.length === 2);
    await revisions.until((all) => all.length === 1);
    await place.remove('daemonsets', 'web');
    await pods.until((all) => all.length === 0);
    await revisions.until((all) => all.length === 0);
  });

  test('a set that is deleted may leave them for another of its name', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('daemonsets');
    await make(place);
    for (const pod of await pods.until((all) => all.length === 2)) await place.ready(pod.metadata.name);
    await settled(sets, 2);
    const uids = pods.objects.map(({ metadata }) => metadata.uid).sort();
    await place.remove('daemonsets', 'web', { propagationPolicy: 'Orphan' });
    await sets.until((all) => all.length === 0);
    const made = await make(place);
    await settled(sets, 2);
    const adopted = await place.list('pods');
    expect(adopted.map(({ metadata }) => metadata.uid).sort()).toEqual(uids);
    for (const { metadata } of adopted) expect(metadata.ownerReferences[0].uid).toBe(made.metadata.uid);
    expect((await place.list('controllerrevisions')).length).toBe(1);
  });
});
