/** CronJob: creates jobs on a schedule. */

import { invalid, notSupported, required } from '../../errors/field-error.ts';
import type { CronJob, CronJobSpec, JobTemplateSpec } from '../../generated/types.ts';
import { type Column, defineKind, type KindForm } from '../../kind/kind.ts';
import { formatLabelSelectorObject, type LabelSelectorObject } from '../../kind/label-selector.ts';
import { status } from '../../kind/subresource.ts';
import { defaultFailurePolicy } from '../../rules/job/job-policy.ts';
import { changedTemplateWarnings, isChanged, nameWarnings } from '../../rules/pod-warnings/pod-warnings.ts';
import {
  ageCell,
  ageColumn,
  containersCell,
  containersColumn,
  imagesCell,
  imagesColumn,
  nameColumn,
  orNone,
  selectorColumn,
  wide,
} from '../../rules/shared/columns.ts';
import { choice, collect, type Findings, negative } from '../../rules/shared/findings.ts';
import { defaultPodTemplate } from '../../rules/workload/template.ts';
import { parseSchedule, ScheduleError } from '../../values/cron-schedule.ts';
import { elapsed } from '../../values/elapsed.ts';
import { TimeZone } from '../../values/time-zone.ts';
import { jobSpecErrors, sizeWarnings } from './batch-job.ts';

/** A job's name is that of its cron job, a hyphen and ten digits, and must fit into a label of 63 characters. */
const nameCharactersMax = 52;
const policies = ['Allow', 'Forbid', 'Replace'];
const jobPath = 'spec.jobTemplate.spec';

const columns: readonly Column[] = [
  nameColumn,
  { name: 'Schedule', description: 'When jobs are made.' },
  { name: 'Timezone', description: 'Time zone of the schedule; that of the controller when there is none.' },
  { name: 'Suspend', type: 'boolean', description: 'Whether no more jobs are made.' },
  { name: 'Active', type: 'integer', description: 'How many jobs run.' },
  { name: 'Last Schedule', description: 'How long ago the last job was to be made.' },
  ageColumn,
  wide(containersColumn),
  wide(imagesColumn),
  wide(selectorColumn),
];

/** Shared by all versions. */
export const cronJobForm: KindForm<CronJob> = {
  kind: 'CronJob',
  resource: 'cronjobs',
  singular: 'cronjob',
  shortNames: ['cj'],
  categories: ['all'],
  group: 'batch',
  version: 'v1',
  table: 'batch-v1',
  namespaced: true,
  subresources: [status()],
  generationOf: 'spec',

  // Defaults of the job itself are set when it is created.
  defaults(cronJob) {
    const spec = (cronJob.spec ??= {});
    spec.concurrencyPolicy ||= 'Allow';
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    const job = ((spec.jobTemplate ??= {}).spec ??= {});
    defaultPodTemplate((job.template ??= {}));
    defaultFailurePolicy(job);
  },

  validate: (cronJob, old) => collect(cronJobErrors(cronJob, old)),

  warnings(cronJob, old) {
    const job = cronJob.spec?.jobTemplate?.spec ?? {};
    return [
      ...nameWarnings(cronJob, old, 'Pod names and hostnames'),
      ...(isChanged(cronJob, old) ? sizeWarnings(job, jobPath) : []),
      ...changedTemplateWarnings(cronJob, old, job.template, `${jobPath}.template`),
      ...(old ? zoneWarnings(cronJob.spec?.schedule) : []),
    ];
  },

  columns,
  cells(cronJob) {
    const { schedule, timeZone, suspend, jobTemplate } = cronJob.spec ?? {};
    const { active = [], lastScheduleTime } = cronJob.status ?? {};
    const containers = jobTemplate?.spec?.template?.spec?.containers;
    return [
      cronJob.metadata.name,
      schedule ?? '',
      orNone(timeZone),
      suspend === undefined ? '<unset>' : suspend ? 'True' : 'False',
      active.length,
      lastScheduleTime ? elapsed(lastScheduleTime) : '<none>',
      ageCell(cronJob),
      containersCell(containers),
      imagesCell(containers),
      formatLabelSelectorObject(jobTemplate?.spec?.selector as LabelSelectorObject | undefined),
    ];
  },
};

export const cronJob = defineKind(cronJobForm);

function* cronJobErrors({ metadata, spec = {} }: CronJob, old: CronJob | undefined): Findings {
  if (!spec.schedule) yield required('spec.schedule');
  else yield* scheduleErrors(spec.schedule);
  yield* negative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds);
  // An unchanged time zone is not checked again: a newer runtime may have dropped it.
  if (spec.timeZone !== undefined && spec.timeZone !== old?.spec?.timeZone)
    yield* timeZoneErrors(spec.timeZone);
  yield* choice('spec.concurrencyPolicy', spec.concurrencyPolicy, policies);
  yield* jobTemplateErrors(spec.jobTemplate ?? {});
  yield* limitErrors(spec);
  const { name = '' } = metadata;
  if (!old && name.length > nameCharactersMax)
    yield invalid('metadata.name', name, `must be no more than ${nameCharactersMax} characters`);
}

function* scheduleErrors(schedule: string): Findings {
  try {
    parseSchedule(schedule.replace(/^(CRON_)?TZ=\S* +/, ''));
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    yield invalid('spec.schedule', schedule, error.message);
  }
  if (schedule.includes('TZ'))
    yield invalid(
      'spec.schedule',
      schedule,
      'cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    );
}

/** Names are checked segment by segment, because Kubernetes servers look them up as files. */
function* timeZoneErrors(timeZone: string): Findings {
  const path = 'spec.timeZone';
  const parts = timeZone.split('/');
  if (timeZone === '') yield invalid(path, timeZone, 'timeZone must be nil or non-empty string');
  else if (!parts.every((part) => /^(?!-|\.{1,2}$)[A-Za-z.\-_0-9+]{1,14}$/.test(part)))
    yield invalid(path, timeZone, `unknown time zone ${timeZone}`);
  else if (timeZone.toLowerCase() === 'local')
    yield invalid(
      path,
      timeZone,
      'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    );
  else if (!TimeZone.find(timeZone)) yield invalid(path, timeZone, `unknown time zone ${timeZone}`);
}

/** Each job gets a generated selector. */
function* jobTemplateErrors({ spec = {} }: JobTemplateSpec): Findings {
  yield* jobSpecErrors(spec, jobPath);
  if (spec.selector) yield invalid(`${jobPath}.selector`, spec.selector, '`selector` will be auto-generated');
  if (spec.manualSelector) yield notSupported(`${jobPath}.manualSelector`, true, ['nil', 'false']);
}

function* limitErrors(spec: CronJobSpec): Findings {
  for (const name of ['successfulJobsHistoryLimit', 'failedJobsHistoryLimit'] as const)
    yield* negative(`spec.${name}`, spec[name]);
}

/** A zone in the schedule is refused when a cron job is made, and kept when it was there before. */
const zoneWarnings = (schedule = ''): string[] =>
  schedule.includes('TZ')
    ? [
        'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
      ]
    : [];
