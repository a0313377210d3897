/**
 * Deletions as Kubernetes 1.1 knew them: what nothing uses is gone when the request is answered, whether a controller
 * would take a finalizer off or not, and where none would, none is put on.
 */
import { describe, expect, it } from 'vitest';
import { brief, type Client, type Json, useCluster } from '../support/http.ts';
import { controller, controllers, created, pod, pods } from './objects.ts';

const base = '/api/v1/namespaces/default';
const claims = `${base}/persistentvolumeclaims`;
const volumes = '/api/v1/persistentvolumes';
const clusters = {
  'with controllers': useCluster(),
  'without controllers': useCluster({ controllers: false }),
};

const claim = (name: string): Json => ({
  metadata: { name },
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    storageClassName: 'none',
  },
});
const volume = (name: string): Json => ({
  metadata: { name },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } },
});
const owned = (name: string, owner: Json): Json =>
  pod(name, {
    labels: { app: 'other' },
    ownerReferences: [
      { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name, uid: owner.metadata.uid },
      { apiVersion: 'v1', kind: 'Unknown', name: 'x', uid: 'other' },
    ],
  });

describe.each(Object.entries(clusters))('%s', (_, client: Client) => {
  it('a replication controller is gone, and what it owned stays', async () => {
    const owner = await created(client, controllers, controller('gone'));
    await created(client, pods, owned('owned', owner));
    const reply = await client.delete(`${controllers}/gone`);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body).toMatchObject({ kind: 'Status', status: 'Success', code: 200 });
    expect(reply.body.details.uid).toBe(owner.metadata.uid);
    expect((await client.get(`${controllers}/gone`)).status).toBe(404);
    const { metadata } = (await client.get(`${pods}/owned`)).body;
    expect(metadata.ownerReferences.map(({ uid }: Json) => uid)).toEqual(['other']);
    expect(metadata).not.toHaveProperty('deletionTimestamp');
  });

  it('a controller that something else holds stays, with that alone', async () => {
    const object = controller('held');
    object.metadata.finalizers = ['example.com/mine'];
    await created(client, controllers, object);
    const { body } = await client.delete(`${controllers}/held`);
    expect(body.kind).toBe('ReplicationController');
    const { metadata } = (await client.get(`${controllers}/held`)).body;
    expect(metadata.finalizers).toEqual(['example.com/mine']);
    expect(metadata.deletionTimestamp).toBeTruthy();
  });

  it('a dry run keeps the controller and its pods', async () => {
    const owner = await created(client, controllers, controller('dry'));
    await created(client, pods, owned('dry-pod', owner));
    expect((await client.delete(`${controllers}/dry?dryRun=All`)).status).toBe(200);
    const kept = (await client.get(`${controllers}/dry`)).body;
    expect(kept.metadata).not.toHaveProperty('deletionTimestamp');
    expect((await client.get(`${pods}/dry-pod`)).body.metadata.ownerReferences).toHaveLength(2);
  });

  it('a claim and a volume that nothing uses are gone at once', async () => {
    for (const [path, object] of [
      [claims, claim('unused')],
      [volumes, volume('unused')],
    ] as const) {
      const { metadata } = await created(client, path, object);
      const at = `${path}?watch=true&resourceVersion=${metadata.resourceVersion}`;
      const watch = await client.watch(at);
      const reply = await client.delete(`${path}/unused`);
      expect(reply.body).toMatchObject({
        kind: expect.stringMatching(/^Persistent/),
        metadata: { uid: metadata.uid },
      });
      expect((await client.get(`${path}/unused`)).status).toBe(404);
      expect(brief(await watch.until(({ object: { metadata: meta } }) => meta.name === 'unused'))).toMatch(
        /DELETED|MODIFIED/,
      );
      watch.close();
    }
  });
});

describe('with controllers', () => {
  const client = clusters['with controllers'];

  it('a claim that a pod uses is held until the pod is gone', async () => {
    await created(client, claims, claim('used'));
    const volume = { name: 'v', persistentVolumeClaim: { claimName: 'used' } };
    await created(client, pods, pod('user', {}, { volumes: [volume] }));
    const { metadata } = (await client.delete(`${claims}/used`)).body;
    expect(metadata).toMatchObject({ finalizers: ['kubernetes.io/pvc-protection'] });
    expect((await client.get(`${claims}/used`)).body.metadata.deletionTimestamp).toBeTruthy();
    const watch = await client.watch(`${claims}?watch=true&resourceVersion=0`);
    await client.delete(`${pods}/user`);
    await watch.until(({ type, object }) => type === 'DELETED' && object.metadata.name === 'used');
    watch.close();
  });
});

describe('without controllers', () => {
  const client = clusters['without controllers'];

  it('no finalizer of ours is put on', async () => {
    expect((await created(client, claims, claim('free'))).metadata).not.toHaveProperty('finalizers');
    expect((await created(client, volumes, volume('free'))).metadata).not.toHaveProperty('finalizers');
    for (const policy of ['Orphan', 'Foreground', 'Background']) {
      const owner = await created(client, controllers, controller(`free-${policy.toLowerCase()}`));
      const path = `${controllers}/${owner.metadata.name}`;
      await client.delete(path, { propagationPolicy: policy });
      expect((await client.get(path)).status).toBe(404);
    }
  });

  it('an owner that is deleted with the wish to orphan leaves no reference behind', async () => {
    const owner = await created(client, `${base}/configmaps`, { metadata: { name: 'owner' } });
    await created(client, pods, owned('orphan', owner));
    await client.delete(`${base}/configmaps/owner`, { propagationPolicy: 'Orphan' });
    const { metadata } = (await client.get(`${pods}/orphan`)).body;
    expect(metadata.ownerReferences).toHaveLength(1);
  });
});
