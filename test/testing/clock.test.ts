/** Proves that everything in a test cluster that has to do with time follows its clock. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
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
