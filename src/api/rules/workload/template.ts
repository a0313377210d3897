/** Pod templates: rules and defaults that all kinds with a template share. */
import { child, type FieldError, forbidden } from '../../errors/field-error.ts';
import type { PodTemplateSpec } from '../../generated/types.ts';
import { validateAnnotations, validateLabels } from '../../values/names.ts';
import { podAnnotationErrors } from '../pod/pod-annotations.ts';
import { podSpecErrors } from '../pod/pod-spec.ts';
import { defaultPodSpec } from '../pod/pod-spec-defaults.ts';
import { collect, type Findings } from '../shared/findings.ts';

export function defaultPodTemplate(template: PodTemplateSpec): void {
  defaultPodSpec((template.spec ??= {}));
}

export const validatePodTemplate = (template: PodTemplateSpec, path: string): FieldError[] =>
  collect(templateErrors(template, path));

export function* templateErrors(template: PodTemplateSpec, path: string): Findings {
  const { metadata, spec = {} } = template;
  const annotationsPath = child(path, 'annotations');
  // Kubernetes leaves `metadata` out of these paths.
  yield* validateLabels(metadata?.labels, child(path, 'labels'));
  yield* validateAnnotations(metadata?.annotations, annotationsPath);
  yield* podAnnotationErrors(metadata?.annotations, spec, annotationsPath);
  yield* podSpecErrors(spec, child(path, 'spec'), false);
  if (spec.ephemeralContainers?.length)
    yield forbidden(
      child(child(path, 'spec'), 'ephemeralContainers'),
      'ephemeral containers not allowed in pod template',
    );
}
