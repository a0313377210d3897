/**
 * Job as extensions/v1beta1 had it: the same thing as in batch/v1, where it is stored, with fewer words. Its author
 * chooses the selector unless told otherwise; in batch/v1 it is the other way round.
 */
import { invalid, notSupported, required } from '../fielderror.ts';
import type { Job, JobSpec, JobStatus, JobV1 } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { type LabelSelectorObject, validateLabelSelectorObject } from '../labelselector.ts';
import { modelOf } from '../model.ts';
import type { ApiObject } from '../object.ts';
import { changedFields } from '../rules/change.ts';
import { collect, type Findings, negative } from '../rules/findings.ts';
import { jobCells, jobColumns } from '../rules/jobcolumns.ts';
import {
  labelFromTemplate,
  ownSelectorErrors,
  selectOwnPods,
  templateLabelErrors,
} from '../rules/jobselector.ts';
import { makerWarnings } from '../rules/podwarnings.ts';
import { defaultPodTemplate, templateErrors } from '../rules/template.ts';
import { batchJob, defaultJobSpec } from './batchjob.ts';

export const job = defineKind<Job>({
  kind: 'Job',
  resource: 'jobs',
  singular: 'job',
  group: 'extensions',
  version: 'v1beta1',
  table: 'extensions-v1beta1',
  namespaced: true,
  stored: { kind: batchJob, toStored, fromStored },
  subresources: batchJob.subresources,
  generationOf: 'spec',

  defaults(job) {
    const spec = (job.spec ??= {});
    const template = (spec.template ??= {});
    if (spec.parallelism === undefined) spec.completions ??= 1;
    spec.parallelism ??= 1;
    defaultPodTemplate(template);
    if (spec.autoSelector) return;
    const labels = template.metadata?.labels;
    if (labels) spec.selector ??= { matchLabels: { ...labels } };
    labelFromTemplate(job);
  },

  prepareForCreate(job) {
    if (job.spec?.autoSelector) selectOwnPods(job);
    labelFromTemplate(job);
  },

  prepareForUpdate: labelFromTemplate,

  validate: (job) => collect(jobErrors(job)),

  validateUpdate: (job, old) => collect(changeErrors(job.spec ?? {}, old.spec ?? {})),

  validateStatusUpdate: ({ status }) => collect(statusErrors(status ?? {})),

  warnings: (job, old) => makerWarnings(job, old, job.spec?.template, 'spec.template'),

  selectableFields: { 'status.successful': (job) => String(job.status?.succeeded ?? 0) },
  unknownField: (path) => `field label "${path}" not supported for Job`,

  columns: jobColumns,
  cells: jobCells,
});

/** A selector that is neither asked for nor refused is its author's; the difference is not kept. */
function toStored({ spec = {}, status = {}, ...rest }: Job, old: ApiObject | undefined): JobV1 {
  const { autoSelector, parallelism, completions, activeDeadlineSeconds, selector, template } = spec;
  const { conditions, startTime, completionTime, active, succeeded, failed } = status;
  const before = old as JobV1 | undefined;
  const stored = {
    ...before?.spec,
    parallelism,
    completions,
    activeDeadlineSeconds,
    selector,
    template,
    manualSelector: !autoSelector,
  };
  defaultJobSpec(stored);
  return {
    ...rest,
    spec: stored,
    status: { ...before?.status, conditions, startTime, completionTime, active, succeeded, failed },
  };
}

function fromStored(object: ApiObject): Job {
  const { spec = {}, status = {}, ...rest } = object as JobV1;
  const { manualSelector, parallelism, completions, activeDeadlineSeconds, selector, template } = spec;
  const { conditions, startTime, completionTime, active, succeeded, failed } = status;
  return {
    ...rest,
    spec: {
      parallelism,
      completions,
      selector,
      template,
      activeDeadlineSeconds,
      autoSelector: manualSelector ? undefined : true,
    },
    status: { conditions, startTime, completionTime, active, succeeded, failed },
  };
}

function* jobErrors(job: Job): Findings {
  const { spec = {} } = job;
  for (const name of ['parallelism', 'completions', 'activeDeadlineSeconds'] as const)
    yield* negative(`spec.${name}`, spec[name]);
  const { template = {} } = spec;
  yield* templateErrors(template, 'spec.template');
  const { restartPolicy } = template.spec ?? {};
  if (!restartPolicy || restartPolicy === 'Always')
    yield required('spec.template.spec.restartPolicy', 'valid values: "OnFailure", "Never"');
  else if (restartPolicy !== 'OnFailure' && restartPolicy !== 'Never')
    yield notSupported('spec.template.spec.restartPolicy', restartPolicy, ['OnFailure', 'Never']);
  if (!spec.selector) yield required('spec.selector');
  yield* validateLabelSelectorObject(spec.selector as LabelSelectorObject | undefined, 'spec.selector');
  yield* templateLabelErrors(job);
  if (spec.autoSelector) yield* ownSelectorErrors(job);
}

/** What a job is to do is settled when it is made; how fast may change. */
function* changeErrors(spec: JobSpec, old: JobSpec): Findings {
  for (const name of changedFields(modelOf('JobSpec', 'extensions-v1beta1'), spec, old))
    if (name === 'completions' || name === 'selector' || name === 'template')
      yield invalid(`spec.${name}`, spec[name] ?? null, 'field is immutable');
}

function* statusErrors(status: JobStatus): Findings {
  for (const name of ['active', 'succeeded', 'failed'] as const)
    yield* negative(`status.${name}`, status[name]);
}
