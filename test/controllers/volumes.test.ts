/** The volume binder, through the API. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { makeNode, until, untilList } from './objects.ts';

const api = useCluster();
const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
const volumes = '/api/v1/persistentvolumes';

const volume = (name: string, storage: string, spec: object = {}, metadata: object = {}): Json => ({
  metadata: { name, ...metadata },
  spec: {
    capacity: { storage },
    accessModes: ['ReadWriteOnce'],
    hostPath: { path: `/tmp/wherry-${name}` },
    ...spec,
  },
});

const claim = (name: string, storage: string, spec: object = {}): Json => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, ...spec },
});

const phase = (wanted: string) => (object: Json) => object.status?.phase === wanted;

const told = (name: string, text: string): Promise<Json[]> =>
  untilList(api, '/api/v1/namespaces/default/events', (items) =>
    items.some((event) => event.involvedObject.name === name && event.message.includes(text)),
  );

describe('a claim', () => {
  // The smallest volume that is large enough is bound, on both objects.
  it('gets the smallest volume that is large enough', async () => {
    for (const [name, size] of [
      ['large', '10Gi'],
      ['middle', '5Gi'],
      ['small', '1Gi'],
    ] as const)
      await api.post(volumes, volume(name, size));
    await until(api, `${volumes}/middle`, phase('Available'));
    await api.post(claims, claim('data', '2Gi'));
    const bound = await until(api, `${claims}/data`, phase('Bound'));
    expect(bound.spec.volumeName).toBe('middle');
    expect(bound.status).toMatchObject({ capacity: { storage: '5Gi' }, accessModes: ['ReadWriteOnce'] });
    expect(bound.metadata.annotations).toEqual({
      'pv.kubernetes.io/bind-completed': 'yes',
      'pv.kubernetes.io/bound-by-controller': 'yes',
    });
    const { body } = await api.get(`${volumes}/middle`);
    expect(body.status.phase).toBe('Bound');
    expect(body.spec.claimRef).toMatchObject({
      kind: 'PersistentVolumeClaim',
      namespace: 'default',
      name: 'data',
      uid: bound.metadata.uid,
      apiVersion: 'v1',
    });
  });

  it('that nothing fits waits, says why, and is served when something does', async () => {
    await api.post(claims, claim('huge', '100Gi'));
    await told('huge', 'no persistent volumes available for this claim and no storage class is set');
    expect((await api.get(`${claims}/huge`)).body.status.phase).toBe('Pending');
    await api.post(volumes, volume('vast', '100Gi'));
    expect((await until(api, `${claims}/huge`, phase('Bound'))).spec.volumeName).toBe('vast');
  });

  it('heeds class, mode, access and selector', async () => {
    await api.post(claims, claim('fast', '1Gi', { storageClassName: 'fast' }));
    await told('fast', 'storageclass.storage.k8s.io "fast" not found');
    await api.post(volumes, volume('slow-disk', '1Gi', { storageClassName: 'slow' }));
    await api.post(volumes, volume('fast-block', '1Gi', { storageClassName: 'fast', volumeMode: 'Block' }));
    await api.post(
      volumes,
      volume('fast-ro', '1Gi', { storageClassName: 'fast', accessModes: ['ReadOnlyMany'] }),
    );
    await api.post(volumes, volume('fast-disk', '1Gi', { storageClassName: 'fast' }));
    expect((await until(api, `${claims}/fast`, phase('Bound'))).spec.volumeName).toBe('fast-disk');
    await api.post(
      volumes,
      volume('blue-1', '1Gi', { storageClassName: 'c' }, { labels: { color: 'blue' } }),
    );
    await api.post(volumes, volume('red-1', '3Gi', { storageClassName: 'c' }, { labels: { color: 'red' } }));
    await api.post(
      claims,
      claim('red', '1Gi', { storageClassName: 'c', selector: { matchLabels: { color: 'red' } } }),
    );
    expect((await until(api, `${claims}/red`, phase('Bound'))).spec.volumeName).toBe('red-1');
  });

  it('gets the volume it names, if that fits', async () => {
    await api.post(volumes, volume('named', '2Gi', { storageClassName: 'n' }));
    await api.post(claims, claim('too-much', '3Gi', { storageClassName: 'n', volumeName: 'named' }));
    await told('too-much', 'Cannot bind to requested volume "named": requested PV is too small');
    await api.post(claims, claim('just-right', '2Gi', { storageClassName: 'n', volumeName: 'named' }));
    await until(api, `${claims}/just-right`, phase('Bound'));
    await api.post(claims, claim('late', '2Gi', { storageClassName: 'n', volumeName: 'named' }));
    await told('late', 'volume "named" already bound to a different claim.');
  });

  it('that has lost its volume says so', async () => {
    await api.post(volumes, volume('doomed', '1Gi', { storageClassName: 'd' }));
    await api.post(claims, claim('bereft', '1Gi', { storageClassName: 'd' }));
    await until(api, `${claims}/bereft`, phase('Bound'));
    await api.patch(`${volumes}/doomed`, { metadata: { finalizers: null } });
    await api.delete(`${volumes}/doomed`);
    await until(api, `${claims}/bereft`, phase('Lost'));
    await told('bereft', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!');
  });
});

describe('a volume', () => {
  it('that is reserved goes to its claim alone', async () => {
    const claimRef = { namespace: 'default', name: 'chosen' };
    await api.post(volumes, volume('reserved', '1Gi', { storageClassName: 'r', claimRef }));
    await until(api, `${volumes}/reserved`, phase('Available'));
    await api.post(claims, claim('other', '1Gi', { storageClassName: 'r' }));
    await told('other', 'not found');
    await api.post(claims, claim('chosen', '1Gi', { storageClassName: 'r' }));
    expect((await until(api, `${claims}/chosen`, phase('Bound'))).spec.volumeName).toBe('reserved');
    const annotations = (await api.get(`${volumes}/reserved`)).body.metadata.annotations ?? {};
    expect(annotations['pv.kubernetes.io/bound-by-controller']).toBeUndefined();
  });

  it('that is retained is released and not given away again', async () => {
    await api.post(volumes, volume('kept', '1Gi', { storageClassName: 'k' }));
    await api.post(claims, claim('short', '1Gi', { storageClassName: 'k' }));
    await until(api, `${claims}/short`, phase('Bound'));
    await api.delete(`${claims}/short`);
    await until(api, `${volumes}/kept`, phase('Released'));
    await api.post(claims, claim('next', '1Gi', { storageClassName: 'k' }));
    await told('next', 'not found');
  });

  it('that is recycled is emptied by a pod, and free again', async () => {
    await makeNode(api, 'n1');
    const spec = { storageClassName: 'again', persistentVolumeReclaimPolicy: 'Recycle' };
    await api.post(volumes, volume('round', '1Gi', spec));
    await api.post(claims, claim('first', '1Gi', { storageClassName: 'again' }));
    await until(api, `${claims}/first`, phase('Bound'));
    await api.delete(`${claims}/first`);
    const [pod] = await untilList(api, '/api/v1/namespaces/kube-system/pods', (items) => items.length === 1);
    expect(pod.spec.volumes[0].hostPath.path).toBe('/tmp/wherry-round');
    await api.patch('/api/v1/namespaces/kube-system/pods/recycler-for-round/status', {
      status: { phase: 'Succeeded' },
    });
    const free = await until(api, `${volumes}/round`, phase('Available'));
    expect(free.spec.claimRef).toBeUndefined();
    await untilList(api, '/api/v1/namespaces/kube-system/pods', (items) => items.length === 0);
  });

  it('that is to be deleted fails where nothing can delete it', async () => {
    const spec = {
      storageClassName: 'gone',
      persistentVolumeReclaimPolicy: 'Delete',
      hostPath: undefined,
      nfs: { server: 'files', path: '/x' },
    };
    await api.post(volumes, volume('remote', '1Gi', spec));
    await api.post(claims, claim('brief', '1Gi', { storageClassName: 'gone' }));
    await until(api, `${claims}/brief`, phase('Bound'));
    await api.delete(`${claims}/brief`);
    const failed = await until(api, `${volumes}/remote`, phase('Failed'));
    expect(failed.status.message).toContain('no deletable volume plugin matched');
  });
});
