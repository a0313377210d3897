/** Job in batch/v1: runs pods until enough of them have succeeded. This is the stored version. */
import { child, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { JobSpecV1, JobV1, PodTemplateSpec } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { type LabelSelectorObject, validateLabelSelectorObject } from '../../kind/label-selector.ts';
import { status } from '../../kind/subresource.ts';
import { modelOf } from '../../model/model.ts';
import { jobCells, jobColumns } from '../../rules/job/job-columns.ts';
import { defaultFailurePolicy, isIndexed, policyErrors } from '../../rules/job/job-policy.ts';
import {
  labelFromTemplate,
  ownSelectorErrors,
  selectOwnPods,
  templateLabelErrors,
} from '../../rules/job/job-selector.ts';
import { jobStatusErrors } from '../../rules/job/job-status.ts';
import { changedTemplateWarnings, isChanged, nameWarnings } from '../../rules/pod-warnings/pod-warnings.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { collect, type Findings, negative } from '../../rules/shared/findings.ts';
import { defaultPodTemplate, templateErrors } from '../../rules/workload/template.ts';
import { isLabel1123 } from '../../values/names.ts';

const backoffLimitDefault = 6;
/** Default backoffLimit with backoffLimitPerIndex: unlimited, because each index has its own limit. */
export const backoffLimitMax = 2 ** 31 - 1;
/** From here on the status of an Indexed job may be too small to list all failed indexes. */
const completionsSoftMax = 100_000;
const parallelismSoftMax = 10_000;

export const batchJob = defineKind<JobV1>({
  kind: 'Job',
  resource: 'jobs',
  singular: 'job',
  categories: ['all'],
  group: 'batch',
  version: 'v1',
  table: 'batch-v1',
  namespaced: true,
  subresources: [status({ validate: (job, old) => collect(jobStatusErrors(job, old)) })],
  generationOf: 'spec',
  deletion: {
    propagation: 'Orphan',
    warning:
      'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  },

  takeServerValues(job, old) {
    const spec = (job.spec ??= {});
    if (!spec.selector && !spec.manualSelector && !old.spec?.manualSelector)
      selectOwnPods({ metadata: old.metadata, spec });
  },

  defaults(job) {
    const spec = (job.spec ??= {});
    if (spec.parallelism === undefined) spec.completions ??= 1;
    spec.parallelism ??= 1;
    defaultJobSpec(spec);
    spec.manualSelector ??= false;
    defaultPodTemplate((spec.template ??= {}));
    // Generated labels come first; they need the uid.
    if (spec.manualSelector) labelFromTemplate(job);
  },

  // One map, as in Kubernetes: generated labels become labels of the job, too.
  defaultsOfNew({ metadata, spec }) {
    const labels = spec?.template?.metadata?.labels;
    if (labels) metadata.labels ??= labels;
  },

  prepareForCreate(job) {
    if (!job.spec?.manualSelector) selectOwnPods(job);
    labelFromTemplate(job);
  },

  prepareForUpdate: labelFromTemplate,

  validate: (job) => collect(jobErrors(job)),

  validateUpdate: (job, old) => collect(changeErrors(job.spec ?? {}, old)),

  warnings: (job, old) => [
    ...nameWarnings(job, old, 'Pod names and hostnames'),
    ...(isChanged(job, old) ? sizeWarnings(job.spec ?? {}, 'spec') : []),
    ...changedTemplateWarnings(job, old, job.spec?.template, 'spec.template'),
  ],

  selectableFields: { 'status.successful': (job) => String(job.status?.succeeded ?? 0) },
  unknownField: (path) => `field label "${path}" not supported for Job`,

  columns: jobColumns,
  cells: jobCells,
});

/** Defaults of fields that only this version has. */
export function defaultJobSpec(spec: JobSpecV1): void {
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? backoffLimitDefault : backoffLimitMax;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed';
  defaultFailurePolicy(spec);
}

function* jobErrors(job: JobV1): Findings {
  const { metadata, spec = {} } = job;
  if (!spec.manualSelector) yield* ownSelectorErrors(job);
  yield* jobSpecErrors(spec, 'spec');
  if (!spec.selector) yield required('spec.selector');
  yield* validateLabelSelectorObject(spec.selector as LabelSelectorObject | undefined, 'spec.selector');
  yield* templateLabelErrors(job);
  if (isIndexed(spec) && spec.completions !== undefined && spec.completions > 0)
    yield* hostNameErrors(metadata.name ?? '', spec.completions - 1);
}

/** Rules that jobs and job templates share; `path` is that of the spec. */
export function* jobSpecErrors(spec: JobSpecV1, path: string): Findings {
  for (const name of ['parallelism', 'completions', 'activeDeadlineSeconds'] as const)
    yield* negative(child(path, name), spec[name]);
  yield* policyErrors(spec, path);
  yield* templateErrors(spec.template ?? {}, child(path, 'template'));
  yield* restartPolicyErrors(spec, child(path, 'template.spec.restartPolicy'));
}

function* restartPolicyErrors({ template, podFailurePolicy }: JobSpecV1, path: string): Findings {
  const policy = template?.spec?.restartPolicy;
  if (!policy || policy === 'Always') yield required(path, 'valid values: "OnFailure", "Never"');
  else if (policy !== 'OnFailure' && policy !== 'Never')
    yield notSupported(path, policy, ['OnFailure', 'Never']);
  else if (podFailurePolicy && policy !== 'Never')
    yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified');
}

/**
 * Names of the pods of an Indexed job contain its name and the index; a name that is too long is refused here, before
 * pods cannot be created.
 */
function* hostNameErrors(name: string, indexMax: number): Findings {
  const host = `${name}-${indexMax}`;
  if (isLabel1123(host).length)
    yield invalid('metadata.name', name, `will not able to create pod with invalid DNS label: ${host}`);
}

/** Most of the spec is immutable; parallelism and the like may change. */
function* changeErrors(spec: JobSpecV1, old: JobV1): Findings {
  const oldSpec = old.spec ?? {};
  const model = modelOf('JobSpec', 'batch-v1');
  const oldTemplate = isWaiting(old) ? rescheduled(spec.template, oldSpec.template) : oldSpec.template;
  const changed = new Set(changedFields(model, spec, { ...oldSpec, template: oldTemplate }));
  const immutable = (name: keyof JobSpecV1) =>
    changed.has(name) ? [invalid(`spec.${name}`, spec[name] ?? null, 'field is immutable')] : [];
  if (!isIndexed(spec)) yield* immutable('completions');
  // completions of an Indexed job may change together with parallelism.
  else if (
    changed.has('completions') &&
    spec.completions !== undefined &&
    spec.completions !== spec.parallelism
  )
    yield invalid(
      'spec.completions',
      spec.completions,
      'can only be modified in tandem with spec.parallelism',
    );
  for (const name of [
    'selector',
    'template',
    'completionMode',
    'podFailurePolicy',
    'backoffLimitPerIndex',
    'managedBy',
    'successPolicy',
  ] as const)
    yield* immutable(name);
}

/** A suspended job that has never run may change its scheduling fields, as queue controllers do. */
const isWaiting = ({ spec, status }: JobV1): boolean => spec?.suspend === true && !status?.startTime;

/** The old template with the labels and scheduling fields of the new one. */
function rescheduled(
  { metadata, spec = {} }: PodTemplateSpec = {},
  old: PodTemplateSpec = {},
): PodTemplateSpec {
  const { nodeSelector, tolerations, schedulingGates, affinity } = spec;
  const others = { ...old.spec?.affinity, nodeAffinity: affinity?.nodeAffinity };
  const bare = !affinity && Object.values(others).every((part) => part === undefined);
  return {
    metadata: { ...old.metadata, labels: metadata?.labels, annotations: metadata?.annotations },
    spec: {
      ...old.spec,
      nodeSelector,
      tolerations,
      schedulingGates,
      affinity: bare ? undefined : others,
    },
  };
}

export function sizeWarnings(spec: JobSpecV1, path: string): string[] {
  const large =
    isIndexed(spec) &&
    (spec.completions ?? 0) > completionsSoftMax &&
    (spec.parallelism ?? 0) > parallelismSoftMax;
  return large
    ? [
        `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
      ]
    : [];
}
