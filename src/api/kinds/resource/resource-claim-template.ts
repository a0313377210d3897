/** ResourceClaimTemplate: the claim that each pod which names the template gets for itself. */
import { type FieldError, invalid } from '../../errors/field-error.ts';
import type { ResourceClaimTemplate } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { innerForm } from '../../model/inner-form.ts';
import { modelOf } from '../../model/model.ts';
import { defaultDeviceClaim, deviceClaimErrors } from '../../rules/device/device-claim.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { validateAnnotations, validateLabels } from '../../values/names.ts';

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
  deletion: { returnsObject: true },

  defaults({ spec }) {
    defaultDeviceClaim(spec?.spec?.devices);
  },

  validate: (template, old) => (old ? [] : collect(specErrors(template))),
  validateUpdate: changeErrors,

  columns: [nameColumn, ageColumn],
  cells: (template) => [template.metadata.name, ageCell(template)],
});
