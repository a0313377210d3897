/**
 * The cron job controller in a cluster: it runs on its own timers, its jobs run and are garbage collected
 * with it, and both versions of CronJob show the same object. Its behaviour over hours is tested in
 * src/controllers, with a fake clock.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { tableAccept } from '../support/versions.ts';
import { Mirror } from './mirror.ts';

// No scheduler: these tests set themselves how pods end.
const api = useCluster({ controllers: ['-scheduler', '-node', '-pod-collector'] });
let namespace = '';
let count = 0;
const opened: Mirror[] = [];

const core = (resource: string, name = '') =>
  `/api/v1/namespaces/${namespace}/${resource}${name && `/${name}`}`;
const batch = (resource: string, name = '', version = 'v1') =>
  `/apis/batch/${version}/namespaces/${namespace}/${resource}${name && `/${name}`}`;

beforeEach(async () => {
  namespace = `cron-${++count}`;
  expect((await api.post('/api/v1/namespaces', { metadata: { name: namespace } })).status).toBe(200);
});
afterEach(() => {
  for (const mirror of opened.splice(0)) mirror.close();
});

async function mirror(path: string): Promise<Mirror> {
  const made = await Mirror.open(api, path);
  opened.push(made);
  return made;
}

const body = (spec: object = {}): Json => ({
  metadata: { name: 'tick' },
  spec: {
    schedule: '@every 1s',
    jobTemplate: {
      metadata: { labels: { of: 'tick' } },
      spec: {
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i:1' }] } },
      },
    },
    ...spec,
  },
});

async function make(spec: object = {}, version = 'v1'): Promise<Json> {
  const reply = await api.post(batch('cronjobs', '', version), body(spec));
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

describe('a cron job', () => {
  test('makes a job when its time comes, and sees it end', async () => {
    const [all, jobs, pods] = [
      await mirror(batch('cronjobs')),
      await mirror(batch('jobs')),
      await mirror(core('pods')),
    ];
    const made = await make({ concurrencyPolicy: 'Forbid' });
    const [job] = await jobs.until((now) => now.length === 1);
    expect(job.metadata).toMatchObject({
      name: expect.stringMatching(/^tick-\d{8}$/),
      labels: { of: 'tick' },
      ownerReferences: [{ kind: 'CronJob', uid: made.metadata.uid, controller: true }],
    });
    const { status } = await all.object('tick', (now) => now.status.active?.length === 1);
    expect(status.active[0]).toMatchObject({ kind: 'Job', name: job.metadata.name, uid: job.metadata.uid });
    const [pod] = await pods.until((now) => now.length === 1);
    await api.patch(`${core('pods', pod.metadata.name)}/status`, { status: { phase: 'Succeeded' } });
    const after = await all.object('tick', (now) => now.status.lastSuccessfulTime !== undefined);
    expect(after.status.lastScheduleTime >= status.lastScheduleTime).toBe(true);
    const events = await mirror(core('events'));
    await events.until((now) => now.some(({ reason }) => reason === 'SawCompletedJob'));
    const ours = events.objects.filter(({ involvedObject }) => involvedObject.kind === 'CronJob');
    expect(ours.find(({ reason }) => reason === 'SuccessfulCreate')).toMatchObject({
      message: `Created job ${job.metadata.name}`,
      source: { component: 'cronjob-controller' },
      involvedObject: { apiVersion: 'batch/v1', name: 'tick', uid: made.metadata.uid },
    });
  });

  test('wakes up by itself, again and again', async () => {
    const all = await mirror(batch('cronjobs'));
    await make();
    const times = new Set<string>();
    await all.until(([now]) => {
      if (now?.status.lastScheduleTime) times.add(now.status.lastScheduleTime);
      return times.size === 3;
    });
  });

  test('takes its jobs and their pods with it', async () => {
    const [jobs, pods] = [await mirror(batch('jobs')), await mirror(core('pods'))];
    await make();
    await pods.until((now) => now.length === 1);
    expect((await api.delete(batch('cronjobs', 'tick'))).status).toBe(200);
    await jobs.until((now) => now.length === 0);
    await pods.until((now) => now.length === 0);
  });

  test('of the older version leaves its jobs behind, unless it is told otherwise', async () => {
    const jobs = await mirror(batch('jobs'));
    await make({}, 'v1beta1');
    await jobs.until((now) => now.length === 1);
    expect((await api.delete(batch('cronjobs', 'tick', 'v1beta1'))).status).toBe(200);
    const [job] = await jobs.until(([now]) => !now.metadata.ownerReferences);
    expect(job.metadata.labels.of).toBe('tick');
    expect((await api.get(batch('cronjobs', 'tick'))).status).toBe(404);
  });

  test('keeps a job that was made from its template, and collects it as its own', async () => {
    const { metadata, spec } = await make({ schedule: '0 0 1 1 *' });
    const jobs = await mirror(batch('jobs'));
    // As `kubectl create job by-hand --from=cronjob/tick` does.
    const reply = await api.post(batch('jobs'), {
      metadata: {
        name: 'by-hand',
        annotations: { 'cronjob.kubernetes.io/instantiate': 'manual' },
        ownerReferences: [
          { apiVersion: 'batch/v1', kind: 'CronJob', name: 'tick', uid: metadata.uid, controller: true },
        ],
      },
      spec: spec.jobTemplate.spec,
    });
    expect(reply.status, reply.text).toBe(200);
    const events = await mirror(core('events'));
    await events.until((now) => now.some(({ reason }) => reason === 'UnexpectedJob'));
    await api.delete(batch('cronjobs', 'tick'));
    await jobs.object('by-hand');
    await jobs.until((now) => now.length === 0);
  });
});

describe('both versions', () => {
  test('show the same thing, and change it alike', async () => {
    const old = await make({ schedule: '@daily' }, 'v1beta1');
    const now = (await api.get(batch('cronjobs', 'tick'))).body;
    expect([old.apiVersion, now.apiVersion]).toEqual(['batch/v1beta1', 'batch/v1']);
    expect([now.metadata.uid, now.spec]).toEqual([old.metadata.uid, old.spec]);
    const watch = await mirror(batch('cronjobs', '', 'v1beta1'));
    await api.patch(batch('cronjobs', 'tick'), { spec: { suspend: true } });
    const seen = await watch.object('tick', ({ spec }) => spec.suspend);
    expect(seen).toMatchObject({ apiVersion: 'batch/v1beta1', metadata: { generation: 2 } });
    const status = { lastScheduleTime: '2026-01-02T03:04:05Z' };
    const told = await api.patch(`${batch('cronjobs', 'tick', 'v1beta1')}/status`, {
      status,
      spec: { suspend: false },
    });
    expect(told.body).toMatchObject({ status, spec: { suspend: true } });
    expect((await api.get(`${batch('cronjobs', 'tick')}/status`)).body.status).toEqual(status);
  });

  test('have the same table', async () => {
    await make({ schedule: '@daily', timeZone: 'UTC' });
    for (const version of ['v1', 'v1beta1']) {
      const table = (await api.get(batch('cronjobs', '', version), tableAccept)).body;
      expect(table.rows[0].cells.slice(0, 6)).toEqual(['tick', '@daily', 'UTC', 'False', 0, '<none>']);
    }
  });
});
