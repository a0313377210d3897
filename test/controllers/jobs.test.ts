/** The job controller (kinds.md 23.2, 21.1): jobs run their pods to completion, and every ended pod is counted. */
import { describe, expect, test } from 'vitest';
import type { Json } from '../support/http.ts';
import {
  active,
  api,
  conditions,
  core,
  ended,
  fail,
  isOver,
  isTrue,
  jobs,
  makeJob,
  mirror,
  namespace,
  setStatus,
  succeed,
  template,
  useJobs,
} from './jobs.fixture.ts';
import type { Mirror } from './mirror.ts';

useJobs();

const finalizer = 'batch.kubernetes.io/job-tracking';
const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

const bind = (pod: Json) =>
  api.post(`${core('pods', pod.metadata.name)}/binding`, {
    metadata: { name: pod.metadata.name },
    target: { kind: 'Node', name: 'n1' },
  });

const told = (events: Json[], reason: string): Json[] => events.filter((one) => one.reason === reason);

/** Ends a pod, and waits until the mirror shows it. */
async function end(pods: Mirror, pod: Json, how: (pod: Json) => Promise<void>): Promise<void> {
  await how(pod);
  await pods.object(pod.metadata.name, isOver);
}

/** Ends the next pods of a job, one after the other, each in the given way. */
async function play(pods: Mirror, ends: ((pod: Json) => Promise<void>)[]): Promise<void> {
  for (const how of ends) {
    const [pod] = active(await pods.until((all) => active(all).length > 0));
    await end(pods, pod, how);
  }
}

