/**
 * The cron job controller: creates jobs on the schedules of cron jobs, and deletes old finished ones.
 *
 * The name of a job is made from its cron job and the minute it is for. So a time that is processed twice, also after
 * a crash between creating a job and writing the status, still has one job.
 */

import { StatusError } from '../../api/errors/errors.ts';
import type { CronJob, JobV1, ObjectReference } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { decodeObject } from '../../api/model/decode.ts';
import { TimeZone } from '../../api/values/time-zone.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Registry } from '../../registry/registry.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import type { Entry } from '../../registry/view/entry.ts';
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
import { controllerOf } from '../shared/indexed-pod.ts';
import { controllerReference, refersTo } from '../shared/ownership.ts';
import { WorkQueue } from '../shared/work-queue.ts';
import { CronRun, jobReference, scheduledAnnotation } from './cron-run.ts';

/** Every cron job is processed at least this often, because a machine may sleep, and its clock may be changed. */
const lookEveryMs = 60_000;
/** Added to delays, because a timer may fire a little early. */
const timerSlackMs = 5;
const minuteMs = 60_000;

export const cronJobController: Controller = {
  name: 'cronjob',
  writer: 'cronjob-controller',
  start: (context) => new CronJobs(context).start(),
};

/** State of a cron job in memory, which may be lost. */
interface Memory {
  /** When the schedule was changed: earlier times do not count. */
  changedMs: number;
  /** Warnings of the last pass that still hold, so that each is reported once. */
  told: ReadonlySet<string>;
  /** Names of the jobs it controls. */
  readonly jobs: Set<string>;
}

/** A job that was created. `reference` is undefined when it existed before. */
interface Made {
  readonly atMs: number;
  readonly reference: ObjectReference | undefined;
}

/** Created with the first cron job: the runtime is slow for the first time zone. */
const localZone = (): TimeZone =>
  TimeZone.find(Intl.DateTimeFormat().resolvedOptions().timeZone) ?? TimeZone.find('UTC')!;

class CronJobs {
  readonly #registry: Registry;
  readonly #kind: Kind;
  readonly #jobs: Kind;
  readonly #recorder: EventRecorder;
  readonly #queue: WorkQueue;
  /** By uid. Jobs may be seen before their cron job, and after it is gone. */
  readonly #memories = new Map<string, Memory>();

  constructor(private readonly context: SharedContext) {
    const { registry, onError } = context;
    this.#registry = registry;
    this.#kind = registry.kinds.resource('batch/v1', 'cronjobs')!;
    this.#jobs = registry.kinds.resource('batch/v1', 'jobs')!;
    this.#recorder = recorderFor(context, 'cronjob-controller');
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#sync(key),
      onError: (_, error) => onError(error),
      // Retry periodically: a quota may get room without a change of the cron job.
      triesMax: Number.POSITIVE_INFINITY,
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'batch/cronjobs', (entry, previous) => this.#cronJobChanged(entry, previous)),
      observe(this.context, 'batch/jobs', (entry, previous) => this.#jobChanged(entry, previous)),
    ];
    return running(observations, [this.#queue], this.#recorder);
  }

  #memoryOf(uid: string): Memory {
    let memory = this.#memories.get(uid);
    if (!memory) {
      memory = { changedMs: Number.NEGATIVE_INFINITY, told: new Set(), jobs: new Set() };
      this.#memories.set(uid, memory);
    }
    return memory;
  }

  #cronJobChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const now = entry?.peek() as CronJob | undefined;
    const before = previous?.peek() as CronJob | undefined;
    const uid = before?.metadata.uid ?? '';
    if (before && now?.metadata.uid !== uid) this.#memories.delete(uid);
    else if (before && now && isRescheduled(before, now))
      this.#memoryOf(uid).changedMs = this.#registry.sources.nowMs();
    if (entry) this.#queue.add(keyOf(entry.namespace, entry.name));
  }

