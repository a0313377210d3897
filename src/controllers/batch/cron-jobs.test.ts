/**
 * Proves what cron jobs do as time passes: the test sets the time, and starts a new controller for every new time.
 * What a running controller does by itself is in test/controllers.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CronJob, Event, JobV1 } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { Harness } from '../shared/harness.fixture.ts';

let now: string;
let harness: Harness;

beforeEach(async () => {
  now = '2024-05-01T12:00:30Z';
  harness = await Harness.open(['default'], { nowMs: () => Date.parse(now) });
});
afterEach(async () => {
  await harness.close();
  expect(harness.errors).toEqual([]);
});

const template = () => ({ spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i:1' }] } });

async function plantCronJob(spec: object = {}, status: object = {}, metadata: object = {}): Promise<CronJob> {
  const entry = await harness.seed('batch/v1', 'cronjobs', 'default', {
    metadata: { name: 'tick', generation: 1, ...metadata },
    spec: {
      schedule: '* * * * *',
      timeZone: 'UTC',
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: {
        metadata: { labels: { of: 'tick' }, annotations: { a: 'b' } },
        spec: { template: template() },
      },
      ...spec,
    },
    status,
  });
  return entry.object() as CronJob;
}

/** Sets the time and lets the controller run. */
async function at(time: string): Promise<void> {
  await harness.stop();
  now = time;
  harness.start(['cronjob']);
  await harness.settled();
}

const jobs = (): JobV1[] => harness.all('batch/jobs').map((entry) => entry.object() as JobV1);
const names = (): string[] => jobs().map(({ metadata }) => metadata.name!);
const cronJob = (): CronJob => harness.all('batch/cronjobs')[0]!.object() as CronJob;
const active = (): string[] => (cronJob().status?.active ?? []).map(({ name }) => name!);
const told = (): string[] =>
  harness
    .all('core/events')
    .map((entry) => entry.object() as Event)
    .filter(({ involvedObject }) => involvedObject?.kind === 'CronJob')
    .map(({ type, reason, message, count }) => `${type} ${reason} ${message} ×${count}`)
    .sort();
/** The name of the job of a minute. */
const nameAt = (time: string): string => `tick-${Date.parse(time) / 60_000}`;

async function end(name: string, type: 'Complete' | 'Failed', time = now, startTime = time): Promise<void> {
  const { kind } = harness.all('batch/jobs')[0]!;
  await modify(
    harness.writing,
    asTester('update'),
    { kind, namespace: 'default', name, part: 'status' },
    (entry) => ({
      ...entry.object(),
      status: {
        startTime,
        conditions: (type === 'Complete' ? ['SuccessCriteriaMet', type] : ['FailureTarget', type]).map(
          (one) => ({
            type: one,
            status: 'True',
            lastProbeTime: time,
            lastTransitionTime: time,
          }),
        ),
        ...(type === 'Complete' ? { completionTime: time } : {}),
      },
    }),
  );
}

async function change(change: (cronJob: CronJob) => void): Promise<void> {
  const { kind } = harness.all('batch/cronjobs')[0]!;
  await modify(
    harness.writing,
    asTester('update'),
    { kind, namespace: 'default', name: 'tick', part: 'whole' },
    (entry) => {
      const object = entry.object() as CronJob;
      change(object);
      return object;
    },
  );
}

