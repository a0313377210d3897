/** Job status: the status of a job after an evaluation, and the events for its changes. */
import type { JobConditionV1, JobStatusV1 } from '../../api/generated/types.ts';
import { formatTime } from '../../api/values/time.ts';
import { type IndexedPod, isActive, isFinished } from '../shared/indexed-pod.ts';
import { conditionOf, type JobRun } from './job-run.ts';

export interface JobNews {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The new status; `pods` are the job's pods after this pass. */
export function statusAfter(
  run: JobRun,
  pods: readonly IndexedPod[],
  nowMs: number,
): { status: JobStatusV1; news: JobNews[] } {
  const { job, suspended } = run;
  const old = job.status ?? {};
  const now = formatTime(nowMs);
  const news: JobNews[] = [];
  const active = pods.filter(isActive);
  const status: JobStatusV1 = {
    ...old,
    conditions: [...(old.conditions ?? [])],
    // A suspended job has no startTime; it gets a new one when it is resumed.
    startTime: run.resumes || (!suspended && !old.startTime) ? now : old.startTime,
    active: active.length,
    ready: active.filter(({ ready }) => ready).length,
    terminating: pods.filter((pod) => pod.marked && !isFinished(pod)).length,
    succeeded: run.counted.succeeded,
    failed: run.counted.failed,
    completedIndexes: run.completed?.toString(),
    failedIndexes: run.failedIndexes?.toString(),
    uncountedTerminatedPods: run.uncounted,
  };
  const say = (type: string, state: 'True' | 'False', reason: string, message: string): boolean => {
    if (conditionOf(status, type)?.status === state) return false;
    const condition: JobConditionV1 = {
      type,
      status: state,
      lastProbeTime: now,
      lastTransitionTime: now,
      reason,
      message,
    };
    status.conditions = [...status.conditions!.filter((one) => one.type !== type), condition];
    return true;
  };
  const { verdict } = run;
  if (!verdict) {
    if (suspended && say('Suspended', 'True', 'JobSuspended', 'Job suspended'))
      news.push({ type: 'Normal', reason: 'Suspended', message: 'Job suspended' });
    if (run.resumes && say('Suspended', 'False', 'JobResumed', 'Job resumed'))
      news.push({ type: 'Normal', reason: 'Resumed', message: 'Job resumed' });
    return { status, news };
  }
  const { succeeded, reason, message } = verdict;
  say(succeeded ? 'SuccessCriteriaMet' : 'FailureTarget', 'True', reason, message);
  if (status.active || status.terminating || !isAllCounted(run)) return { status, news };
  say(succeeded ? 'Complete' : 'Failed', 'True', reason, message);
  if (succeeded) status.completionTime = now;
  news.push(
    succeeded
      ? { type: 'Normal', reason: 'Completed', message: 'Job completed' }
      : { type: 'Warning', reason, message },
  );
  return { status, news };
}

const isAllCounted = ({ uncounted, releasable, cut }: JobRun): boolean =>
  !cut && releasable.length === 0 && uncounted.succeeded.length + uncounted.failed.length === 0;