  #jobChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    for (const seen of [previous, entry]) {
      const controller = seen && controllerOf(seen.peek().metadata.ownerReferences);
      if (!seen || !controller || !refersTo(controller, this.#kind)) continue;
      const uid = controller.uid ?? '';
      if (seen === entry) this.#memoryOf(uid).jobs.add(seen.name);
      else this.#forget(uid, seen, controller.name ?? '');
      this.#queue.add(keyOf(seen.namespace, controller.name ?? ''));
    }
  }

  #forget(uid: string, { namespace, name }: Entry, owner: string): void {
    const memory = this.#memories.get(uid);
    memory?.jobs.delete(name);
    const isGone = this.#find(namespace, owner)?.peek().metadata.uid !== uid;
    if (memory?.jobs.size === 0 && isGone) this.#memories.delete(uid);
  }

  #find(namespace: string, name: string): Entry | undefined {
    return this.#registry.view.collection('batch/cronjobs').get(namespace, name);
  }

  #findJob(namespace: string, name: string): JobV1 | undefined {
    return this.#registry.view.collection('batch/jobs').get(namespace, name)?.object() as JobV1 | undefined;
  }

  /** The jobs that a cron job controls, and those that its status names. */
  #jobsOf({ metadata, status }: CronJob): JobV1[] {
    const { namespace = '', uid = '' } = metadata;
    const named = new Map(status?.active?.map((reference) => [reference.name ?? '', reference.uid]));
    const names = new Set([...(this.#memories.get(uid)?.jobs ?? []), ...named.keys()]);
    return [...names]
      .map((name) => this.#findJob(namespace, name))
      .filter((job) => job !== undefined)
      .filter(
        (job) =>
          controllerOf(job.metadata.ownerReferences)?.uid === uid ||
          named.get(job.metadata.name ?? '') === job.metadata.uid,
      );
  }

  async #sync(key: string): Promise<void> {
    await this.#registry.view.caughtUp();
    const entry = this.#find(...fromKey(key));
    if (!entry) return;
    const cronJob = entry.object() as CronJob;
    const { changedMs } = this.#memoryOf(cronJob.metadata.uid ?? '');
    const nowMs = this.#registry.sources.nowMs();
    const run = new CronRun(cronJob, this.#jobsOf(cronJob), nowMs, changedMs, localZone());
    if (cronJob.metadata.deletionTimestamp) return this.#report(entry, run, run.active, undefined);
    const failure = await this.#act(entry, run);
    if (failure && !isNamespaceTerminating(failure)) throw failure;
    const { nextMs } = run;
    if (nextMs === undefined) return;
    const waitMs = nextMs - this.#registry.sources.nowMs() + timerSlackMs;
    this.#queue.addAfter(key, Math.min(waitMs, lookEveryMs));
  }

  /** Creates and deletes jobs, and records the results. */
  async #act(entry: Entry, run: CronRun): Promise<unknown> {
    let failure: unknown;
    let { active } = run;
    let made: Made | undefined;
    try {
      for (const { metadata } of run.surplus) await this.#delete(run, metadata.name ?? '', metadata.uid);
    } catch (error) {
      failure = error;
    }
    try {
      if (run.startMs !== undefined) {
        active = await this.#replaced(run);
        made = await this.#make(entry, run, run.startMs);
        if (made?.reference) active = [...active, made.reference];
      }
    } catch (error) {
      failure = error;
    }
    await this.#report(entry, run, active, made?.atMs);
    return failure;
  }

  /** Deletes running jobs, if the concurrency policy is Replace. Returns the jobs that continue. */
  async #replaced(run: CronRun): Promise<readonly ObjectReference[]> {
    if (run.spec.concurrencyPolicy !== 'Replace') return run.active;
    for (const { name = '', uid } of run.active) await this.#delete(run, name, uid);
    return [];
  }

  /** Deletes a job, with background propagation to its pods. One that is gone already counts as deleted. */
  async #delete({ cronJob }: CronRun, name: string, uid: string | undefined): Promise<void> {
    const options = { preconditions: { uid }, propagationPolicy: 'Background' };
    const { namespace = '' } = cronJob.metadata;
    const target = targetOf({ kind: this.#jobs, namespace, name });
    try {
      if (await ifUnchanged(remove(this.context.writing, this.context.request('delete'), target, options)))
        this.#recorder.normal(cronJob, 'SuccessfulDelete', `Deleted job ${name}`);
    } catch (error) {
      this.#recorder.warning(cronJob, 'FailedDelete', `Deleted job: ${(error as Error).message}`);
      throw error;
    }
  }

  /** Creates the job of a time. Undefined: its name is taken by a job of another owner. */
  async #make(entry: Entry, run: CronRun, atMs: number): Promise<Made | undefined> {
    const { cronJob } = run;
    const job = jobOf(entry.kind, run, atMs);
    const name = job.metadata.name ?? '';
    try {
      const decoded = decodeObject(this.#jobs.model, job) as unknown as JobV1;
      const collection = collectionOf(this.#jobs, entry.namespace);
      const made = await create(this.context.writing, this.context.request('create'), collection, decoded);
      this.#recorder.normal(cronJob, 'SuccessfulCreate', `Created job ${name}`);
      return { atMs, reference: jobReference(made.object() as JobV1) };
    } catch (error) {
      if (isTaken(error)) return this.#madeBefore(cronJob, name, atMs);
      if (!isNamespaceTerminating(error))
        this.#recorder.warning(cronJob, 'FailedCreate', `Error creating job: ${(error as Error).message}`);
      throw error;
    }
  }

  /** A job that exists and is controlled by this cron job was created earlier, without the status being written. */
  #madeBefore({ metadata }: CronJob, name: string, atMs: number): Made | undefined {
    const job = this.#findJob(metadata.namespace ?? '', name);
    if (!job || controllerOf(job.metadata.ownerReferences)?.uid !== metadata.uid) return undefined;
    return { atMs, reference: undefined };
  }

  /** Writes the status, and records events for what is new. */
  async #report(
    entry: Entry,
    run: CronRun,
    active: readonly ObjectReference[],
    scheduledMs: number | undefined,
  ): Promise<void> {
    if (!(await writeStatus(this.context, entry, run.status(active, scheduledMs)))) return;
    const memory = this.#memories.get(run.cronJob.metadata.uid ?? '');
    const lasting = new Set<string>();
    for (const { type, reason, message, about } of run.news) {
      const what = about === undefined ? undefined : `${reason} ${about}`;
      if (what !== undefined) lasting.add(what);
      if (what !== undefined && memory?.told.has(what)) continue;
      if (type === 'Normal') this.#recorder.normal(run.cronJob, reason, message);
      else this.#recorder.warning(run.cronJob, reason, message);
    }
    if (memory) memory.told = lasting;
  }
}

const isRescheduled = ({ spec: before }: CronJob, { spec: now }: CronJob): boolean =>
  before?.schedule !== now?.schedule || before?.timeZone !== now?.timeZone;

const isTaken = (error: unknown): boolean =>
  error instanceof StatusError && error.status.reason === 'AlreadyExists';

/** The job for a time. */
function jobOf(kind: Kind, { cronJob, spec, zone }: CronRun, atMs: number): JobV1 {
  const { metadata, spec: template } = spec.jobTemplate ?? {};
  // Without a time zone, the time is in UTC.
  const told = spec.timeZone === undefined ? TimeZone.find('UTC')! : zone;
  return structuredClone({
    metadata: {
      name: `${cronJob.metadata.name}-${Math.floor(atMs / minuteMs)}`,
      labels: metadata?.labels,
      annotations: { ...metadata?.annotations, [scheduledAnnotation]: told.text(atMs) },
      ownerReferences: [controllerReference(kind, cronJob)],
    },
    spec: template,
  });
}
