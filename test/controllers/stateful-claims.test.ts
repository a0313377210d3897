/** Claims of stateful sets: created before their pods, kept or deleted with them as the policy says. */
import { describe, expect, test } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { isMarked, names, usePlace } from './sets.ts';
import { byHand, make, run, scale } from './stateful-set.ts';

const place = usePlace(useCluster(byHand), 'by-hand');

describe('claims', () => {
  const claimed = (spec: object = {}): object => ({
    volumeClaimTemplates: [
      {
        metadata: { name: 'data', labels: { kind: 'disk' } },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
    ...spec,
  });
  const policy = (whenDeleted: string, whenScaled: string): object => ({
    persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
  });
  const owners = ({ metadata }: Json): string[] =>
    (metadata.ownerReferences ?? []).map(({ kind, name }: Json) => `${kind}/${name}`);

  test('are made before their pods, and outlive them and the set', async () => {
    const pods = await place.mirror('pods');
    const claims = await place.mirror('persistentvolumeclaims');
    const events = await place.mirror('events');
    await make(place, 2, claimed());
    await run(place, pods, 2);
    const [first] = await claims.until((all) => all.length === 2);
    expect(names(claims.objects)).toEqual(['data-web-0', 'data-web-1']);
    expect(first).toMatchObject({ metadata: { labels: { app: 'web', kind: 'disk' } } });
    expect(owners(first)).toEqual([]);
    const pod = await place.get('pods', 'web-0');
    expect(Number(first.metadata.resourceVersion)).toBeLessThan(Number(pod.metadata.resourceVersion));
    expect(pod.spec.volumes).toContainEqual({
      name: 'data',
      persistentVolumeClaim: { claimName: 'data-web-0' },
    });
    await events.until((all) =>
      all.some(({ message }) => message === 'create Claim data-web-1 Pod web-1 in StatefulSet web success'),
    );
    await scale(place, 1);
    await pods.until((all) => all.length === 1);
    await place.remove('statefulsets', 'web');
    await pods.until((all) => all.length === 0);
    const uids = claims.objects.map(({ metadata }) => metadata.uid);
    await make(place, 2, claimed());
    await run(place, pods, 2);
    expect((await place.list('persistentvolumeclaims')).map(({ metadata }) => metadata.uid)).toEqual(uids);
  });

  test('go with pods that are no longer wanted, when the set says so', async () => {
    const pods = await place.mirror('pods');
    const claims = await place.mirror('persistentvolumeclaims');
    await make(place, 3, claimed(policy('Retain', 'Delete')));
    await run(place, pods, 3);
    await scale(place, 1);
    await claims.until((all) => all.length === 1 && !all.some(isMarked));
    expect(names(claims.objects)).toEqual(['data-web-0']);
    // A pod that was deleted by hand gets its claim back.
    const [{ metadata }] = claims.objects as [Json];
    await place.remove('pods', 'web-0');
    await run(place, pods, 1);
    // And a deleted claim is created again.
    await scale(place, 2);
    await run(place, pods, 2);
    await claims.until((all) => all.length === 2);
    expect((await place.get('persistentvolumeclaims', 'data-web-0')).metadata.uid).toBe(metadata.uid);
    await place.remove('statefulsets', 'web');
    await pods.until((all) => all.length === 0);
    expect((await place.list('persistentvolumeclaims')).length).toBe(2);
  });

  test('go with the set, when it says so', async () => {
    const pods = await place.mirror('pods');
    const claims = await place.mirror('persistentvolumeclaims');
    await make(place, 2, claimed(policy('Delete', 'Retain')));
    await run(place, pods, 2);
    await claims.until(
      (all) => all.length === 2 && all.every((one) => owners(one).join() === 'StatefulSet/web'),
    );
    await scale(place, 1);
    await pods.until((all) => all.length === 1);
    expect((await place.list('persistentvolumeclaims')).length).toBe(2);
    await place.remove('statefulsets', 'web');
    await claims.until((all) => all.length === 0);
  });

  test('that are about to go are waited for', async () => {
    const pods = await place.mirror('pods');
    const claims = await place.mirror('persistentvolumeclaims');
    await make(place, 2, claimed(policy('Retain', 'Delete')));
    await run(place, pods, 2);
    const hold = (finalizers: string[]): Promise<Json> =>
      place.change('persistentvolumeclaims', 'data-web-1', { metadata: { finalizers } });
    await hold(['example.com/hold']);
    await scale(place, 1);
    const { metadata } = await claims.object('data-web-1', isMarked);
    const sets = await place.mirror('statefulsets');
    await scale(place, 2);
    await sets.object('web', ({ status }) => status.observedGeneration === 3);
    expect(names(await place.list('pods'))).toEqual(['web-0']);
    await hold([]);
    await pods.until((all) => names(all).includes('web-1'));
    expect((await place.get('persistentvolumeclaims', 'data-web-1')).metadata.uid).not.toBe(metadata.uid);
  });

  test('of others are left to them', async () => {
    const pods = await place.mirror('pods');
    const events = await place.mirror('events');
    const owner = { apiVersion: 'example.com/v1', kind: 'Thing', name: 'x', uid: 'u-1', controller: true };
    await place.make('persistentvolumeclaims', {
      metadata: { name: 'data-web-0', ownerReferences: [owner] },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    await make(place, 1, claimed(policy('Delete', 'Delete')));
    await run(place, pods, 1);
    await events.until((all) => all.some(({ reason }) => reason === 'ConflictingController'));
    const claim = await place.get('persistentvolumeclaims', 'data-web-0');
    expect(owners(claim)).toEqual(['Thing/x']);
  });

  test('change hands when the set changes its mind', async () => {
    const pods = await place.mirror('pods');
    const claims = await place.mirror('persistentvolumeclaims');
    await make(place, 1, claimed(policy('Delete', 'Delete')));
    await run(place, pods, 1);
    await claims.object('data-web-0', (one) => owners(one).join() === 'StatefulSet/web');
    await place.change('statefulsets', 'web', { spec: policy('Retain', 'Retain') });
    await claims.object('data-web-0', (one) => owners(one).length === 0);
    await place.change('statefulsets', 'web', { spec: policy('Delete', 'Retain') });
    await claims.object('data-web-0', (one) => owners(one).join() === 'StatefulSet/web');
  });
});
