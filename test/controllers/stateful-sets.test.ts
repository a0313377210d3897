/** Stateful sets: pods with fixed names, created one after another, and replaced in order. */
import { describe, expect, test } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import type { Mirror } from './mirror.ts';
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
import { byHand, make, run, scale } from './stateful-set.ts';

const update = (place: Place, image: string): Promise<Json> =>
  place.change('statefulsets', 'web', imagePatch(image));

/** Waits until all pods of the set exist, are ready, and have this image. */
const settled = (sets: Mirror, replicas: number, revision?: number): Promise<Json> =>
  sets.object(
    'web',
    ({ status, metadata }) =>
      status.observedGeneration === metadata.generation &&
      status.replicas === replicas &&
      (status.readyReplicas ?? 0) === replicas &&
      (revision === undefined || status.currentRevision === status.updateRevision),
  );

describe('on nodes', () => {
  const place = usePlace(useCluster({ simulatedNodes: 3 }), 'stateful');

  test('pods are made one after another, each with its identity', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('statefulsets');
    const events = await place.mirror('events');
    const made = await make(place, 3);
    const { status } = await settled(sets, 3);
    await pods.until((all) => all.length === 3 && all.every(isReady));
    for (const { event, objects } of moments(pods.events)) {
      if (event.type !== 'ADDED') continue;
      const ordinal = Number(event.object.metadata.name.slice(4));
      for (let before = 0; before < ordinal; before++)
        expect(isReady(objects.get(`web-${before}`))).toBe(true);
    }
    const [revision] = await place.list('controllerrevisions');
    expect(status).toEqual({
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      availableReplicas: 3,
      currentRevision: revision.metadata.name,
      updateRevision: revision.metadata.name,
      collisionCount: 0,
    });
    expect(names(pods.objects)).toEqual(['web-0', 'web-1', 'web-2']);
    const pod = await place.get('pods', 'web-1');
    expect(pod.metadata).toMatchObject({
      generateName: 'web-',
      labels: {
        app: 'web',
        'statefulset.kubernetes.io/pod-name': 'web-1',
        'apps.kubernetes.io/pod-index': '1',
        'controller-revision-hash': revision.metadata.name,
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          name: 'web',
          uid: made.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
    expect(pod.spec).toMatchObject({ hostname: 'web-1', subdomain: 'db' });
    const told = await events.until(
      (all) => all.filter(({ involvedObject }) => involvedObject.kind === 'StatefulSet').length === 3,
    );
    expect(told.map(({ message }) => message)).toContain('create Pod web-2 in StatefulSet web successful');
    expect(told.find(({ involvedObject }) => involvedObject.kind === 'StatefulSet')).toMatchObject({
      type: 'Normal',
      reason: 'SuccessfulCreate',
      source: { component: 'statefulset-controller' },
      involvedObject: { name: 'web', apiVersion: 'apps/v1', uid: made.metadata.uid },
    });
  });

  test('a headless service gives every pod a name', async () => {
    await place.make('services', {
      metadata: { name: 'db' },
      spec: { clusterIP: 'None', selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
    const endpoints = await place.mirror('endpoints');
    await make(place, 2);
    const { subsets } = await endpoints.object('db', (one) => one.subsets?.[0]?.addresses?.length === 2);
    const addresses = subsets[0].addresses as Json[];
    expect(addresses.map(({ hostname, targetRef }) => [hostname, targetRef.name]).sort()).toEqual([
      ['web-0', 'web-0'],
      ['web-1', 'web-1'],
    ]);
  });

  test('an update replaces pods from the last to the first, never two at once', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('statefulsets');
    await make(place, 3);
    const first = await settled(sets, 3);
    const before = (await place.list('pods')).length;
    expect(before).toBe(3);
    await pods.until((all) => all.length === 3 && all.every(isReady));
    const start = pods.events.length;
    await update(place, 'i:2');
    const second = await sets.object(
      'web',
      ({ status }) =>
        status.updateRevision !== first.status.updateRevision &&
        status.currentRevision === status.updateRevision,
    );
    expect(second.status).toMatchObject({
      updatedReplicas: 3,
      currentReplicas: 3,
      readyReplicas: 3,
      replicas: 3,
    });
    await pods.until((all) => all.length === 3 && all.every((pod) => isReady(pod) && imageOf(pod) === 'i:2'));
    const gone: string[] = [];
    let i = 0;
    for (const { event, objects } of moments(pods.events)) {
      if (++i <= start) continue;
      if (event.type === 'DELETED') gone.push(event.object.metadata.name);
      expect([...objects.values()].filter(isReady).length).toBeGreaterThanOrEqual(2);
    }
    expect(gone).toEqual(['web-2', 'web-1', 'web-0']);
  });

  test('an older revision comes back with a new number, and old ones are forgotten', async () => {
    const sets = await place.mirror('statefulsets');
    await make(place, 1, { revisionHistoryLimit: 1 });
    const first = (await settled(sets, 1)).status.updateRevision;
    await update(place, 'i:2');
    const { status } = await sets.object(
      'web',
      (set) =>
        set.status.updateRevision !== first && set.status.currentRevision === set.status.updateRevision,
    );
    const [old] = (await place.list('controllerrevisions')).filter(({ metadata }) => metadata.name === first);
    expect(old).toMatchObject({
      revision: 1,
      metadata: { labels: { app: 'web', 'controller-revision-hash': first.slice(4) } },
      data: { spec: { template: { $patch: 'replace', spec: { containers: [{ image: 'i:1' }] } } } },
    });
    // As kubectl rollout undo does.
    const reply = await place.api.patch(
      place.path('statefulsets', 'web'),
      old.data,
      'application/strategic-merge-patch+json',
    );
    expect(reply.status, reply.text).toBe(200);
    await sets.object('web', (set) => set.status.currentRevision === first && set.status.replicas === 1);
    const numbers = Object.fromEntries(
      (await place.list('controllerrevisions')).map(({ metadata, revision }) => [metadata.name, revision]),
    );
    expect(numbers).toEqual({ [first]: 3, [status.updateRevision]: 2 });
    await update(place, 'i:3');
    await sets.object(
      'web',
      (set) =>
        ![first, status.updateRevision].includes(set.status.currentRevision) &&
        set.status.readyReplicas === 1,
    );
    const revisions = await place.mirror('controllerrevisions');
    await revisions.until((all) => all.length === 2 && !names(all).includes(status.updateRevision));
  });

  test('a smaller set loses its last pods first, one after another', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('statefulsets');
    await make(place, 4);
    await settled(sets, 4);
    await pods.until((all) => all.length === 4 && all.every(isReady));
    await scale(place, 1);
    await settled(sets, 1);
    await pods.until((all) => all.length === 1);
    const gone: string[] = [];
    for (const { event, objects } of moments(pods.events)) {
      if (event.type === 'DELETED') gone.push(event.object.metadata.name);
      expect([...objects.values()].filter(isMarked).length).toBeLessThanOrEqual(1);
    }
    expect(gone).toEqual(['web-3', 'web-2', 'web-1']);
  });

  test('a pod that is deleted comes back under its name', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('statefulsets');
    await make(place, 2);
    await settled(sets, 2);
    const { metadata } = await place.get('pods', 'web-0');
    await place.remove('pods', 'web-0');
    await pods.object('web-0', (pod) => pod.metadata.uid !== metadata.uid && isReady(pod));
  });
});

describe('with pods run by hand', () => {
  const place = usePlace(useCluster(byHand), 'by-hand');

  test('the partition keeps pods before it as they are', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('statefulsets');
    await make(place, 3, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } });
    await run(place, pods, 3);
    await settled(sets, 3);
    await update(place, 'i:2');
    await pods.object('web-2', (pod) => imageOf(pod) === 'i:2');
    await place.ready('web-2');
    const part = await sets.object(
      'web',
      ({ status }) => status.updatedReplicas === 1 && status.readyReplicas === 3,
    );
    expect(part.status).toMatchObject({ currentReplicas: 2, updatedReplicas: 1 });
    expect(part.status.currentRevision).not.toBe(part.status.updateRevision);
    // A pod below the partition that is created again has its old template.
    const { uid } = (await place.get('pods', 'web-1')).metadata;
    await place.remove('pods', 'web-1');
    const again = await pods.object('web-1', ({ metadata }) => metadata.uid !== uid);
    expect(imageOf(again)).toBe('i:1');
    expect(again.metadata.labels['controller-revision-hash']).toBe(part.status.currentRevision);
    await place.ready('web-1');
    await place.change('statefulsets', 'web', {
      spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } },
    });
    for (const name of ['web-1', 'web-0']) {
      await pods.object(name, (pod) => imageOf(pod) === 'i:2');
      await place.ready(name);
    }
    await sets.object('web', ({ status }) => status.currentRevision === status.updateRevision);
  });

  test('pods that are replaced only when they are deleted', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('statefulsets');
    await make(place, 2, { updateStrategy: { type: 'OnDelete' } });
    await run(place, pods, 2);
    await settled(sets, 2);
    await update(place, 'i:2');
    const { status } = await sets.object('web', (set) => set.status.observedGeneration === 2);
    expect(status).toMatchObject({ currentReplicas: 2, readyReplicas: 2 });
    expect(status.updatedReplicas).toBeUndefined();
    await place.remove('pods', 'web-0');
    await pods.object('web-0', (pod) => imageOf(pod) === 'i:2');
    expect(imageOf(await place.get('pods', 'web-1'))).toBe('i:1');
  });

  test('a parallel set makes and deletes all at once, and still updates one by one', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('statefulsets');
    await make(place, 4, { podManagementPolicy: 'Parallel' });
    await pods.until((all) => all.length === 4 && !all.some(isReady));
    await run(place, pods, 3);
    await scale(place, 2);
    await pods.until((all) => all.length === 2);
    await settled(sets, 2);
    await update(place, 'i:2');
    await pods.object('web-1', (pod) => imageOf(pod) === 'i:2');
    // A broken template is replaced without manual deletion of the broken pod.
    await update(place, 'i:3');
    await pods.object('web-1', (pod) => imageOf(pod) === 'i:3');
    expect(imageOf(await place.get('pods', 'web-0'))).toBe('i:1');
    await place.ready('web-1');
    await pods.object('web-0', (pod) => imageOf(pod) === 'i:3');
  });

  test('a pod that never becomes ready holds up an ordered update, and its undoing', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('statefulsets');
    await make(place, 2);
    await run(place, pods, 2);
    await settled(sets, 2);
    await update(place, 'broken');
    const broken = await pods.object('web-1', (pod) => imageOf(pod) === 'broken');
    await update(place, 'i:1');
    await sets.object('web', ({ status }) => status.observedGeneration === 3);
    expect((await place.get('pods', 'web-1')).metadata.uid).toBe(broken.metadata.uid);
    await place.remove('pods', 'web-1');
    const well = await pods.object('web-1', ({ metadata }) => metadata.uid !== broken.metadata.uid);
    expect(imageOf(well)).toBe('i:1');
    await place.ready('web-1');
    await sets.object(
      'web',
      ({ status }) => status.currentRevision === status.updateRevision && status.readyReplicas === 2,
    );
  });

  test('pods that have ended are made anew', async () => {
    const pods = await place.mirror('pods');
    const events = await place.mirror('events');
    await make(place, 1);
    for (const [phase, word] of [
      ['Failed', 'failed'],
      ['Succeeded', 'terminated'],
    ]) {
      const { metadata } = await pods.object('web-0', (pod) => pod.status.phase === 'Pending');
      await place.report('web-0', { phase });
      await pods.object('web-0', (pod) => pod.metadata.uid !== metadata.uid);
      const message = `StatefulSet ${place.namespace}/web is recreating ${word} Pod web-0`;
      await events.until((all) => all.some((event) => event.message === message && event.type === 'Warning'));
    }
  });

  test('ordinals begin where the set says, and move with it', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('statefulsets');
    await make(place, 2, { ordinals: { start: 5 } });
    await run(place, pods, 2, 5);
    await settled(sets, 2);
    expect(names(pods.objects)).toEqual(['web-5', 'web-6']);
    expect(pods.objects[0].metadata.labels['apps.kubernetes.io/pod-index']).toBe('5');
    await place.change('statefulsets', 'web', { spec: { ordinals: { start: 6 } } });
    await run(place, pods, 1, 7);
    await pods.until((all) => names(all).join() === 'web-6,web-7');
  });

  test('a pod counts when it has been ready for long enough', async () => {
    const pods = await place.mirror('pods');
    const sets = await place.mirror('statefulsets');
    await make(place, 2, { minReadySeconds: 3600 });
    await pods.object('web-0');
    await place.ready('web-0');
    const { status } = await sets.object('web', (set) => set.status.readyReplicas === 1);
    expect(status.availableReplicas).toBe(0);
    expect(names(await place.list('pods'))).toEqual(['web-0']);
    await place.ready('web-0', '2026-01-02T03:04:05Z');
    await pods.object('web-1');
    await sets.object('web', (set) => set.status.availableReplicas === 1);
  });

  test('a condemned pod that is not ready goes when it is the only one', async () => {
    const pods = await place.mirror('pods');
    await make(place, 3);
    await run(place, pods, 2);
    await pods.object('web-2');
    await scale(place, 1);
    await pods.until((all) => names(all).join() === 'web-0');
  });

  test('a name that is taken is waited for', async () => {
    await place.make('pods', { ...template(), metadata: { name: 'web-0', labels: { other: 'yes' } } });
    const sets = await place.mirror('statefulsets');
    await make(place, 1);
    await sets.object('web', ({ status }) => status.observedGeneration === 1);
    await place.remove('pods', 'web-0');
    await sets.object('web', ({ status }) => status.replicas === 1);
  });

  test('a revision whose name is taken gets another', async () => {
    const sets = await place.mirror('statefulsets');
    await make(place, 0);
    const { status } = await sets.object('web', (set) => set.status.updateRevision);
    await place.remove('statefulsets', 'web', { propagationPolicy: 'Foreground' });
    await sets.until((all) => all.length === 0);
    await place.make('controllerrevisions', {
      metadata: { name: status.updateRevision },
      data: { other: true },
      revision: 1,
    });
    await make(place, 0);
    const again = await sets.object('web', (set) => set.status.updateRevision);
    expect(again.status.collisionCount).toBe(1);
    expect(again.status.updateRevision).not.toBe(status.updateRevision);
  });

  describe('a set that is deleted', () => {
    test('takes its pods and its history along', async () => {
      const pods = await place.mirror('pods');
      const revisions = await place.mirror('controllerrevisions');
      await make(place, 2, { podManagementPolicy: 'Parallel' });
      await pods.until((all) => all.length === 2);
      await revisions.until((all) => all.length === 1);
      await place.remove('statefulsets', 'web');
      await pods.until((all) => all.length === 0);
      await revisions.until((all) => all.length === 0);
    });

    test('may leave them for another of its name', async () => {
      const pods = await place.mirror('pods');
      const sets = await place.mirror('statefulsets');
      await make(place, 2);
      await run(place, pods, 2);
      const { status } = await settled(sets, 2);
      await place.remove('statefulsets', 'web', { propagationPolicy: 'Orphan' });
      await pods.until((all) => all.length === 2 && !all.some(({ metadata }) => metadata.ownerReferences));
      const uids = pods.objects.map(({ metadata }) => metadata.uid).sort();
      await sets.until((all) => all.length === 0);
      const made = await make(place, 2);
      const again = await settled(sets, 2);
      expect(again.status.updateRevision).toBe(status.updateRevision);
      expect(again.status.updatedReplicas).toBe(2);
      const adopted = await place.list('pods');
      expect(adopted.map(({ metadata }) => metadata.uid).sort()).toEqual(uids);
      for (const { metadata } of adopted) expect(metadata.ownerReferences[0].uid).toBe(made.metadata.uid);
    });
  });
});
