/** Indexed jobs: every pod has an index, and indexes succeed, are retried or are given up separately. */
import { describe, expect, test } from 'vitest';
import type { Json } from '../support/http.ts';
import {
  active,
  conditions,
  core,
  fail,
  isTrue,
  jobs,
  makeJob,
  mirror,
  succeed,
  useJobs,
} from './jobs.fixture.ts';

useJobs();

const indexOf = ({ metadata }: Json) => metadata.annotations['batch.kubernetes.io/job-completion-index'];

describe('an Indexed job', () => {
  test('gives every pod its number, and is complete when each number has succeeded', async () => {
    const all = await mirror(jobs());
    const pods = await mirror(core('pods'));
    await makeJob({ completionMode: 'Indexed', completions: 3, parallelism: 2 });
    const [zero, one] = (await pods.until((now) => now.length === 2)).sort((a, b) => indexOf(a) - indexOf(b));
    expect([indexOf(zero), indexOf(one)]).toEqual(['0', '1']);
    expect(one.metadata.name).toMatch(/^work-1-[a-z0-9]{5}$/);
    expect(one.metadata.labels['batch.kubernetes.io/job-completion-index']).toBe('1');
    expect(one.spec.hostname).toBe('work-1');
    expect(one.spec.containers[0].env).toEqual([
      {
        name: 'JOB_COMPLETION_INDEX',
        valueFrom: {
          fieldRef: {
            apiVersion: 'v1',
            fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']",
          },
        },
      },
    ]);
    await succeed(one);
    await all.object('work', ({ status }) => status.completedIndexes === '1' && status.succeeded === 1);
    await fail(zero);
    const anew = active(await pods.until((now) => active(now).length === 2 && now.length === 4));
    expect(anew.map(indexOf).sort()).toEqual(['0', '2']);
    for (const pod of anew) await succeed(pod);
    const done = await all.object('work', isTrue('Complete'));
    expect(done.status).toMatchObject({ succeeded: 3, failed: 1, completedIndexes: '0-2' });
  });

  test('with a limit per index gives up indexes one by one', async () => {
    const all = await mirror(jobs());
    const pods = await mirror(core('pods'));
    await makeJob({ completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 1 });
    const failuresOf = ({ metadata }: Json) =>
      metadata.annotations['batch.kubernetes.io/job-index-failure-count'];
    await pods.until((now) => now.length === 2);
    await fail(pods.objects.find((pod) => indexOf(pod) === '0'));
    const [second] = active(await pods.until((now) => now.length === 3)).filter(
      (pod) => indexOf(pod) === '0',
    );
    expect(failuresOf(second)).toBe('1');
    await fail(second);
    await all.object('work', ({ status }) => status.failedIndexes === '0');
    await succeed(active(pods.objects).find((pod) => indexOf(pod) === '1'));
    const failed = await all.object('work', isTrue('Failed'));
    expect(failed.status).toMatchObject({
      completedIndexes: '1',
      failedIndexes: '0',
      failed: 2,
      succeeded: 1,
    });
    expect(conditions(failed)[0]).toBe('Failed=True FailedIndexes');
  });

  test('may succeed early by its policy, and stops what still runs', async () => {
    const all = await mirror(jobs());
    const pods = await mirror(core('pods'));
    await makeJob({
      completionMode: 'Indexed',
      completions: 3,
      parallelism: 3,
      successPolicy: { rules: [{ succeededIndexes: '0', succeededCount: 1 }] },
    });
    await pods.until((now) => now.length === 3);
    await succeed(pods.objects.find((pod) => indexOf(pod) === '0'));
    const done = await all.object('work', isTrue('Complete'));
    expect(conditions(done)[0]).toBe('Complete=True SuccessPolicy');
    expect([done.status.succeeded, done.status.failed]).toEqual([1, undefined]);
    await pods.until((now) => now.length === 1);
  });
});
