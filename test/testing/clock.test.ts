/** Proves that everything in a test cluster that has to do with time follows its clock. */
import { get as httpsGet } from 'node:https';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newKeyPair, privatePem } from '../../src/pki/key-pair.ts';
import { makeSigningRequest } from '../../src/pki/signing-request.ts';
import { type TestCluster, testCluster } from '../../src/testing/index.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await testCluster({ simulatedNodes: 2, users: [{ name: 'ann', roles: ['view'] }] });
});
beforeEach(() => cluster.reset());
afterAll(() => cluster.close());

const get = async (path: string): Promise<Record<string, any>> =>
  (await (await fetch(cluster.url + path)).json()) as Record<string, any>;

const jobTemplate = (extra: object = {}) => ({
  spec: {
    ...extra,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'work' }] } },
  },
});

describe('the clock', () => {
  it('stands when it is frozen, and goes on from there', async () => {
    cluster.clock.freeze('2031-05-01T10:00:00Z');
    expect(cluster.clock.now.toISOString()).toBe('2031-05-01T10:00:00.000Z');
    const [made] = await cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'dated' } });
    expect(made!.metadata.creationTimestamp).toBe('2031-05-01T10:00:00Z');
    await cluster.clock.advance('1h30m');
    expect(cluster.clock.now.toISOString()).toBe('2031-05-01T11:30:00.000Z');
    expect(cluster.clock.frozen).toBe(true);
    cluster.clock.thaw();
    expect(cluster.clock.frozen).toBe(false);
    expect(cluster.clock.now.getTime()).toBeGreaterThanOrEqual(Date.UTC(2031, 4, 1, 11, 30));
    await expect(cluster.clock.advance('soon')).rejects.toThrow('is no duration');
  });

  it('runs cron jobs at each of their times', async () => {
    cluster.clock.freeze('2031-05-01T10:00:30Z');
    await cluster.apply({
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'often' },
      spec: { schedule: '*/5 * * * *', successfulJobsHistoryLimit: 100, jobTemplate: jobTemplate() },
    });
    await cluster.clock.advance('31m');
    const { items } = await get('/apis/batch/v1/namespaces/default/jobs');
    expect(items.map((job: any) => job.status.completionTime)).toEqual(
      ['05', '10', '15', '20', '25', '30'].map((minute) => expect.stringContaining(`10:${minute}:0`)),
    );
  });

  it('deletes finished jobs and events when their time has come', async () => {
    await cluster.apply({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'short' },
      ...jobTemplate({ ttlSecondsAfterFinished: 600 }),
    });
    await cluster.waitFor('Job/short', 'Complete', { timeoutMs: 60_000 });
    await cluster.settled({ timeoutMs: 60_000 });
    expect(cluster.events('Job/short')).not.toEqual([]);
    await cluster.clock.advance('9m');
    await cluster.waitFor('Job/short', 'exists');
    await cluster.clock.advance('2m');
    expect((await get('/apis/batch/v1/namespaces/default/jobs')).items).toEqual([]);
    await cluster.clock.advance('60m');
    expect(cluster.events('Job/short')).toEqual([]);
  });

  it('ends pods at their deadline, and simulated containers after their time', async () => {
    const pod = (name: string, metadata: object, spec: object) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, ...metadata },
      spec: { containers: [{ name: 'main', image: 'work' }], ...spec },
    });
    await cluster.apply([
      pod('limited', {}, { activeDeadlineSeconds: 300 }),
      pod('long', { annotations: { 'wherry.dev/simulated-seconds': '1000' } }, { restartPolicy: 'Never' }),
    ]);
    await cluster.settled({ timeoutMs: 60_000 });
    const phases = async () =>
      (await get('/api/v1/namespaces/default/pods')).items.map(({ status }: any) => status.phase);
    expect(await phases()).toEqual(['Running', 'Running']);
    await cluster.clock.advance('6m');
    expect(await phases()).toEqual(['Failed', 'Running']);
    await cluster.clock.advance('12m');
    expect(await phases()).toEqual(['Failed', 'Succeeded']);
  });

  it('keeps nodes alive by their leases, and loses one that has no power', async () => {
    const ready = async (name: string) =>
      (await get(`/api/v1/nodes/${name}`)).status.conditions.find(({ type }: any) => type === 'Ready').status;
    await cluster.clock.advance('10m');
    expect([await ready('simulated-1'), await ready('simulated-2')]).toEqual(['True', 'True']);
    await cluster.faults.dropNode('simulated-1');
    await cluster.clock.advance('2m');
    expect([await ready('simulated-1'), await ready('simulated-2')]).toEqual(['Unknown', 'True']);
    await cluster.reset();
    await cluster.settled({ timeoutMs: 60_000 });
    expect(await ready('simulated-1')).toBe('True');
  });

  it('renews leases less often when it is moved, and none too late', async () => {
    cluster.clock.freeze();
    await cluster.clock.advance('10m');
    const renewals = ['simulated-1', 'simulated-2'].map((name) =>
      cluster
        .history(`leases/kube-node-lease/${name}`)
        .map(({ object }: any) => Date.parse(object!.spec.renewTime))
        // Those before the clock was moved came in real time.
        .slice(1),
    );
    for (const times of renewals) {
      const gaps = times.slice(1).map((time, i) => time - times[i]!);
      expect(Math.max(...gaps)).toBeLessThan(35_000);
      expect(times.length).toBeLessThan(25);
      expect(cluster.clock.now.getTime() - times.at(-1)!).toBeLessThanOrEqual(20_000);
    }
  });

  it('ends jobs at their deadline', async () => {
    await cluster.apply({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'endless' },
      spec: {
        activeDeadlineSeconds: 900,
        template: {
          metadata: { annotations: { 'wherry.dev/simulated-seconds': '100000' } },
          spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'work' }] },
        },
      },
    });
    await cluster.settled({ timeoutMs: 60_000 });
    const conditions = async () =>
      ((await get('/apis/batch/v1/namespaces/default/jobs/endless')).status.conditions ?? [])
        .filter(({ status }: any) => status === 'True')
        .map(({ type, reason }: any) => `${type} ${reason}`);
    await cluster.clock.advance('14m');
    expect(await conditions()).toEqual([]);
    await cluster.clock.advance('2m');
    expect(await conditions()).toContain('Failed DeadlineExceeded');
  });

  it('lets client certificates of the cluster expire', async () => {
    const key = newKeyPair();
    const request = makeSigningRequest(key, { commonName: 'carla', organizations: ['crew'] });
    const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
    const [asked] = await cluster.apply({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'carla' },
      spec: {
        request: Buffer.from(request).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        expirationSeconds: 3600,
        usages: ['client auth'],
      },
    });
    const status = { conditions: [{ type: 'Approved', status: 'True', reason: 'Test', message: '' }] };
    await fetch(`${cluster.url}${requests}/carla/approval`, {
      method: 'PUT',
      body: JSON.stringify({ ...asked, status }),
    });
    const isSigned = ({ status }: any) => Boolean(status?.certificate);
    const signed: any = await cluster.waitFor('CertificateSigningRequest/carla', isSigned, {
      timeoutMs: 60_000,
    });
    const cert = Buffer.from(signed.status.certificate, 'base64').toString();
    const server = /"server": "(https:[^"]+)"/.exec(cluster.kubeconfigFor('ann'))![1]!;
    const code = () =>
      new Promise((resolve, reject) => {
        const options = { cert, key: privatePem(key), rejectUnauthorized: false, agent: false };
        httpsGet(`${server}/version`, options, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).on('error', reject);
      });
    expect(await code()).toBe(200);
    await cluster.clock.advance('50m');
    expect(await code()).toBe(200);
    await cluster.clock.advance('20m');
    expect(await code()).toBe(401);
  });

  it('lets tokens of service accounts expire', async () => {
    const asked = await fetch(`${cluster.url}/api/v1/namespaces/default/serviceaccounts/default/token`, {
      method: 'POST',
      body: JSON.stringify({
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: 600 },
      }),
    });
    const { token } = ((await asked.json()) as any).status;
    const review = async () => {
      const answer = await fetch(`${cluster.url}/apis/authentication.k8s.io/v1/tokenreviews`, {
        method: 'POST',
        body: JSON.stringify({
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          spec: { token },
        }),
      });
      return ((await answer.json()) as any).status.authenticated ?? false;
    };
    expect(await review()).toBe(true);
    await cluster.clock.advance('20m');
    expect(await review()).toBe(false);
  });

  it('waits for requests, whose deadlines are on the same clock', async () => {
    cluster.faults.add({ kind: 'ConfigMap', verb: 'create', delayMs: 200 });
    const created = fetch(`${cluster.url}/api/v1/namespaces/default/configmaps`, {
      method: 'POST',
      body: JSON.stringify({ metadata: { name: 'slow' } }),
    });
    while (cluster.requests({ kind: 'ConfigMap' }).length === 0)
      await new Promise((resolve) => setImmediate(resolve));
    await cluster.clock.advance('10m');
    expect((await created).status).toBe(200);
  });

  it('drops history that is too old', async () => {
    const { metadata } = await get('/api/v1/namespaces/default/configmaps');
    await cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'later' } });
    await cluster.clock.advance('30m');
    const watch = await fetch(
      `${cluster.url}/api/v1/configmaps?watch=true&resourceVersion=${metadata.resourceVersion}`,
    );
    expect(JSON.parse((await watch.text()).split('\n')[0]!)).toMatchObject({
      type: 'ERROR',
      object: { code: 410 },
    });
  });

  it('waits for back-offs', async () => {
    cluster.clock.freeze();
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'crashing', annotations: { 'wherry.dev/simulated-exit-code': '1' } },
      spec: { containers: [{ name: 'main', image: 'work' }] },
    });
    const restarts = async () =>
      (await get('/api/v1/namespaces/default/pods/crashing')).status.containerStatuses[0].restartCount;
    await cluster.settled({ timeoutMs: 60_000 });
    const before = await restarts();
    await cluster.clock.advance('15m');
    const after = await restarts();
    expect(after).toBeGreaterThan(before + 3);
    expect(after).toBeLessThan(before + 10);
  });
});
