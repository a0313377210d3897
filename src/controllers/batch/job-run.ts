/**
 * A job run: one evaluation of a job and its pods, without changing anything. It computes the state of the job, how
 * many pods there should be, and the new status.
 *
 * Every pod of a job has a finalizer, so that it cannot be removed before it is counted. Counting takes three steps,
 * and is correct after a crash between any two: the pod's uid is written into the status as uncounted; its finalizer
 * is removed; the uid is replaced by one more in the number of succeeded or failed pods.
 */
import type { JobConditionV1, JobSpecV1, JobStatusV1, JobV1, Pod } from '../../api/generated/types.ts';
import { isIndexed } from '../../api/rules/job/job-policy.ts';
import { type IndexedPod, isActive, isFinished } from '../shared/indexed-pod.ts';
import { victimsFirst } from '../shared/victims.ts';
import { waitAfter, waitMs } from './job-backoff.ts';
import { IndexSet } from './job-index-set.ts';
import { judgeFailure, successRule } from './job-policies.ts';

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking';

/** Pods counted, created or deleted per pass. */
const burstMax = 500;

/** How a job ends. */
export interface JobVerdict {
  readonly succeeded: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Pods to create now, with their indexes if the job is Indexed; others wait for the back-off. */
export interface Missing {
  readonly count: number;
  readonly indexes: readonly { readonly index: number; readonly failures: number }[] | undefined;
  readonly waitMs: number;
}

export const isTracked = ({ finalizers }: IndexedPod): boolean => finalizers.includes(trackingFinalizer);

export const isTrue = ({ status }: JobV1, type: string): boolean =>
  conditionOf(status, type)?.status === 'True';

export const conditionOf = (status: JobStatusV1 | undefined, type: string): JobConditionV1 | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

export class JobRun {
  readonly spec: JobSpecV1;
  readonly active: readonly IndexedPod[];
  /** Succeeded indexes; undefined when the job is not Indexed. */
  readonly completed: IndexSet | undefined;
  readonly failedIndexes: IndexSet | undefined;
  /** Pods whose finalizer is removed once the new status is written. */
  readonly releasable: readonly IndexedPod[];
  /** Uids of finished pods that are in the status and not yet in its counters. */
  readonly uncounted: { readonly succeeded: string[]; readonly failed: string[] };
  /** The counters of the status. */
  readonly counted: { readonly succeeded: number; readonly failed: number };
  readonly verdict: JobVerdict | undefined;
  /** Whether more pods are left to count than one pass allows. */
  readonly cut: boolean;

  constructor(
    readonly job: JobV1,
    readonly pods: readonly IndexedPod[],
    private readonly nowMs: number,
  ) {
    this.spec = job.spec ?? {};
    this.active = pods.filter(isActive);
    const tracked = new Map(pods.filter(isTracked).map((pod) => [pod.uid, pod]));
    const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
    const written = new Set([...succeeded, ...failed]);
    this.uncounted = {
      succeeded: succeeded.filter((uid) => tracked.has(uid)),
      failed: failed.filter((uid) => tracked.has(uid)),
    };
    const ended = [...tracked.values()].filter((pod) => !written.has(pod.uid) && this.#hasEnded(pod));
    this.cut = ended.length > burstMax;
    const judged = ended.slice(0, burstMax).map((pod) => ({ pod, ...this.#judge(pod) }));
    this.completed = this.#completedIndexes(judged.map(({ pod }) => pod));
    this.failedIndexes = this.#failedIndexes(judged);
    const kept = judged.filter(({ pod, action }) => action !== 'Succeeded' && this.#isMemory(pod));
    const taken = judged.filter((one) => !kept.includes(one));
    for (const { pod, action } of taken)
      if (action === 'Succeeded') {
        if (!this.completed) this.uncounted.succeeded.push(pod.uid);
      } else if (action !== 'Ignore' && this.#countsAsFailed(pod)) this.uncounted.failed.push(pod.uid);
    this.releasable = [
      ...[...written].flatMap((uid) => tracked.get(uid) ?? []),
      ...taken.map(({ pod }) => pod),
    ];
    this.counted = {
      succeeded: this.completed
        ? this.completed.size
        : (job.status?.succeeded ?? 0) +
          succeeded.length -
          succeeded.filter((uid) => tracked.has(uid)).length,
      failed: (job.status?.failed ?? 0) + failed.length - failed.filter((uid) => tracked.has(uid)).length,
    };
    this.verdict = this.#judgeJob(judged.find(({ action }) => action === 'FailJob')?.message);
  }

  get suspended(): boolean {
    return this.spec.suspend === true;
  }

  get terminating(): IndexedPod[] {
    return this.pods.filter((pod) => pod.marked && !isFinished(pod));
  }

  get #succeeded(): number {
    return this.completed ? this.completed.size : this.counted.succeeded + this.uncounted.succeeded.length;
  }

  get #failed(): number {
    return this.counted.failed + this.uncounted.failed.length;
  }

  // Pods

  /** Whether a pod has finished, as far as its job is concerned. */
  #hasEnded(pod: IndexedPod): boolean {
    if (isFinished(pod)) return true;
    // A pod without a node never runs, and so never reports an end.
    return pod.marked && (isTrue(this.job, 'FailureTarget') || !this.#waitsForEnd || !pod.nodeName);
  }

  /** Whether pods are replaced only after they have terminated. */
  get #waitsForEnd(): boolean {
    return this.spec.podReplacementPolicy === 'Failed';
  }

  #judge(pod: IndexedPod): {
    action: 'Succeeded' | ReturnType<typeof judgeFailure>['action'];
    message: string;
  } {
    if (pod.phase === 'Succeeded') return { action: 'Succeeded', message: '' };
    if (!this.spec.podFailurePolicy || pod.phase !== 'Failed') return { action: 'Count', message: '' };
    return judgeFailure(this.spec, pod.entry.object() as Pod);
  }

  /** A pod without a valid index of this job is ignored. */
  #indexOf({ completionIndex: index }: IndexedPod): number | undefined {
    return index !== undefined && index >= 0 && index < (this.spec.completions ?? 0) ? index : undefined;
  }

  #countsAsFailed(pod: IndexedPod): boolean {
    return !isIndexed(this.spec) || this.#indexOf(pod) !== undefined;
  }