describe('a job', () => {
  test('runs one pod, counts its success and is complete', async () => {
    const pods = await mirror(core('pods'));
    const all = await mirror(jobs());
    const events = await mirror(core('events'));
    const made = await makeJob({});
    const [pod] = await pods.until((now) => now.length === 1);
    expect(pod.metadata).toMatchObject({
      generateName: 'work-',
      finalizers: [finalizer],
      labels: {
        'batch.kubernetes.io/controller-uid': made.metadata.uid,
        'batch.kubernetes.io/job-name': 'work',
        'controller-uid': made.metadata.uid,
        'job-name': 'work',
      },
      ownerReferences: [
        {
          apiVersion: 'batch/v1',
          kind: 'Job',
          name: 'work',
          uid: made.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
    const started = await all.object('work', ({ status }) => status.active === 1);
    expect(started.status).toMatchObject({ startTime: expect.any(String), ready: 0, terminating: 0 });
    await setStatus(pod, running);
    await all.object('work', ({ status }) => status.ready === 1);
    await succeed(pod);
    const done = await all.object('work', isTrue('Complete'));
    expect(conditions(done)).toEqual([
      'Complete=True CompletionsReached',
      'SuccessCriteriaMet=True CompletionsReached',
    ]);
    expect(done.status.conditions[0].message).toBe('Reached expected number of succeeded pods');
    expect(done.status).toMatchObject({ succeeded: 1, completionTime: expect.any(String) });
    expect([done.status.active, done.status.failed]).toEqual([undefined, undefined]);
    // The pod stays without the tracking finalizer, so it may be deleted.
    expect((await pods.object(pod.metadata.name, isOver)).metadata.uid).toBe(pod.metadata.uid);
    await pods.object(pod.metadata.name, ({ metadata }) => !metadata.finalizers);
    const told3 = await events.until((now) => told(now, 'Completed').length === 1);
    expect(told(told3, 'Completed')[0]).toMatchObject({
      type: 'Normal',
      message: 'Job completed',
      source: { component: 'job-controller' },
      involvedObject: { apiVersion: 'batch/v1', kind: 'Job', name: 'work' },
    });
    expect(told(told3, 'SuccessfulCreate')[0].message).toBe(`Created pod: ${pod.metadata.name}`);
  });

  test('of the old group is run likewise, with the selector its author chose', async () => {
    const pods = await mirror(core('pods'));
    const path = `/apis/extensions/v1beta1/namespaces/${namespace}/jobs`;
    const all = await mirror(path);
    const labelled = { ...template(), metadata: { labels: { app: 'old' } } };
    const made = await api.post(path, {
      metadata: { name: 'old' },
      spec: { completions: 2, template: labelled },
    });
    expect(made.status, made.text).toBe(200);
    await play(pods, [succeed, succeed]);
    const done = await all.object('old', isTrue('Complete'));
    expect(done.status.succeeded).toBe(2);
    for (const pod of pods.objects) expect(pod.metadata.labels).toEqual({ app: 'old' });
  });

  test('keeps as many pods at work as it may, and no more than it needs', async () => {
    const pods = await mirror(core('pods'));
    const all = await mirror(jobs());
    await makeJob({ completions: 4, parallelism: 3 });
    await all.object('work', ({ status }) => status.active === 3);
    const [first, second] = active(await pods.until((now) => now.length === 3));
    await Promise.all([succeed(first), succeed(second)]);
    for (const pod of [first, second]) await pods.object(pod.metadata.name, isOver);
    await all.object('work', ({ status }) => status.succeeded === 2 && status.active === 2);
    await play(pods, [succeed, succeed]);
    const done = await all.object('work', isTrue('Complete'));
    expect(done.status.succeeded).toBe(4);
    expect((await api.get(core('pods'))).body.items.length).toBe(4);
  });

  test('may be told to use more or fewer pods; those it gives up do not count as failed', async () => {
    const pods = await mirror(core('pods'));
    const all = await mirror(jobs());
    const events = await mirror(core('events'));
    await makeJob({ completions: 10, parallelism: 1 });
    await all.object('work', ({ status }) => status.active === 1);
    await api.patch(jobs('work'), { spec: { parallelism: 5 } });
    await all.object('work', ({ status }) => status.active === 5);
    await api.patch(jobs('work'), { spec: { parallelism: 2 } });
    const { status } = await all.object('work', (one) => one.status.active === 2);
    expect([status.failed, status.terminating]).toEqual([undefined, 0]);
    await pods.until((now) => now.length === 2);
    await events.until((now) => told(now, 'SuccessfulDelete').length === 3);
  });

  test('that is a work queue ends when one pod has succeeded and the others have finished', async () => {
    const pods = await mirror(core('pods'));
    const all = await mirror(jobs());
    await makeJob({ parallelism: 3 });
    const [first, second, third] = await pods.until((now) => now.length === 3);
    await succeed(first);
    const going = await all.object('work', ({ status }) => status.succeeded === 1);
    expect([going.status.active, conditions(going)]).toEqual([2, []]);
    await succeed(second);
    await fail(third);
    const done = await all.object('work', isTrue('Complete'));
    expect([done.status.succeeded, done.status.failed]).toEqual([2, 1]);
    expect((await api.get(core('pods'))).body.items.length).toBe(3);
  });

  test('that wants nothing is complete at once', async () => {
    const all = await mirror(jobs());
    await makeJob({ completions: 0 });
    const done = await all.object('work', isTrue('Complete'));
    expect(done.status.succeeded).toBeUndefined();
    expect((await api.get(core('pods'))).body.items).toEqual([]);
  });

  test('that has ended is not touched again', async () => {
    const pods = await mirror(core('pods'));
    const all = await mirror(jobs());
    await makeJob({});
    await play(pods, [succeed]);
    const done = await all.object('work', isTrue('Complete'));
    await api.delete(core('pods', pods.objects[0].metadata.name));
    await pods.until((now) => now.length === 0);
    await makeJob({}, 'witness');
    await pods.until((now) => now.length === 1);
    expect((await api.get(jobs('work'))).body).toEqual(done);
  });

  test('that another manages is left to it', async () => {
    const pods = await mirror(core('pods'));
    await makeJob({ managedBy: 'example.com/other' }, 'theirs');
    await makeJob({});
    await pods.until((now) => now.length === 1);
    expect(pods.objects[0].metadata.labels['job-name']).toBe('work');
    expect((await api.get(jobs('theirs'))).body.status).toEqual({});
  });
});

describe('pods that fail', () => {
  test('are replaced until there are too many of them, and pods at work are stopped then', async () => {
    const pods = await mirror(core('pods'));
    const all = await mirror(jobs());
    const events = await mirror(core('events'));
    await makeJob({ backoffLimit: 1, parallelism: 2, completions: 5 });
    const [first, second] = await pods.until((now) => now.length === 2);
    await bind(second);
    await end(pods, first, fail);
    await all.object('work', ({ status }) => status.failed === 1 && status.active === 2);
    const [third] = active(await pods.until((now) => active(now).length === 2)).filter(
      ({ metadata }) => metadata.uid !== second.metadata.uid,
    );
    await fail(third);
    const failing = await all.object('work', isTrue('FailureTarget'));
    expect(conditions(failing)).toEqual(['FailureTarget=True BackoffLimitExceeded']);
    // The job is Failed once the stopped pod is gone.
    await pods.object(second.metadata.name, ({ metadata }) => metadata.deletionTimestamp);
    await all.object('work', ({ status }) => status.failed === 3 && status.terminating === 1);
    await api.delete(core('pods', second.metadata.name), { gracePeriodSeconds: 0 });
    const failed = await all.object('work', isTrue('Failed'));
    expect(failed.status).toMatchObject({ failed: 3, terminating: 0 });
    expect(failed.status.completionTime).toBeUndefined();
    const [event] = told(
      await events.until((now) => told(now, 'BackoffLimitExceeded').length > 0),
      'BackoffLimitExceeded',
    );
    expect(event).toMatchObject({ type: 'Warning', message: 'Job has reached the specified backoff limit' });
  });

  test('are replaced after a while only', async () => {
    const pods = await mirror(core('pods'));
    const all = await mirror(jobs());
    await makeJob({});
    const [pod] = await pods.until((now) => now.length === 1);
    await setStatus(pod, ended('Failed', 1, new Date(Date.now() - 8_000).toISOString()));
    await all.object('work', ({ status }) => status.failed === 1);
    const [failed, next] = await pods.until((now) => now.length === 2);
    const { finishedAt } = failed.status.containerStatuses[0].state.terminated;
    expect(Date.now()).toBeGreaterThan(Date.parse(finishedAt) + 9_900);
    // Times of creation are in whole seconds.
    expect(Date.parse(next.metadata.creationTimestamp)).toBeGreaterThan(Date.parse(finishedAt) + 8_900);
  });

  test('in place count by their restarts', async () => {
    const pods = await mirror(core('pods'));
    const all = await mirror(jobs());
    await makeJob({ backoffLimit: 2, template: template({ restartPolicy: 'OnFailure' }) });
    const [pod] = await pods.until((now) => now.length === 1);
    const restarted = (restartCount: number) => ({
      phase: 'Running',
      containerStatuses: [
        { name: 'c', image: 'i:1', imageID: '', ready: true, restartCount, state: { running: {} } },
      ],
    });
    await setStatus(pod, restarted(1));
    await setStatus(pod, restarted(2));
    const failed = await all.object('work', isTrue('Failed'));
    expect(conditions(failed)).toEqual([
      'Failed=True BackoffLimitExceeded',
      'FailureTarget=True BackoffLimitExceeded',
    ]);
    await pods.until((now) => now.length === 0);
  });

  test('or are deleted before they are counted do not go uncounted', async () => {
    const pods = await mirror(core('pods'));
    const all = await mirror(jobs());
    await makeJob({ completions: 2, parallelism: 2 });
    const [first, second] = await pods.until((now) => now.length === 2);
    await Promise.all([succeed(first), api.delete(core('pods', second.metadata.name))]);
    const { status } = await all.object(
      'work',
      (one) => one.status.succeeded === 1 && one.status.failed === 1,
    );
    expect(status.uncountedTerminatedPods ?? {}).toEqual({});
    await pods.until((now) => !now.some(({ metadata }) => metadata.uid === second.metadata.uid));
  });

  test('by a rule of the policy are ignored, or end the job', async () => {
    const pods = await mirror(core('pods'));
    const all = await mirror(jobs());
    await makeJob({
      backoffLimit: 0,
      podFailurePolicy: {
        rules: [
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          { action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } },
        ],
      },
    });
    const [pod] = await pods.until((now) => now.length === 1);
    await setStatus(pod, {
      ...ended('Failed', 1),
      conditions: [{ type: 'DisruptionTarget', status: 'True' }],
    });
    await pods.object(pod.metadata.name, ({ metadata }) => !metadata.finalizers);
    const [next] = active(await pods.until((now) => active(now).length === 1 && now.length === 2));
    await fail(next, 42);
    const failed = await all.object('work', isTrue('Failed'));
    expect(conditions(failed)[0]).toBe('Failed=True PodFailurePolicy');
    expect(failed.status.conditions[0].message).toBe(
      `Container c for pod ${namespace}/${next.metadata.name} failed with exit code 42 matching FailJob rule at index 1`,
    );
    expect(failed.status.failed).toBe(1);
  });
});

describe('time', () => {
  test('that is up ends a job', async () => {
    const all = await mirror(jobs());
    const pods = await mirror(core('pods'));
    await makeJob({ activeDeadlineSeconds: 3600, completions: 5 });
    await pods.until((now) => now.length === 1);
    expect((await api.patch(jobs('work'), { spec: { activeDeadlineSeconds: 1 } })).status).toBe(200);
    const failed = await all.object('work', isTrue('Failed'));
    expect(conditions(failed)[0]).toBe('Failed=True DeadlineExceeded');
    expect(failed.status.conditions[0].message).toBe('Job was active longer than specified deadline');
    await pods.until((now) => now.length === 0);
  });

  test('to live on after the end passes, and the job goes with its pods', async () => {
    const all = await mirror(jobs());
    const pods = await mirror(core('pods'));
    await makeJob({ ttlSecondsAfterFinished: 0 });
    await all.object('work');
    await play(pods, [succeed]);
    await all.until((now) => now.length === 0);
    await pods.until((now) => now.length === 0);
    expect(all.events.some(({ object }) => object.metadata.finalizers?.includes('foregroundDeletion'))).toBe(
      true,
    );
  });
});

describe('a suspended job', () => {
  test('has no pods, and its time begins when it goes on', async () => {
    const all = await mirror(jobs());
    const pods = await mirror(core('pods'));
    const events = await mirror(core('events'));
    await makeJob({ suspend: true, parallelism: 2, completions: 2 });
    const waiting = await all.object('work', isTrue('Suspended'));
    expect(conditions(waiting)).toEqual(['Suspended=True JobSuspended']);
    expect(waiting.status.startTime).toBeUndefined();
    await api.patch(jobs('work'), { spec: { suspend: false } });
    const going = await all.object('work', ({ status }) => status.active === 2);
    expect(conditions(going)).toEqual(['Suspended=False JobResumed']);
    expect(going.status.startTime).toEqual(expect.any(String));
    await api.patch(jobs('work'), { spec: { suspend: true } });
    const again = await all.object('work', isTrue('Suspended'));
    expect([again.status.active, again.status.failed]).toEqual([undefined, undefined]);
    await pods.until((now) => now.length === 0);
    const messages = (
      await events.until((now) => told(now, 'Suspended').length > 0 && told(now, 'Resumed').length > 0)
    )
      .filter(({ reason }) => ['Suspended', 'Resumed'].includes(reason))
      .map(({ message }) => message);
    expect(new Set(messages)).toEqual(new Set(['Job suspended', 'Job resumed']));
  });
});

describe('a job that is deleted', () => {
  test('leaves its pods without owner and finalizer', async () => {
    const all = await mirror(jobs());
    const pods = await mirror(core('pods'));
    await makeJob({ parallelism: 2, completions: 2 });
    await all.object('work', ({ status }) => status.active === 2);
    await pods.until((now) => now.length === 2);
    await api.delete(jobs('work'), { propagationPolicy: 'Orphan' });
    await all.until((now) => now.length === 0);
    await pods.until(
      (now) =>
        now.length === 2 && now.every(({ metadata }) => !metadata.ownerReferences && !metadata.finalizers),
    );
  });

  test.each(['Background', 'Foreground'])('takes its pods along: %s', async (propagationPolicy) => {
    const all = await mirror(jobs());
    const pods = await mirror(core('pods'));
    await makeJob({ parallelism: 2, completions: 2 });
    await all.object('work', ({ status }) => status.active === 2);
    await pods.until((now) => now.length === 2);
    await api.delete(jobs('work'), { propagationPolicy });
    await all.until((now) => now.length === 0);
    await pods.until((now) => now.length === 0);
    expect(pods.events.filter(({ type }) => type === 'ADDED').length).toBe(2);
  });
});
