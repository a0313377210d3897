/** In-use protection, and tokens in secrets. */
import { describe, expect, test } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';

const api = useCluster();
const base = '/api/v1/namespaces/default';

describe('a claim', () => {
  const claim = {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  const user = {
    metadata: { name: 'user' },
    spec: {
      containers: [{ name: 'c', image: 'i:1' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
    },
  };

  test('that a pod uses stays until the pod is gone', async () => {
    expect((await api.post(`${base}/persistentvolumeclaims`, claim)).body.metadata.finalizers).toEqual([
      'kubernetes.io/pvc-protection',
    ]);
    expect((await api.post(`${base}/pods`, user)).status).toBe(200);
    const watch = await api.watch(`${base}/persistentvolumeclaims?watch=true&resourceVersion=0`);
    await api.delete(`${base}/persistentvolumeclaims/data`);
    await watch.until(({ object }) => object.metadata.deletionTimestamp !== undefined);
    expect((await api.get(`${base}/persistentvolumeclaims/data`)).status).toBe(200);
    await api.delete(`${base}/pods/user`);
    await watch.until(({ type }) => type === 'DELETED');
    watch.close();
  });

  test('that nobody uses goes at once', async () => {
    await api.post(`${base}/persistentvolumeclaims`, claim);
    const watch = await api.watch(`${base}/persistentvolumeclaims?watch=true&resourceVersion=0`);
    await api.delete(`${base}/persistentvolumeclaims/data`);
    await watch.until(({ type }) => type === 'DELETED');
    watch.close();
  });
});

describe('a class of attributes', () => {
  const classes = '/apis/storage.k8s.io/v1/volumeattributesclasses';
  const finalizers = ['kubernetes.io/vac-protection'];

  test('stays until no claim names it, and gets a lost finalizer back', async () => {
    const made = await api.post(classes, {
      metadata: { name: 'gold' },
      driverName: 'disks.example.com',
      parameters: { iops: '100' },
    });
    expect(made.body.metadata.finalizers).toEqual(finalizers);
    const watch = await api.watch(`${classes}?watch=true&resourceVersion=0`);
    await api.patch(`${classes}/gold`, { metadata: { finalizers: null } });
    await watch.until(({ object }) => object.metadata.finalizers === undefined);
    await watch.until(({ object }) => object.metadata.finalizers !== undefined);
    expect((await api.get(`${classes}/gold`)).body.metadata.finalizers).toEqual(finalizers);
    await api.post(`${base}/persistentvolumeclaims`, {
      metadata: { name: 'golden' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        volumeAttributesClassName: 'gold',
      },
    });
    await api.delete(`${classes}/gold`);
    await watch.until(({ object }) => object.metadata.deletionTimestamp !== undefined);
    expect((await api.get(`${classes}/gold`)).status).toBe(200);
    await api.delete(`${base}/persistentvolumeclaims/golden`);
    await watch.until(({ type }) => type === 'DELETED');
    watch.close();
  });
});

describe('a volume', () => {
  // The binder would not leave a volume bound that has no claim.
  const api = useCluster({ controllers: ['protection'] });

  test('that is bound stays until it is not', async () => {
    const volumes = '/api/v1/persistentvolumes';
    const volume = {
      metadata: { name: 'disk' },
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp' } },
    };
    expect((await api.post(volumes, volume)).body.metadata.finalizers).toEqual([
      'kubernetes.io/pv-protection',
    ]);
    await api.patch(`${volumes}/disk/status`, { status: { phase: 'Bound' } });
    const watch = await api.watch(`${volumes}?watch=true&resourceVersion=0`);
    await api.delete(`${volumes}/disk`);
    await watch.until(({ object }) => object.metadata.deletionTimestamp !== undefined);
    await api.patch(`${volumes}/disk/status`, { status: { phase: 'Released' } });
    await watch.until(({ type }) => type === 'DELETED');
    watch.close();
  });
});

describe('a token secret', () => {
  const secret = (account: string) => ({
    metadata: { name: 'token', annotations: { 'kubernetes.io/service-account.name': account } },
    type: 'kubernetes.io/service-account-token',
  });
  const claims = (token: string): Json =>
    JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());

  test('is completed with the token of its account, and goes with the account', async () => {
    const account = (await api.post(`${base}/serviceaccounts`, { metadata: { name: 'robot' } })).body;
    const watch = await api.watch(`${base}/secrets?watch=true&resourceVersion=0`);
    await api.post(`${base}/secrets`, secret('robot'));
    const { object } = await watch.until((event) => event.object.data?.token !== undefined);
    expect(object.metadata.annotations['kubernetes.io/service-account.uid']).toBe(account.metadata.uid);
    expect(Buffer.from(object.data.namespace, 'base64').toString()).toBe('default');
    expect(claims(Buffer.from(object.data.token, 'base64').toString())).toMatchObject({
      iss: 'kubernetes/serviceaccount',
      sub: 'system:serviceaccount:default:robot',
      'kubernetes.io/serviceaccount/secret.name': 'token',
      'kubernetes.io/serviceaccount/service-account.uid': account.metadata.uid,
    });
    await api.delete(`${base}/serviceaccounts/robot`);
    await watch.until(({ type }) => type === 'DELETED');
    watch.close();
  });

  test('of an account that does not exist is deleted', async () => {
    const watch = await api.watch(`${base}/secrets?watch=true&resourceVersion=0`);
    await api.post(`${base}/secrets`, secret('nobody'));
    await watch.until(({ type, object }) => type === 'DELETED' && object.metadata.name === 'token');
    watch.close();
  });

  test('can be asked for without a secret, and ends', async () => {
    const reply = await api.post(`${base}/serviceaccounts/default/token`, {
      spec: { expirationSeconds: 600 },
    });
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body).toMatchObject({ kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1' });
    const told = claims(reply.body.status.token);
    expect(told).toMatchObject({
      sub: 'system:serviceaccount:default:default',
      aud: ['https://kubernetes.default.svc'],
    });
    expect(told.exp - told.iat).toBe(600);
    const short = await api.post(`${base}/serviceaccounts/default/token`, { spec: { expirationSeconds: 1 } });
    expect(short.status).toBe(422);
    expect(short.body.message).toContain('may not specify a duration less than 10 minutes');
    expect((await api.post(`${base}/serviceaccounts/nobody/token`, {})).status).toBe(404);
  });
});
