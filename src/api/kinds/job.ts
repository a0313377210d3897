/** Job: runs pods until enough of them have succeeded. */
import { invalid, key, notSupported, required } from '../fielderror.ts';
import type { Job, JobSpec, JobStatus, ObjectMeta, PodTemplateSpec } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';
import {
  formatLabelSelectorObject,
  type LabelSelector,
  type LabelSelectorObject,
  SelectorError,
  selectorFromObject,
  validateLabelSelectorObject,
} from '../labelselector.ts';
import { modelOf } from '../model.ts';
import { durationText, timeToMs } from '../time.ts';
import { changedFields } from './change.ts';
import {
  ageCell,
  ageColumn,
  containersCell,
  containersColumn,
  imagesCell,
  imagesColumn,
  nameColumn,
  selectorColumn,
  wide,
} from './columns.ts';
import { collect, type Findings, negative } from './findings.ts';
import { makerWarnings } from './podwarnings.ts';
import { defaultPodTemplate, templateErrors } from './template.ts';

const uidLabel = 'batch.kubernetes.io/controller-uid';
const uidLabels = [uidLabel, 'controller-uid'];
const nameLabels = ['batch.kubernetes.io/job-name', 'job-name'];
/** Conditions in the order in which they say how a job is doing; being deleted comes after the first two. */
const endings = ['Complete', 'Failed'];
const stages = ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'];

export const job = defineKind<Job>({
  kind: 'Job',
  resource: 'jobs',
  singular: 'job',
  categories: ['all'],
  group: 'extensions',
  version: 'v1beta1',
  table: 'extensions-v1beta1',
  namespaced: true,
  subresources: [statusSubresource],
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
    if (job.spec?.autoSelector) selectOwnPods(job.spec, job.metadata);
    labelFromTemplate(job);
  },

  prepareForUpdate: labelFromTemplate,

  validate: (job) => collect(jobErrors(job)),

  validateUpdate: (job, old) => collect(changeErrors(job.spec ?? {}, old.spec ?? {})),

  validateStatusUpdate: ({ status }) => collect(statusErrors(status ?? {})),

  warnings: (job, old) => makerWarnings(job, old, job.spec?.template, 'spec.template'),

  selectableFields: { 'status.successful': (job) => String(job.status?.succeeded ?? 0) },
  unknownField: (path) => `field label "${path}" not supported for Job`,

  columns: [
    nameColumn,
    { name: 'Status', description: 'How the job is doing.' },
    { name: 'Completions', description: 'Pods that have succeeded, out of all that must.' },
    { name: 'Duration', description: 'How long the job has been running, or took.' },
    ageColumn,
    wide(containersColumn),
    wide(imagesColumn),
    wide(selectorColumn),
  ],
  cells(job, nowMs) {
    const containers = job.spec?.template?.spec?.containers;
    return [
      job.metadata.name,
      statusCell(job),
      completionsCell(job),
      durationCell(job, nowMs),
      ageCell(job, nowMs),
      containersCell(containers),
      imagesCell(containers),
      formatLabelSelectorObject(job.spec?.selector as LabelSelectorObject | undefined),
    ];
  },
});

/** A job without labels has those of its pods. */
function labelFromTemplate({ metadata, spec }: Job): void {
  const labels = spec?.template?.metadata?.labels;
  if (labels) metadata.labels ??= { ...labels };
}

/** Labels that no other job's pods have, and a selector for them. What the client chose itself stays. */
function selectOwnPods(spec: JobSpec, { name = '', uid = '' }: ObjectMeta): void {
  const template = (spec.template ??= {});
  const labels = ((template.metadata ??= {}).labels ??= {});
  for (const label of nameLabels) if (!Object.hasOwn(labels, label)) labels[label] = name;
  for (const label of uidLabels) if (!Object.hasOwn(labels, label)) labels[label] = uid;
  const matched = ((spec.selector ??= {}).matchLabels ??= {});
  if (!Object.hasOwn(matched, uidLabel)) matched[uidLabel] = uid;
}

function* jobErrors({ metadata, spec = {} }: Job): Findings {
  for (const name of ['parallelism', 'completions', 'activeDeadlineSeconds'] as const)
    yield* negative(`spec.${name}`, spec[name]);
  const { template = {} } = spec;
  yield* templateErrors(template, 'spec.template');
  const { restartPolicy } = template.spec ?? {};
  if (!restartPolicy || restartPolicy === 'Always')
    yield required('spec.template.spec.restartPolicy', 'valid values: "OnFailure", "Never"');
  else if (restartPolicy !== 'OnFailure' && restartPolicy !== 'Never')
    yield notSupported('spec.template.spec.restartPolicy', restartPolicy, ['OnFailure', 'Never']);
  yield* selectorErrors(spec, template, metadata);
}

function* selectorErrors(spec: JobSpec, template: PodTemplateSpec, meta: ObjectMeta): Findings {
  const object = spec.selector as LabelSelectorObject | undefined;
  const labels = template.metadata?.labels;
  if (!object) yield required('spec.selector');
  yield* validateLabelSelectorObject(object, 'spec.selector');
  const selector = readSelector(object);
  if (!selector) return;
  if (!selector.matches(labels))
    yield invalid(
      'spec.template.metadata.labels',
      labels ?? null,
      '`selector` does not match template `labels`',
    );
  if (!spec.autoSelector || !object) return;
  const expected = ownLabels(meta);
  for (const [label, value] of Object.entries(expected)) {
    const path = key('spec.template.metadata.labels', label);
    if (!labels || !Object.hasOwn(labels, label)) yield required(path, `must be '${value}'`);
    else if (labels[label] !== value) yield invalid(path, labels, `must be '${value}'`);
  }
  if (!selector.matches(expected)) yield invalid('spec.selector', object, '`selector` not auto-generated');
}

function ownLabels({ name = '', uid = '' }: ObjectMeta): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const label of nameLabels) labels[label] = name;
  for (const label of uidLabels) labels[label] = uid;
  return labels;
}

/** Undefined when it makes no sense; validation has said so already. */
function readSelector(object: LabelSelectorObject | undefined): LabelSelector | undefined {
  try {
    return selectorFromObject(object);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
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

function statusCell({ metadata, status }: Job): string {
  const met = new Set((status?.conditions ?? []).filter(isTrue).map(({ type }) => type));
  const first = (types: readonly string[]): string | undefined => types.find((type) => met.has(type));
  return first(endings) ?? (metadata.deletionTimestamp ? 'Terminating' : (first(stages) ?? 'Running'));
}

const isTrue = (condition: { status?: string }): boolean => condition.status === 'True';

function completionsCell({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec?.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationCell({ status }: Job, nowMs: number): string {
  if (!status?.startTime) return '';
  const endMs = status.completionTime ? timeToMs(status.completionTime) : nowMs;
  return durationText(endMs - timeToMs(status.startTime));
}
