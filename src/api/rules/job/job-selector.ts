/**
 * Job selectors: how a job finds its pods. Unless the client sets a selector, a job gets a unique label for its pods.
 * Shared by all versions of Job.
 */
import { type FieldError, invalid, key, required } from '../../errors/field-error.ts';
import type { ObjectMeta, PodTemplateSpec, LabelSelector as SelectorObject } from '../../generated/types.ts';
import { type LabelSelectorObject, SelectorError, selectorFromObject } from '../../kind/label-selector.ts';
import { withSortedKeys } from '../../text/object.ts';
import type { Findings } from '../shared/findings.ts';

/** Fields that all versions of Job share. */
export interface SelectingJob {
  metadata: ObjectMeta;
  spec?: { selector?: SelectorObject; template?: PodTemplateSpec };
}

const uidLabel = 'batch.kubernetes.io/controller-uid';
const nameLabel = 'batch.kubernetes.io/job-name';

/** The labels of a job's pods. The names without a prefix are the older ones. */
const ownLabels = ({ name = '', uid = '' }: ObjectMeta): Record<string, string> => ({
  'controller-uid': uid,
  'job-name': name,
  [uidLabel]: uid,
  [nameLabel]: name,
});

/** A job without labels gets those of its pod template. */
export function labelFromTemplate({ metadata, spec }: SelectingJob): void {
  const labels = spec?.template?.metadata?.labels;
  if (labels) metadata.labels ??= { ...labels };
}

/** Adds the unique labels to the template, and selects them. Values that the client has set are kept. */
export function selectOwnPods(job: SelectingJob): void {
  const spec = (job.spec ??= {});
  const template = (spec.template ??= {});
  const labels = ((template.metadata ??= {}).labels ??= {});
  for (const [label, value] of Object.entries(ownLabels(job.metadata)))
    if (!Object.hasOwn(labels, label)) labels[label] = value;
  const matched = ((spec.selector ??= {}).matchLabels ??= {});
  if (!Object.hasOwn(matched, uidLabel)) matched[uidLabel] = job.metadata.uid ?? '';
}

/** Checks that a generated selector selects the pods of this job and no others. */
export function* ownSelectorErrors({ metadata, spec = {} }: SelectingJob): Findings {
  if (!spec.selector) return;
  const labels = spec.template?.metadata?.labels;
  const expected = ownLabels(metadata);
  for (const [label, value] of Object.entries(expected)) {
    const path = key('spec.template.metadata.labels', label);
    if (!labels || !Object.hasOwn(labels, label)) yield required(path, `must be '${value}'`);
    else if (labels[label] !== value) yield invalid(path, withSortedKeys(labels), `must be '${value}'`);
  }
  if (selects(spec.selector, expected) === false)
    yield invalid('spec.selector', shownSelector(spec.selector), '`selector` not auto-generated');
}

/** Maps are shown with their keys in order. */
const shownSelector = ({ matchLabels, ...rest }: SelectorObject): object => ({
  ...(matchLabels && { matchLabels: withSortedKeys(matchLabels) }),
  ...rest,
});

/** A job must select its own pods, or it would never see them finish. */
export function templateLabelErrors({ spec = {} }: SelectingJob): FieldError[] {
  const labels = spec.template?.metadata?.labels;
  if (selects(spec.selector, labels) !== false) return [];
  return [
    invalid(
      'spec.template.metadata.labels',
      withSortedKeys(labels) ?? null,
      '`selector` does not match template `labels`',
    ),
  ];
}

/** Undefined when the selector is invalid; that error is reported elsewhere. */
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
