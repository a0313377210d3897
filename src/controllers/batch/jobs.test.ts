/**
 * Proves that a finished pod is counted once, wherever counting was interrupted: the tests create the states that a
 * crash leaves. What jobs do without crashes is in test/controllers.
 */
import { describe, expect, it } from 'vitest';
import type { JobV1, Pod } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { targetOf } from '../../registry/target.ts';
import { harness, useHarness } from '../shared/harness.fixture.ts';

const finalizer = 'batch.kubernetes.io/job-tracking';
const podUid = 'b7d3a6f0-0000-4000-8000-000000000001';
useHarness();

/** A job that needs no pods now, with the status that a crash has left. */
const plantJob = async (status: JobV1['status'], spec: object = {}): Promise<JobV1> =>
  (
    await harness.seed('batch/v1', 'jobs', 'default', {
      metadata: { name: 'work', generation: 1 },
      spec: {
        parallelism: 0,
        completions: 5,
        backoffLimit: 6,
        completionMode: 'NonIndexed',
        selector: { matchLabels: { app: 'work' } },
        template: {
          metadata: { labels: { app: 'work' } },
          spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i:1' }] },
        },
        ...spec,
      },
      status: { startTime: '2026-01-02T03:04:05Z', ...status },
    })
  ).object() as JobV1;

async function plantPod(job: JobV1, phase: string, metadata: object = {}): Promise<string> {
  const { name, uid } = job.metadata;
  const reference = { apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true };
  const entry = await harness.seed('v1', 'pods', 'default', {
    metadata: {
      name: 'work-x',
      labels: { app: 'work' },
      finalizers: [finalizer],
      ownerReferences: [reference],
      ...metadata,
    },
    spec: { containers: [] },
    status: { phase },
  });
  return entry.object().metadata.uid!;
}

async function outcome(): Promise<JobV1['status']> {
  harness.start(['job']);
  await harness.settled();
  return (harness.all('batch/jobs')[0]!.object() as JobV1).status;
}

const finalizers = () => harness.all('core/pods').map((entry) => (entry.object() as Pod).metadata.finalizers);

describe('a pod that succeeded is counted once', () => {
  it('when nothing of it was written yet', async () => {
    await plantPod(await plantJob({}), 'Succeeded');
    expect(await outcome()).toMatchObject({ succeeded: 1, uncountedTerminatedPods: {} });
    expect(finalizers()).toEqual([undefined]);
  });

  it('when it was written down, and still had its finalizer', async () => {
    const job = await plantJob({});
    const uid = await plantPod(job, 'Succeeded');
    await rewrite({ uncountedTerminatedPods: { succeeded: [uid] } });
    expect(await outcome()).toMatchObject({ succeeded: 1, uncountedTerminatedPods: {} });
    expect(finalizers()).toEqual([undefined]);
  });

  it('when it was written down, and had lost its finalizer', async () => {
    const job = await plantJob({});
    const uid = await plantPod(job, 'Succeeded', { finalizers: undefined });
    await rewrite({ succeeded: 2, uncountedTerminatedPods: { succeeded: [uid] } });
    expect(await outcome()).toMatchObject({ succeeded: 3, uncountedTerminatedPods: {} });
  });

  it('when it was written down, and is gone', async () => {
    await plantJob({ failed: 1, uncountedTerminatedPods: { succeeded: [podUid], failed: ['another'] } });
    expect(await outcome()).toMatchObject({ succeeded: 1, failed: 2, uncountedTerminatedPods: {} });
  });

  it('when it was counted before', async () => {
    await plantPod(await plantJob({ succeeded: 1 }), 'Succeeded', { finalizers: undefined });
    expect(await outcome()).toMatchObject({ succeeded: 1 });
  });
});

describe('a finalizer that nobody waits for is removed', () => {
  it('from a pod whose job is gone', async () => {
    const gone = { kind: 'Job', metadata: { name: 'gone', uid: podUid } };
    await plantPod(gone, 'Running');
    harness.start(['job']);
    await harness.settled();
    expect(finalizers()).toEqual([undefined]);
  });

  it('from a pod whose job has another uid, or has ended', async () => {
    const ended = (type: string) => ({ type, status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' });
    const job = await plantJob({ conditions: [ended('SuccessCriteriaMet'), ended('Complete')] });
    await plantPod(job, 'Succeeded', { name: 'late' });
    await plantPod({ ...job, metadata: { ...job.metadata, uid: podUid } }, 'Running', { name: 'stranger' });
    const before = (harness.all('batch/jobs')[0]!.object() as JobV1).metadata.resourceVersion;
    await outcome();
    expect(finalizers()).toEqual([undefined, undefined]);
    expect((harness.all('batch/jobs')[0]!.object() as JobV1).metadata.resourceVersion).toBe(before);
  });

  it('but not from one whose job another manages', async () => {
    const job = await plantJob({}, { managedBy: 'example.com/other' });
    await plantPod(job, 'Succeeded');
    await outcome();
    expect(finalizers()).toEqual([[finalizer]]);
  });
});

it('a status that stands for very many indexes costs nothing', async () => {
  await plantJob(
    { completedIndexes: '0-2147483640' },
    { completionMode: 'Indexed', completions: 2147483647, parallelism: 2 },
  );
  const status = await outcome();
  expect(status).toMatchObject({ succeeded: 2147483641, active: 2 });
});

/** Replaces the job's status. */
async function rewrite(status: JobV1['status']): Promise<void> {
  const { registry } = harness;
  const entry = harness.all('batch/jobs')[0]!;
  const job = { ...(entry.object() as JobV1), status: { startTime: '2026-01-02T03:04:05Z', ...status } };
  const request = asTester('update');
  const value = registry.encode(request, targetOf(entry, 'status'), job, entry);
  await registry.commit(request, entry, value, entry.revision);
}