describe('a cron job', () => {
  it('makes nothing before its time', async () => {
    await plantCronJob();
    await at('2024-05-01T12:00:58Z');
    expect([names(), cronJob().status, told()]).toEqual([[], {}, []]);
  });

  it('makes a job when its time has come, once', async () => {
    const made = await plantCronJob();
    await at('2024-05-01T12:01:00Z');
    const [job] = jobs();
    expect(job!.metadata).toMatchObject({
      name: nameAt('2024-05-01T12:01:00Z'),
      labels: { of: 'tick' },
      annotations: { a: 'b', 'batch.kubernetes.io/cronjob-scheduled-timestamp': '2024-05-01T12:01:00Z' },
      ownerReferences: [
        {
          apiVersion: 'batch/v1',
          kind: 'CronJob',
          name: 'tick',
          uid: made.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
    expect(job!.spec).toMatchObject({ parallelism: 1, completions: 1, backoffLimit: 6 });
    expect(job!.spec!.template!.metadata!.labels).toMatchObject({ 'job-name': job!.metadata.name });
    expect(cronJob().status).toEqual({
      active: [
        {
          kind: 'Job',
          namespace: 'default',
          name: job!.metadata.name,
          uid: job!.metadata.uid,
          apiVersion: 'batch/v1',
          resourceVersion: job!.metadata.resourceVersion,
        },
      ],
      lastScheduleTime: '2024-05-01T12:01:00Z',
    });
    expect(told()).toEqual([`Normal SuccessfulCreate Created job ${job!.metadata.name} ×1`]);
    await at('2024-05-01T12:01:59Z');
    expect(names()).toHaveLength(1);
  });

  it('tells the time in its own zone', async () => {
    await plantCronJob({ schedule: '30 17 * * *', timeZone: 'Asia/Kolkata' });
    await at('2024-05-01T12:00:45Z');
    expect(jobs()).toEqual([]);
    await at('2024-05-02T12:00:01Z');
    expect(jobs()[0]!.metadata.annotations!['batch.kubernetes.io/cronjob-scheduled-timestamp']).toBe(
      '2024-05-02T17:30:00+05:30',
    );
  });

  it('runs the newest of several times that were missed, late', async () => {
    await plantCronJob();
    await at('2024-05-01T12:07:20Z');
    expect(names()).toEqual([nameAt('2024-05-01T12:07:00Z')]);
    expect(cronJob().status!.lastScheduleTime).toBe('2024-05-01T12:07:00Z');
    expect(told()).toHaveLength(1);
  });

  it('says so when more than a hundred were missed', async () => {
    await plantCronJob();
    await at('2024-05-01T13:40:00Z');
    expect(told().filter((text) => text.includes('TooMany'))).toEqual([]);
    await at('2024-05-01T15:21:00Z');
    expect(names()).toEqual([nameAt('2024-05-01T13:40:00Z'), nameAt('2024-05-01T15:21:00Z')]);
    expect(told()).toContain(
      'Warning TooManyMissedTimes too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew ×1',
    );
  });

  it('counts only those within its deadline', async () => {
    await plantCronJob({ startingDeadlineSeconds: 600 });
    await at('2024-05-02T12:00:00Z');
    expect(names()).toHaveLength(1);
    expect(told()).toHaveLength(1);
  });

  it('lets a time go when its deadline has passed, and says so once', async () => {
    await plantCronJob({ schedule: '0 * * * *', startingDeadlineSeconds: 60 });
    await at('2024-05-01T13:01:01Z');
    await change(({ metadata }) => {
      metadata.labels = { looked: 'again' };
    });
    await harness.settled();
    expect(names()).toEqual([]);
    expect(told()).toEqual([
      'Warning MissSchedule Missed scheduled time to start a job: Wed, 01 May 2024 13:00:00 +0000 ×1',
    ]);
    await at('2024-05-01T14:01:00Z');
    expect(names()).toEqual([nameAt('2024-05-01T14:00:00Z')]);
  });

  it('counts intervals from its last time, whatever its deadline', async () => {
    await plantCronJob({ schedule: '@every 90m', startingDeadlineSeconds: 20 });
    await at('2024-05-01T13:30:29Z');
    expect(names()).toEqual([]);
    await at('2024-05-01T13:30:31Z');
    expect(cronJob().status!.lastScheduleTime).toBe('2024-05-01T13:30:30Z');
    await at('2024-05-01T15:00:35Z');
    expect(cronJob().status!.lastScheduleTime).toBe('2024-05-01T15:00:30Z');
    expect(names()).toHaveLength(2);
  });

  it('with an interval below a minute makes one job a minute', async () => {
    await plantCronJob({ schedule: '@every 10s' });
    await at('2024-05-01T12:00:40Z');
    await at('2024-05-01T12:00:50Z');
    expect(names()).toEqual([nameAt('2024-05-01T12:00:00Z')]);
    expect(cronJob().status!.lastScheduleTime).toBe('2024-05-01T12:00:50Z');
  });

  it('that is suspended makes nothing, and catches up afterwards', async () => {
    await plantCronJob({ suspend: true });
    await at('2024-05-01T12:05:00Z');
    expect(names()).toEqual([]);
    await change(({ spec }) => {
      spec!.suspend = false;
    });
    await harness.settled();
    expect(names()).toEqual([nameAt('2024-05-01T12:05:00Z')]);
  });

  it('whose schedule is changed waits for the next time of the new one', async () => {
    await plantCronJob({ schedule: '0 3 * * *' }, { lastScheduleTime: '2024-05-01T03:00:00Z' });
    await at('2024-05-01T12:01:00Z');
    await change(({ spec }) => {
      spec!.schedule = '0 9 * * *';
    });
    await harness.settled();
    expect(names()).toEqual([]);
    await at('2024-05-02T09:00:00Z');
    expect(names()).toEqual([nameAt('2024-05-02T09:00:00Z')]);
  });

  it('that never comes makes nothing, and is told of once', async () => {
    await plantCronJob({ schedule: '0 0 30 2 *' });
    await at('2025-05-01T12:00:00Z');
    await change(({ metadata }) => {
      metadata.labels = { looked: 'again' };
    });
    await harness.settled();
    const warning = 'Warning InvalidSchedule invalid schedule: 0 0 30 2 * : it never comes ×1';
    expect([names(), told()]).toEqual([[], [warning]]);
  });

  it('that never comes, and is not meant to, is left alone', async () => {
    await plantCronJob({ schedule: '0 0 30 2 *', suspend: true });
    await at('2025-05-01T12:00:00Z');
    expect([names(), told()]).toEqual([[], []]);
  });

  it('that comes on a 29 February is no mistake', async () => {
    await plantCronJob({ schedule: '0 0 29 2 *' });
    await at('2024-06-01T12:00:00Z');
    expect(told()).toEqual([]);
  });

  it('that makes no sense is told of once', async () => {
    await plantCronJob({ schedule: 'nonsense' });
    await harness.seed('batch/v1', 'cronjobs', 'default', {
      metadata: { name: 'lost' },
      spec: { schedule: '* * * * *', timeZone: 'Mars/Base', jobTemplate: { spec: { template: template() } } },
    });
    await at('2024-05-01T12:05:00Z');
    await change(({ metadata }) => {
      metadata.labels = { looked: 'again' };
    });
    await harness.settled();
    expect(told()).toEqual([
      'Warning UnknownTimeZone invalid timeZone: "Mars/Base": unknown time zone Mars/Base ×1',
      'Warning UnparseableSchedule unparseable schedule: "nonsense" : expected exactly 5 fields, found 1: [nonsense] ×1',
    ]);
  });

  it('that is being deleted makes nothing', async () => {
    await plantCronJob({}, {}, { deletionTimestamp: '2024-05-01T12:00:40Z', finalizers: ['example.com/a'] });
    await at('2024-05-01T12:05:00Z');
    expect([names(), told()]).toEqual([[], []]);
  });
});

describe('while a job runs', () => {
  const first = nameAt('2024-05-01T12:01:00Z');
  const second = nameAt('2024-05-01T12:02:00Z');

  it('Allow makes another', async () => {
    await plantCronJob();
    await at('2024-05-01T12:01:00Z');
    await at('2024-05-01T12:02:00Z');
    expect([names(), active()]).toEqual([
      [first, second],
      [first, second],
    ]);
  });

  it('Forbid waits, says so once for each time, and makes one when the job has ended', async () => {
    await plantCronJob({ concurrencyPolicy: 'Forbid' });
    await at('2024-05-01T12:01:00Z');
    await at('2024-05-01T12:02:10Z');
    await change(({ metadata }) => {
      metadata.labels = { looked: 'again' };
    });
    await harness.settled();
    expect([names(), active()]).toEqual([[first], [first]]);
    expect(cronJob().status!.lastScheduleTime).toBe('2024-05-01T12:01:00Z');
    expect(told()).toContain(
      'Normal JobAlreadyActive Not starting job because prior execution is running and concurrency policy is Forbid ×1',
    );
    await end(first, 'Failed');
    await harness.settled();
    expect([names(), active()]).toEqual([[first, second], [second]]);
    expect(told()).toContain(`Normal SawCompletedJob Saw completed job: ${first}, condition: Failed ×1`);
  });

  it('Replace deletes it first', async () => {
    await plantCronJob({ concurrencyPolicy: 'Replace' });
    await at('2024-05-01T12:01:00Z');
    await at('2024-05-01T12:02:00Z');
    expect([names(), active()]).toEqual([[second], [second]]);
    expect(told()).toEqual([
      `Normal SuccessfulCreate Created job ${first} ×1`,
      `Normal SuccessfulCreate Created job ${second} ×1`,
      `Normal SuccessfulDelete Deleted job ${first} ×1`,
    ]);
  });

  it('Replace does not wait for a job that somebody else holds', async () => {
    await plantCronJob({ concurrencyPolicy: 'Replace' });
    await at('2024-05-01T12:01:00Z');
    const { kind } = harness.all('batch/jobs')[0]!;
    await modify(
      harness.writing,
      asTester('update'),
      { kind, namespace: 'default', name: first, part: 'whole' },
      (entry) => {
        const object = entry.object();
        object.metadata.finalizers = ['example.com/hold'];
        return object;
      },
    );
    await at('2024-05-01T12:02:00Z');
    await at('2024-05-01T12:02:30Z');
    expect([names(), active()]).toEqual([[first, second], [second]]);
    expect(jobs()[0]!.metadata.deletionTimestamp).toBeDefined();
  });

  it('and vanishes, it is no longer active', async () => {
    await plantCronJob({ schedule: '1 12 * * *' });
    await at('2024-05-01T12:01:00Z');
    await remove(
      harness.writing,
      asTester('delete'),
      { kind: harness.all('batch/jobs')[0]!.kind, namespace: 'default', name: first, part: 'main' },
      {
        propagationPolicy: 'Background',
      },
    );
    await harness.settled();
    expect([names(), active()]).toEqual([[], []]);
    expect(told()).toContain(`Normal MissingJob Active job went missing: ${first} ×1`);
  });
});

describe('what is lost between making a job and writing it down', () => {
  it('is found again: there is one job, and it is active', async () => {
    await plantCronJob({ concurrencyPolicy: 'Forbid' });
    await at('2024-05-01T12:01:00Z');
    await harness.stop();
    const { kind } = harness.all('batch/cronjobs')[0]!;
    await modify(
      harness.writing,
      asTester('update'),
      { kind, namespace: 'default', name: 'tick', part: 'status' },
      (entry) => ({
        ...entry.object(),
        status: {},
      }),
    );
    await at('2024-05-01T12:01:30Z');
    expect([names(), active()]).toEqual([[nameAt('2024-05-01T12:01:00Z')], [nameAt('2024-05-01T12:01:00Z')]]);
    expect(told().filter((text) => text.includes('Unexpected'))).toEqual([]);
  });

  it('does not touch a job of somebody else', async () => {
    await plantCronJob();
    const name = nameAt('2024-05-01T12:01:00Z');
    const kind = harness.registry.kinds.resource('batch/v1', 'jobs')!;
    const job = { metadata: { name }, spec: { template: template() } } as JobV1;
    await create(harness.writing, asTester('create'), collectionOf(kind, 'default'), job);
    await at('2024-05-01T12:01:00Z');
    expect([names(), active()]).toEqual([[name], []]);
    expect(jobs()[0]!.metadata.ownerReferences).toBeUndefined();
    expect(cronJob().status).toEqual({});
    await at('2024-05-01T12:02:00Z');
    expect(active()).toEqual([nameAt('2024-05-01T12:02:00Z')]);
  });
});

describe('jobs that have ended', () => {
  const minute = (i: number): string => `2024-05-01T12:0${i}:00Z`;

  it('are kept in numbers, oldest gone first, successes and failures apart', async () => {
    await plantCronJob({ successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1 });
    for (let i = 1; i <= 7; i++) await at(minute(i));
    await change(({ spec }) => {
      spec!.suspend = true;
    });
    // The one that ended second started last: the start decides.
    for (const i of [1, 4, 2, 3]) await end(nameAt(minute(i)), 'Complete', now, minute(i));
    for (const i of [5, 6]) await end(nameAt(minute(i)), 'Failed', now, minute(i));
    await harness.settled();
    expect(names()).toEqual([3, 4, 6, 7].map((i) => nameAt(minute(i))));
    expect(active()).toEqual([nameAt(minute(7))]);
    expect(cronJob().status).toMatchObject({ lastSuccessfulTime: now, lastScheduleTime: minute(7) });
    for (const i of [1, 2, 5])
      expect(told()).toContain(`Normal SuccessfulDelete Deleted job ${nameAt(minute(i))} ×1`);
  });

  it('are all deleted when none is to be kept', async () => {
    await plantCronJob({ successfulJobsHistoryLimit: 0, schedule: '1 12 * * *' });
    await at(minute(1));
    await end(nameAt(minute(1)), 'Complete');
    await harness.settled();
    expect([names(), active()]).toEqual([[], []]);
    expect(cronJob().status).toEqual({
      lastScheduleTime: minute(1),
      lastSuccessfulTime: minute(1),
    });
  });
});

it('a job that somebody made from the template is told of once, and is not active', async () => {
  const { metadata } = await plantCronJob({ schedule: '0 0 1 1 *' });
  const kind = harness.registry.kinds.resource('batch/v1', 'jobs')!;
  const owner = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    name: 'tick',
    uid: metadata.uid,
    controller: true,
  };
  for (const name of ['by-hand', 'by-hand-too'])
    await create(harness.writing, asTester('create'), collectionOf(kind, 'default'), {
      metadata: { name, ownerReferences: [owner] },
      spec: { template: template() },
    } as JobV1);
  await at('2024-05-01T12:01:00Z');
  await end('by-hand', 'Complete');
  await harness.settled();
  expect(active()).toEqual([]);
  expect(cronJob().status).toEqual({ lastSuccessfulTime: now });
  expect(told()).toEqual(
    ['by-hand', 'by-hand-too'].map(
      (name) => `Warning UnexpectedJob Saw a job that the controller did not create or forgot: ${name} ×1`,
    ),
  );
});

it('a job that cannot be made is tried again', async () => {
  await plantCronJob();
  await harness.seed('v1', 'resourcequotas', 'default', {
    metadata: { name: 'none' },
    spec: { hard: { 'count/jobs.batch': '0' } },
    status: { hard: { 'count/jobs.batch': '0' }, used: { 'count/jobs.batch': '0' } },
  });
  now = '2024-05-01T12:01:00Z';
  harness.start(['cronjob']);
  await expect.poll(() => told().length).toBe(1);
  expect(told()[0]).toMatch(/^Warning FailedCreate Error creating job: .*exceeded quota: none/);
  await remove(
    harness.writing,
    asTester('delete'),
    { kind: harness.all('core/resourcequotas')[0]!.kind, namespace: 'default', name: 'none', part: 'main' },
    {},
  );
  await expect.poll(names).toEqual([nameAt('2024-05-01T12:01:00Z')]);
  await harness.settled();
  // Events tell it; it is no failure of the controller.
  expect(harness.errors).toEqual([]);
});
