/**
 * A cron run: one evaluation of a cron job and its jobs, without changing anything. It computes which jobs run, which
 * finished ones are to be deleted, whether a job is due, and the new status.
 */

import type {
  CronJob,
  CronJobSpec,
  CronJobStatus,
  JobV1,
  ObjectReference,
} from '../../api/generated/types.ts';
import { type CronSchedule, parseSchedule, ScheduleError } from '../../api/values/cron-schedule.ts';
import { timeToMs } from '../../api/values/time.ts';
import { TimeZone } from '../../api/values/time-zone.ts';
import { isTrue } from './job-run.ts';

/** The time a job was created for; set on every job of this controller. */
export const scheduledAnnotation = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

/** More missed times than this indicate a problem. */
const missedMax = 100;

/** An event to record. A lasting condition is reported once, as long as it is about the same thing. */
export interface News {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly about?: string;
}

const endOf = (job: JobV1): 'Complete' | 'Failed' | undefined =>
  (['Complete', 'Failed'] as const).find((type) => isTrue(job, type));

export const jobReference = ({ metadata }: JobV1): ObjectReference => ({
  kind: 'Job',
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
  apiVersion: 'batch/v1',
  resourceVersion: metadata.resourceVersion,
});

export class CronRun {
  readonly spec: CronJobSpec;
  /** Running jobs, as the status lists them. */
  readonly active: readonly ObjectReference[];
  /** Finished jobs beyond the history limits. */
  readonly surplus: readonly JobV1[];
  readonly lastSuccessfulTime: string | undefined;
  readonly zone: TimeZone;
  /** The time for which a job is due now. */
  readonly startMs: number | undefined;
  /** Time of the next evaluation, if nothing else happens. */
  readonly nextMs: number | undefined;
  /** Events about jobs since the last evaluation, and about problems. */
  readonly news: readonly News[];
  readonly #schedule: CronSchedule | undefined;
  readonly #newestMs: number | undefined;

  /**
   * `jobs` are those that the cron job controls, and those in its status. Times up to `sinceMs`, when the schedule
   * was changed, do not count, if that is known. `localZone` is for schedules without a time zone.
   */
  constructor(
    readonly cronJob: CronJob,
    private readonly jobs: readonly JobV1[],
    private readonly nowMs: number,
    private readonly sinceMs: number,
    localZone: TimeZone,
  ) {
    this.spec = cronJob.spec ?? {};
    const news: News[] = [];
    this.active = [...this.#known(news), ...this.#forgotten(news)];
    this.surplus = [
      ...this.#surplus('Complete', this.spec.successfulJobsHistoryLimit),
      ...this.#surplus('Failed', this.spec.failedJobsHistoryLimit),
    ];
    this.lastSuccessfulTime = this.#lastSuccess();
    const { timeZone, schedule = '' } = this.spec;
    const zone = timeZone === undefined ? localZone : TimeZone.find(timeZone);
    if (!zone)
      news.push(lasting('UnknownTimeZone', `invalid timeZone: "${timeZone}": unknown time zone ${timeZone}`));
    this.zone = zone ?? localZone;
    this.#schedule = zone && this.#read(schedule, news);
    this.#newestMs = this.#schedule?.backwards(this.#baseMs, nowMs, this.zone).next().value || undefined;
    this.startMs = this.spec.suspend ? undefined : this.#start(news);
    this.nextMs = this.spec.suspend ? undefined : this.#next(news);
    this.news = news;
  }

  /** The status, with the running jobs and the time of the newest. */
  status(active: readonly ObjectReference[], scheduledMs: number | undefined): CronJobStatus {
    const { lastScheduleTime } = this.cronJob.status ?? {};
    return {
      ...(active.length ? { active: [...active] } : {}),
      lastScheduleTime:
        scheduledMs === undefined
          ? lastScheduleTime
          : new Date(scheduledMs).toISOString().replace(/\.\d+/, ''),
      lastSuccessfulTime: this.lastSuccessfulTime,
    };
  }

  // Jobs

  *#known(news: News[]): Generator<ObjectReference> {
    const jobs = new Map(this.jobs.map((job) => [job.metadata.uid, job]));
    for (const reference of this.cronJob.status?.active ?? []) {
      const job = jobs.get(reference.uid);
      const end = job && endOf(job);
      if (!job) news.push(normal('MissingJob', `Active job went missing: ${reference.name}`));
      else if (end)
        news.push(normal('SawCompletedJob', `Saw completed job: ${reference.name}, condition: ${end}`));
      else yield reference;
    }
  }

