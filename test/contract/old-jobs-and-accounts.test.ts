/** What programs of Kubernetes 1.1 rely on: tokens of accounts in secrets, and jobs whose pods stay. */
import { describe, expect, it } from 'vitest';
import { untilList } from '../controllers/objects.ts';
import { type Json, useCluster } from '../support/http.ts';

const client = useCluster({ controllerSettings: { serviceAccountTokenSecrets: true } });
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const container = { name: 'c', image: 'i' };

describe('with secrets for tokens, a pod', () => {
  it('mounts that of its account under its name, also right after its namespace was made', async () => {
    await client.post('/api/v1/namespaces', { metadata: { name: 'fresh' } });
    const spec = { initContainers: [{ ...container, name: 'i' }], containers: [container] };
    const made = await client.post('/api/v1/namespaces/fresh/pods', { metadata: { name: 'p' }, spec });
    expect(made.status, made.text).toBe(200);
    const { body: account } = await client.get('/api/v1/namespaces/fresh/serviceaccounts/default');
    const [{ name: secretName }] = account.secrets;
    expect(made.body.spec.volumes).toEqual([
      { name: secretName, secret: { secretName, defaultMode: 0o644 } },
    ]);
    for (const one of [...made.body.spec.initContainers, ...made.body.spec.containers])
      expect(one.volumeMounts).toEqual([{ name: secretName, readOnly: true, mountPath }]);
    const { body: secret } = await client.get(`/api/v1/namespaces/fresh/secrets/${secretName}`);
    expect(Object.keys(secret.data)).toEqual(expect.arrayContaining(['namespace', 'token']));
  });

  it('uses its own volume of the secret, gives way to one of the same name, and to mounts of its own', async () => {
    const { body: account } = await client.get('/api/v1/namespaces/default/serviceaccounts/default');
    const [{ name: secretName }] = account.secrets;
    const pods = '/api/v1/namespaces/default/pods';
    const own = await client.post(pods, {
      metadata: { name: 'own' },
      spec: { volumes: [{ name: 'mine', secret: { secretName } }], containers: [container] },
    });
    expect(own.body.spec.volumes).toHaveLength(1);
    expect(own.body.spec.containers[0].volumeMounts).toEqual([{ name: 'mine', readOnly: true, mountPath }]);
    const taken = await client.post(pods, {
      metadata: { name: 'taken' },
      spec: { volumes: [{ name: secretName, emptyDir: {} }], containers: [container] },
    });
    expect(taken.body.spec.volumes[1]).toMatchObject({
      name: expect.stringMatching(new RegExp(`^${secretName}-\\w+$`)),
      secret: { secretName },
    });
    const without = await client.post(pods, {
      metadata: { name: 'without' },
      spec: { automountServiceAccountToken: false, containers: [container] },
    });
    expect(without.body.spec).not.toHaveProperty('volumes');
  });

  it('waits for the token of an account that was just made', async () => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await client.post(accounts, { metadata: { name: 'late' } });
    const spec = { serviceAccountName: 'late', containers: [container] };
    // The token comes within the second that a pod waits for it.
    const made = await client.post('/api/v1/namespaces/default/pods', { metadata: { name: 'late' }, spec });
    expect(made.status, made.text).toBe(200);
    expect(made.body.spec.volumes[0].name).toMatch(/^late-token-/);
  });
});

describe('a job of extensions/v1beta1', () => {
  const jobs = '/apis/extensions/v1beta1/namespaces/default/jobs';
  const template = {
    metadata: { labels: { job: 'old' } },
    spec: { restartPolicy: 'Never', containers: [container] },
  };

  it('is not limited in its failures, and leaves its pods behind', async () => {
    const made = await client.post(jobs, { metadata: { name: 'old' }, spec: { template } });
    expect(made.status, made.text).toBe(200);
    expect(made.body.spec).not.toHaveProperty('backoffLimit');
    const stored = await client.get('/apis/batch/v1/namespaces/default/jobs/old');
    expect(stored.body.spec.backoffLimit).toBe(2 ** 31 - 1);
    const pods = '/api/v1/namespaces/default/pods?labelSelector=job%3Dold';
    const before = await untilList(client, pods, (list) => list.length === 1);
    const removed = await client.delete(`${jobs}/old`);
    expect([removed.status, removed.body.kind]).toEqual([200, 'Status']);
    expect((await client.get(`${jobs}/old`)).status).toBe(404);
    const items = await untilList(client, pods, ([pod]) => !pod?.metadata.ownerReferences);
    expect(items.map((pod: Json) => pod.metadata.uid)).toEqual([before[0].metadata.uid]);
    expect(items[0].metadata).not.toHaveProperty('deletionTimestamp');
  });

  it('takes them along when that is asked for', async () => {
    const metadata = { labels: { job: 'gone' } };
    await client.post(jobs, { metadata: { name: 'gone' }, spec: { template: { ...template, metadata } } });
    const pods = '/api/v1/namespaces/default/pods?labelSelector=job%3Dgone';
    await untilList(client, pods, (items) => items.length === 1);
    await client.delete(`${jobs}/gone`, { propagationPolicy: 'Background' });
    await untilList(client, pods, (items) => items.length === 0);
    expect((await client.get(`${jobs}/gone`)).status).toBe(404);
  });
});
