/**
 * Job selectors: how a job knows its pods. Unless its author chose a selector, a job puts labels on its pods that no
 * other job's pods have. Shared by all versions of Job.
 */
import { type FieldError, invalid, key, required } from '../fielderror.ts';
import type { ObjectMeta, PodTemplateSpec, LabelSelector as SelectorObject } from '../generated/types.ts';
import { type LabelSelectorObject, SelectorError, selectorFromObject } from '../labelselector.ts';
import type { Findings } from './findings.ts';

/** What all versions of Job call by the same name. */
export interface SelectingJob {
  metadata: ObjectMeta;
  spec?: { selector?: SelectorObject; template?: PodTemplateSpec };
}

const uidLabel = 'batch.kubernetes.io/controller-uid';
const nameLabel = 'batch.kubernetes.io/job-name';

/** The labels of a job's own pods. The names without a prefix are the older ones. */
const ownLabels = ({ name = '', uid = '' }: ObjectMeta): Record<string, string> => ({
  'controller-uid': uid,
  'job-name': name,
  [uidLabel]: uid,
  [nameLabel]: name,
});

/** A job without labels has those of its pods. */
export function labelFromTemplate({ metadata, spec }: SelectingJob): void {
  const labels = spec?.template?.metadata?.labels;
  if (labels) metadata.labels ??= { ...labels };
}

/** Puts labels of its own on the job's pods, and selects them. What the client chose itself stays. */
export function selectOwnPods(job: SelectingJob): void {
  const spec = (job.spec ??= {});
  const template = (spec.template ??= {});
  const labels = ((template.metadata ??= {}).labels ??= {});
  for (const [label, value] of Object.entries(ownLabels(job.metadata)))
    if (!Object.hasOwn(labels, label)) labels[label] = value;
  const matched = ((spec.selector ??= {}).matchLabels ??= {});
  if (!Object.hasOwn(matched, uidLabel)) matched[uidLabel] = job.metadata.uid ?? '';
}

/** What keeps a selector of a job's own from selecting this job's pods, and only them. */
export function* ownSelectorErrors({ metadata, spec = {} }: SelectingJob): Findings {
  if (!spec.selector) return;
  const labels = spec.template?.metadata?.labels;
  const expected = ownLabels(metadata);
  for (const [label, value] of Object.entries(expected)) {
    const path = key('spec.template.metadata.labels', label);
    if (!labels || !Object.hasOwn(labels, label)) yield required(path, `must be '${value}'`);
    else if (labels[label] !== value) yield invalid(path, labels, `must be '${value}'`);
  }
  if (selects(spec.selector, expected) === false)
    yield invalid('spec.selector', spec.selector, '`selector` not auto-generated');
}

/** A job would never see its pods finish if it did not select them. */
export function templateLabelErrors({ spec = {} }: SelectingJob): FieldError[] {
  const labels = spec.template?.metadata?.labels;
  if (selects(spec.selector, labels) !== false) return [];
  return [
    invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`'),
  ];
}

/** Undefined when the selector makes no sense; validation says so elsewhere. */
function selects(
  selector: SelectorObject | undefined,
  labels: Record<string, string> | undefined,
): boolean | undefined {
  try {
    return selectorFromObject(selector as LabelSelectorObject | undefined).matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