  /**
   * Running jobs that are not in the status: it was not written after they were created, or another client created
   * them.
   */
  *#forgotten(news: News[]): Generator<ObjectReference> {
    const known = new Set(this.cronJob.status?.active?.map(({ uid }) => uid));
    for (const job of this.jobs) {
      const { uid, name, annotations, deletionTimestamp } = job.metadata;
      if (known.has(uid) || deletionTimestamp || endOf(job)) continue;
      if (annotations?.[scheduledAnnotation]) yield jobReference(job);
      else
        news.push({
          ...lasting('UnexpectedJob', `Saw a job that the controller did not create or forgot: ${name}`),
          about: uid,
        });
    }
  }

  /** The oldest of the jobs with this outcome. */
  #surplus(end: 'Complete' | 'Failed', limit: number | undefined): JobV1[] {
    if (limit === undefined) return [];
    const ended = this.jobs.filter((job) => endOf(job) === end && !job.metadata.deletionTimestamp);
    return ended.sort(byStart).slice(0, Math.max(0, ended.length - limit));
  }

  #lastSuccess(): string | undefined {
    const times = this.jobs
      .filter((job) => endOf(job) === 'Complete')
      .map(({ status }) => status?.completionTime);
    const all = [this.cronJob.status?.lastSuccessfulTime, ...times].filter((time) => time !== undefined);
    return all.sort().at(-1);
  }

  // Times

  #read(schedule: string, news: News[]): CronSchedule | undefined {
    try {
      return parseSchedule(schedule);
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      const message = `unparseable schedule: ${JSON.stringify(schedule)} : ${error.message}`;
      news.push(lasting('UnparseableSchedule', message));
      return undefined;
    }
  }

  /** Only times after this one may need a job. */
  get #baseMs(): number {
    const { metadata, status } = this.cronJob;
    const last = status?.lastScheduleTime ?? metadata.creationTimestamp;
    return Math.max(last ? timeToMs(last) : this.nowMs, this.sinceMs);
  }

  /** The newest time for which a job should have been created, unless something prevents it. */
  #start(news: News[]): number | undefined {
    const atMs = this.#newestMs;
    if (atMs === undefined) return undefined;
    const about = String(atMs);
    const deadlineMs = Number(this.spec.startingDeadlineSeconds ?? Number.POSITIVE_INFINITY) * 1000;
    if (atMs + deadlineMs < this.nowMs) {
      const text = new Date(atMs).toUTCString().replace('GMT', '+0000');
      const message = `Missed scheduled time to start a job: ${text}`;
      news.push({ type: 'Warning', reason: 'MissSchedule', message, about });
      return undefined;
    }
    if (this.#missedTooMany(deadlineMs)) {
      const message =
        'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew';
      news.push({ type: 'Warning', reason: 'TooManyMissedTimes', message, about });
    }
    if (this.spec.concurrencyPolicy !== 'Forbid' || this.active.length === 0) return atMs;
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    news.push({ type: 'Normal', reason: 'JobAlreadyActive', message, about });
    return undefined;
  }

  /** The next time; a schedule such as `0 0 30 2 *` has none, which is reported. */
  #next(news: News[]): number | undefined {
    const nextMs = this.#schedule?.next(this.#newestMs ?? this.#baseMs, this.zone);
    if (this.#schedule && nextMs === undefined)
      news.push(lasting('InvalidSchedule', `invalid schedule: ${this.spec.schedule} : it never comes`));
    return nextMs;
  }

  #missedTooMany(deadlineMs: number): boolean {
    const fromMs = Math.max(this.#baseMs, this.nowMs - deadlineMs);
    let count = 0;
    for (const atMs of this.#schedule?.backwards(this.#baseMs, this.nowMs, this.zone) ?? [])
      if (atMs <= fromMs || ++count > missedMax) break;
    return count > missedMax;
  }
}

const normal = (reason: string, message: string): News => ({ type: 'Normal', reason, message });
const lasting = (reason: string, message: string): News => ({
  type: 'Warning',
  reason,
  message,
  about: message,
});

/** Jobs that have never started come last. */
function byStart(a: JobV1, b: JobV1): number {
  const [one, other] = [a, b].map(({ status }) => status?.startTime ?? '~');
  if (one !== other) return one! < other! ? -1 : 1;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}