  #completedIndexes(ended: readonly IndexedPod[]): IndexSet | undefined {
    if (!isIndexed(this.spec)) return undefined;
    const indexes = IndexSet.read(this.job.status?.completedIndexes, this.spec.completions ?? 0);
    for (const pod of ended) {
      const index = this.#indexOf(pod);
      if (pod.phase === 'Succeeded' && index !== undefined) indexes.add(index);
    }
    return indexes;
  }

  #failedIndexes(judged: readonly { pod: IndexedPod; action: string }[]): IndexSet | undefined {
    const { backoffLimitPerIndex, completions = 0 } = this.spec;
    if (backoffLimitPerIndex === undefined) return undefined;
    const indexes = IndexSet.read(this.job.status?.failedIndexes, completions);
    for (const { pod, action } of judged) {
      const index = this.#indexOf(pod);
      if (index === undefined || action === 'Succeeded' || this.completed?.has(index)) continue;
      const spent = action === 'Count' && pod.indexFailures >= backoffLimitPerIndex;
      if (spent || action === 'FailIndex') indexes.add(index);
    }
    return indexes;
  }

  /**
   * Whether a failed pod is the only record of how often its index has failed. It is kept until its replacement,
   * which has the number in an annotation, exists.
   */
  #isMemory(pod: IndexedPod): boolean {
    const index = this.#indexOf(pod);
    if (!this.failedIndexes || index === undefined || isTrue(this.job, 'FailureTarget')) return false;
    if (this.completed?.has(index) || this.failedIndexes.has(index)) return false;
    return !this.pods.some(
      (other) =>
        other !== pod &&
        other.completionIndex === index &&
        (other.indexFailures > pod.indexFailures || isActive(other)),
    );
  }

  // The job

  #judgeJob(failure: string | undefined): JobVerdict | undefined {
    const { backoffLimit = 6, maxFailedIndexes, completions = 0 } = this.spec;
    for (const type of ['FailureTarget', 'SuccessCriteriaMet']) {
      const { status, reason = '', message = '' } = conditionOf(this.job.status, type) ?? {};
      if (status === 'True') return { succeeded: type === 'SuccessCriteriaMet', reason, message };
    }
    const failed = (reason: string, message: string): JobVerdict => ({ succeeded: false, reason, message });
    if (failure) return failed('PodFailurePolicy', failure);
    if (this.#failed > backoffLimit || this.#restartsExceed(backoffLimit))
      return failed('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
    if ((this.deadlineInMs ?? 1) <= 0)
      return failed('DeadlineExceeded', 'Job was active longer than specified deadline');
    const lost = this.failedIndexes?.size ?? 0;
    if (maxFailedIndexes !== undefined && lost > maxFailedIndexes)
      return failed(
        'MaxFailedIndexesExceeded',
        'Job has exceeded the specified maximal number of failed indexes',
      );
    if (lost > 0 && lost + this.#succeeded >= completions)
      return failed('FailedIndexes', 'Job has failed indexes');
    return this.#judgeSuccess();
  }

  #judgeSuccess(): JobVerdict | undefined {
    const { completions } = this.spec;
    const rule = this.completed && successRule(this.spec, this.completed);
    if (rule !== undefined)
      return { succeeded: true, reason: 'SuccessPolicy', message: `Matched rules at index ${rule}` };
    const reached =
      completions === undefined
        ? this.#succeeded > 0 && this.active.length === 0
        : this.#succeeded >= completions;
    return reached
      ? {
          succeeded: true,
          reason: 'CompletionsReached',
          message: 'Reached expected number of succeeded pods',
        }
      : undefined;
  }

  /** Restarts of containers count as failures, too, with restartPolicy OnFailure. */
  #restartsExceed(limit: number): boolean {
    if (this.spec.template?.spec?.restartPolicy !== 'OnFailure') return false;
    const restarts = this.pods
      .filter(({ phase }) => phase === 'Running' || phase === 'Pending')
      .reduce((sum, pod) => sum + pod.restarts, 0);
    return limit === 0 ? restarts > 0 : restarts >= limit;
  }

  /** Time until activeDeadlineSeconds is over; undefined without one. */
  get deadlineInMs(): number | undefined {
    const { activeDeadlineSeconds } = this.spec;
    const { startTime } = this.job.status ?? {};
    if (activeDeadlineSeconds === undefined || this.suspended || this.resumes) return undefined;
    return (
      (startTime ? Date.parse(startTime) : this.nowMs) + Number(activeDeadlineSeconds) * 1000 - this.nowMs
    );
  }

  /** Whether the job has just been resumed. */
  get resumes(): boolean {
    return !this.suspended && isTrue(this.job, 'Suspended');
  }

  /** Number of active pods there should be. */
  get #wanted(): number {
    const { parallelism = 1, completions } = this.spec;
    // Without completions (a work queue), no pods are created after the first success: the others finish.
    if (completions === undefined) return this.#succeeded > 0 ? this.active.length : parallelism;
    const done = this.#succeeded + (this.failedIndexes?.size ?? 0);
    return Math.min(parallelism, Math.max(completions - done, 0));
  }

  /** Surplus active pods: first those whose index has another pod or is finished. */
  get surplus(): IndexedPod[] {
    const seen = new Set<number>();
    const [useless, useful]: [IndexedPod[], IndexedPod[]] = [[], []];
    for (const pod of [...this.active].sort(
      (a, b) => a.createdMs - b.createdMs || (a.name < b.name ? -1 : 1),
    )) {
      const index = this.#indexOf(pod);
      const idle = isIndexed(this.spec) && (index === undefined || seen.has(index) || this.#isDone(index));
      (idle ? useless : useful).push(pod);
      if (index !== undefined) seen.add(index);
    }
    const surplus = Math.max(useful.length - this.#wanted, 0);
    return [...useless, ...victimsFirst(useful, this.nowMs).slice(0, surplus)].slice(0, burstMax);
  }

  #isDone(index: number): boolean {
    return (this.completed?.has(index) || this.failedIndexes?.has(index)) ?? false;
  }

  get missing(): Missing {
    const ending = this.#waitsForEnd ? this.terminating : [];
    const count = Math.min(this.#wanted - this.active.length - ending.length, burstMax);
    if (count <= 0) return { count: 0, indexes: undefined, waitMs: 0 };
    if (this.failedIndexes) return this.#missingIndexes(count, ending);
    const wait = waitAfter(this.pods, this.nowMs);
    if (wait > 0) return { count: 0, indexes: undefined, waitMs: wait };
    return isIndexed(this.spec)
      ? this.#missingIndexes(count, ending)
      : { count, indexes: undefined, waitMs: 0 };
  }

  /** The lowest indexes without a pod. With a back-off limit per index, each index also has its own back-off. */
  #missingIndexes(count: number, ending: readonly IndexedPod[]): Missing {
    const taken = new Set([...this.active, ...ending].map(({ completionIndex }) => completionIndex));
    const history = this.#indexHistory();
    const indexes: { index: number; failures: number }[] = [];
    let shortestMs = 0;
    const { completions = 0 } = this.spec;
    for (
      let index = this.#open(0);
      index < completions && indexes.length < count;
      index = this.#open(index + 1)
    ) {
      if (taken.has(index)) continue;
      const { failures, lastMs } = history.get(index) ?? { failures: 0, lastMs: 0 };
      const wait = waitMs(failures, lastMs, this.nowMs);
      if (wait === 0) indexes.push({ index, failures });
      else shortestMs = Math.min(shortestMs || wait, wait);
    }
    return { count: indexes.length, indexes, waitMs: shortestMs };
  }

  /** The lowest unfinished index from this one on. */
  #open(index: number): number {
    let open = index;
    while (this.#isDone(open)) {
      open = this.completed?.after(open) ?? open;
      open = this.failedIndexes?.after(open) ?? open;
    }
    return open;
  }

  /** Number of failures of each index, and the time of the last. */
  #indexHistory(): Map<number, { failures: number; lastMs: number }> {
    const history = new Map<number, { failures: number; lastMs: number }>();
    if (!this.failedIndexes) return history;
    for (const pod of this.pods) {
      const index = this.#indexOf(pod);
      if (index === undefined || pod.phase === 'Succeeded' || isActive(pod)) continue;
      const before = history.get(index) ?? { failures: 0, lastMs: 0 };
      const failures = pod.indexFailures + (this.#judge(pod).action === 'Ignore' ? 0 : 1);
      history.set(index, {
        failures: Math.max(before.failures, failures),
        lastMs: Math.max(before.lastMs, pod.finishedMs),
      });
    }
    return history;
  }
}
