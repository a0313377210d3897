/**
 * The job controller: runs pods until enough of them have succeeded, too many have failed, or the deadline has
 * passed. A finished job is not changed any more, and deleted after its ttlSecondsAfterFinished.
 */
import type { JobV1, Pod } from '../../api/generated/types.ts';
import {
  type LabelSelector,
  type LabelSelectorObject,
  selectorFromObject,
} from '../../api/kind/label-selector.ts';
import { isIndexed } from '../../api/rules/job/job-policy.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Registry } from '../../registry/registry.ts';
import { targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { actingAs } from '../../registry/writers.ts';
import {
  type Controller,
  fromKey,
  ifUnchanged,
  isNamespaceTerminating,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
  writeStatus,
} from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import type { IndexedPod } from '../shared/indexed-pod.ts';
import { changePod, claimPods } from '../shared/ownership.ts';
import { PodControl } from '../shared/pod-control.ts';
import { Selectors } from '../shared/selectors.ts';
import { slowStart } from '../shared/slow-start.ts';
import { WorkQueue } from '../shared/work-queue.ts';
import { number, track } from './job-pod.ts';
import { conditionOf, isTracked, isTrue, JobRun, trackingFinalizer } from './job-run.ts';
import { statusAfter } from './job-status.ts';

/** Jobs with another managedBy are ignored. */
const ownManager = 'kubernetes.io/job-controller';

export const jobController: Controller = {
  name: 'job',
  writer: 'job-controller',
  start: (context) => new Jobs(context).start(),
};

const selectorOf = ({ spec = {} }: JobV1): LabelSelector =>
  selectorFromObject(spec.selector as LabelSelectorObject | undefined);

const isOurs = ({ spec }: JobV1): boolean => (spec?.managedBy ?? ownManager) === ownManager;
const hasEnded = (job: JobV1): boolean => isTrue(job, 'Complete') || isTrue(job, 'Failed');

class Jobs {
  readonly #registry: Registry;
  readonly #recorder: EventRecorder;
  readonly #control: PodControl;
  readonly #queue: WorkQueue;
  /** Pods with the finalizer of a job that no longer counts them. */
  readonly #strays: WorkQueue;
  /** Jobs that may adopt pods. */
  readonly #selectors = new Selectors<JobV1>((job) =>
    isOurs(job) && !hasEnded(job) ? selectorOf(job) : undefined,
  );

  constructor(private readonly context: SharedContext) {
    const { registry } = context;
    const onError = (_: string, error: Error): void => context.onError(error);
    this.#registry = registry;
    this.#recorder = recorderFor(context, 'job-controller');
    this.#control = new PodControl(context, this.#recorder);
    // Retry periodically: a quota may get room, or a missing account appear, without a change of the job.
    const triesMax = Number.POSITIVE_INFINITY;
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#sync(key),
      onError,
      triesMax,
    });
    this.#strays = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#releaseStray(key),
      onError,
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'batch/jobs', (entry, previous) => this.#jobChanged(entry, previous)),
      this.context.pods.observe((pod, previous) => this.#podChanged(pod, previous)),
    ];
    return running(observations, [this.#queue, this.#strays], this.#recorder);
  }

  #jobChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    this.#selectors.observe(entry, previous);
    if (entry) this.#queue.add(keyOf(entry.namespace, entry.name));
    const job = (entry ?? previous)!.object() as JobV1;
    if (entry && !(isOurs(job) && hasEnded(job))) return;
    for (const pod of this.#ownPods(job))
      if (isTracked(pod)) this.#strays.add(keyOf(pod.namespace, pod.name));
  }

  #podChanged(pod: IndexedPod | undefined, previous: IndexedPod | undefined): void {
    for (const { namespace, controller } of [pod, previous].filter((one) => one !== undefined))
      if (controller?.kind === 'Job') this.#queue.add(keyOf(namespace, controller.name ?? ''));
    if (!pod) return;
    if (isTracked(pod) && !this.#jobOf(pod)) this.#strays.add(keyOf(pod.namespace, pod.name));
    else if (!pod.controller)
      for (const name of this.#selectors.selecting(pod.namespace, pod.labels))
        this.#queue.add(keyOf(pod.namespace, name));
  }

  #ownPods({ metadata }: JobV1): IndexedPod[] {
    return this.context.pods.controlledBy(metadata.namespace ?? '', metadata.uid ?? '');
  }

  #find(namespace: string, name: string): Entry | undefined {
    return this.#registry.view.collection('batch/jobs').get(namespace, name);
  }

  /** The job that counts a pod. */
  #jobOf({ namespace, controller }: IndexedPod): JobV1 | undefined {
    if (controller?.kind !== 'Job') return undefined;
    const job = this.#find(namespace, controller.name ?? '')?.object() as JobV1 | undefined;
    if (job?.metadata.uid !== controller.uid) return undefined;
    return job && !(isOurs(job) && hasEnded(job)) ? job : undefined;
  }

  async #releaseStray(key: string): Promise<void> {
    await this.#registry.view.caughtUp();
    const pod = this.context.pods.get(...fromKey(key));
    if (pod && isTracked(pod) && !this.#jobOf(pod)) await this.#release(pod);
  }

  #release(pod: IndexedPod): Promise<boolean> {
    return changePod(this.context, pod, ({ metadata }) => {
      metadata.finalizers = metadata.finalizers?.filter((one) => one !== trackingFinalizer);
      return true;
    });
  }

  async #sync(key: string): Promise<void> {
    await this.#registry.view.caughtUp();
    const entry = this.#find(...fromKey(key));
    const job = entry?.object() as JobV1 | undefined;
    if (!entry || !job || !isOurs(job)) return;
    if (hasEnded(job)) return this.#expire(key, job);
    // A job that is being deleted counts no more pods: their finalizers are removed.
    if (job.metadata.deletionTimestamp) {
      const pods = this.#ownPods(job).filter(isTracked);
      await Promise.all(pods.map((pod) => this.#release(pod)));
      return;
    }
    const claim = { entry, owner: job, selector: selectorOf(job), adopted: track };
    const run = new JobRun(job, await claimPods(this.context, claim), this.#registry.sources.nowMs());
    const failure = await this.#act(key, entry, run);
    await this.#report(key, entry, run, await claimPods(this.context, claim));
    if (failure && !isNamespaceTerminating(failure)) throw failure;
  }

  /** Creates and deletes pods. */
  async #act(key: string, entry: Entry, run: JobRun): Promise<Error | undefined> {
    // Pods that are deleted because the job failed count as failed; other deleted pods do not count.
    if (run.verdict) return this.#delete(run, run.active, !run.verdict.succeeded);
    if (run.suspended) return this.#delete(run, run.active, false);
    if (run.deadlineInMs !== undefined) this.#queue.addAfter(key, run.deadlineInMs);
    const { surplus } = run;
    if (surplus.length) return this.#delete(run, surplus, false);
    const { count, indexes, waitMs } = run.missing;
    if (waitMs > 0) this.#queue.addAfter(key, waitMs);
    const { job } = run;
    return slowStart(count, (i) =>
      this.#control.create(entry.kind, job, run.spec.template ?? {}, (pod: Pod) => {
        track(pod);
        const at = indexes?.[i];
        if (at && isIndexed(run.spec)) number(job, pod, at.index, at.failures);
      }),
    );
  }

  async #delete({ job }: JobRun, pods: readonly IndexedPod[], counted: boolean): Promise<Error | undefined> {
    const results = await Promise.allSettled(
      pods.map(async (pod) => {
        if (!counted) await this.#release(pod);
        await this.#control.delete(job, pod);
      }),
    );
    const failed = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    return failed?.reason as Error | undefined;
  }

  /** Writes the status, then removes the finalizers of the pods in it, and records events. */
  async #report(key: string, entry: Entry, run: JobRun, pods: readonly IndexedPod[]): Promise<void> {
    const { status, news } = statusAfter(run, pods, this.#registry.sources.nowMs());
    if (!(await writeStatus(this.context, entry, status))) return;
    for (const { type, reason, message } of news)
      if (type === 'Normal') this.#recorder.normal(run.job, reason, message);
      else this.#recorder.warning(run.job, reason, message);
    await Promise.all(run.releasable.map((pod) => this.#release(pod)));
    if (run.releasable.length || run.cut) this.#queue.add(key);
  }

  /** Deletes a finished job, with its pods, after ttlSecondsAfterFinished. */
  async #expire(key: string, { metadata, spec, status }: JobV1): Promise<void> {
    const seconds = spec?.ttlSecondsAfterFinished;
    const end = conditionOf(status, 'Complete') ?? conditionOf(status, 'Failed');
    if (seconds === undefined || metadata.deletionTimestamp || !end?.lastTransitionTime) return;
    const inMs = Date.parse(end.lastTransitionTime) + seconds * 1000 - this.#registry.sources.nowMs();
    if (inMs > 0) {
      this.#queue.addAfter(key, inMs);
      return;
    }
    const { namespace = '', name = '', uid, resourceVersion } = metadata;
    const kind = this.#registry.kinds.resource('batch/v1', 'jobs')!;
    const target = targetOf({ kind, namespace, name });
    // In Kubernetes this is a separate controller.
    const request = actingAs('ttl-after-finished-controller', 'delete');
    await ifUnchanged(
      remove(this.context.writing, request, target, {
        preconditions: { uid, resourceVersion },
        propagationPolicy: 'Foreground',
      }),
    );
  }
}
