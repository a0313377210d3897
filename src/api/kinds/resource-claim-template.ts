/** ResourceClaimTemplate: the claim that each pod which names the template gets for itself. */
import { type FieldError, invalid } from '../field-error.ts';
import type { ResourceClaimTemplate } from '../generated/types.ts';
import { innerForm } from '../inner-form.ts';
import { defineKind } from '../kind.ts';
import { modelOf } from '../model.ts';
import { validateAnnotations, validateLabels } from '../names.ts';
import { changedFields } from '../rules/change.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';
import { defaultDeviceClaim, deviceClaimErrors } from '../rules/device-claim.ts';
import { collect, type Findings } from '../rules/findings.ts';

function* specErrors({ spec = {} }: ResourceClaimTemplate): Findings {
  yield* validateLabels(spec.metadata?.labels, 'spec.metadata.labels');
  yield* validateAnnotations(spec.metadata?.annotations, 'spec.metadata.annotations');
  yield* deviceClaimErrors(spec.spec?.devices ?? {}, 'spec.spec.devices');
}

function changeErrors({ spec = {} }: ResourceClaimTemplate, old: ResourceClaimTemplate): FieldError[] {
  const model = modelOf('ResourceClaimTemplateSpec', 'resource-v1');
  if (changedFields(model, spec, old.spec ?? {}).length === 0) return [];
  return [invalid('spec', innerForm(model, spec), 'field is immutable')];
}

export const resourceClaimTemplate = defineKind<ResourceClaimTemplate>({
  kind: 'ResourceClaimTemplate',
  resource: 'resourceclaimtemplates',
  singular: 'resourceclaimtemplate',
  group: 'resource.k8s.io',
  version: 'v1',
  table: 'resource-v1',
  namespaced: true,
  deleteReturnsObject: true,

  defaults({ spec }) {
    defaultDeviceClaim(spec?.spec?.devices);
  },

  validate: (template, old) => (old ? [] : collect(specErrors(template))),
  validateUpdate: changeErrors,

  columns: [nameColumn, ageColumn],
  cells: (template) => [template.metadata.name, ageCell(template)],
});
