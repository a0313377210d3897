/** ResourceClaim: asks for devices, and says which were given, and who uses them. */
import { type FieldError, invalid } from '../../errors/field-error.ts';
import type { ResourceClaimV1 as ResourceClaim } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { takeStoredMetadata } from '../../kind/meta.ts';
import { statusOnly } from '../../kind/reset-fields.ts';
import { status } from '../../kind/subresource.ts';
import { innerForm } from '../../model/inner-form.ts';
import { modelOf } from '../../model/model.ts';
import { claimStatusErrors, dropDeallocated } from '../../rules/device/device-allocation.ts';
import { defaultDeviceClaim, deviceClaimErrors } from '../../rules/device/device-claim.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect } from '../../rules/shared/findings.ts';

function changeErrors({ spec = {} }: ResourceClaim, old: ResourceClaim): FieldError[] {
  const model = modelOf('ResourceClaimSpec', 'resource-v1');
  if (changedFields(model, spec, old.spec ?? {}).length === 0) return [];
  return [invalid('spec', innerForm(model, spec), 'field is immutable')];
}

/** `pending`, `allocated,reserved`, `deleted,allocated`… */
function stateCell({ metadata, status }: ResourceClaim): string {
  const deleted = metadata.deletionTimestamp !== undefined;
  const states: string[] = deleted ? ['deleted'] : [];
  if (status?.allocation) states.push('allocated');
  else if (!deleted) states.push('pending');
  if (status?.reservedFor?.length) states.push('reserved');
  return states.join(',');
}

export const resourceClaim = defineKind<ResourceClaim>({
  kind: 'ResourceClaim',
  resource: 'resourceclaims',
  singular: 'resourceclaim',
  group: 'resource.k8s.io',
  version: 'v1',
  table: 'resource-v1',
  namespaced: true,
  deletion: { returnsObject: true },
  subresources: [
    status({
      prepare(claim, old) {
        takeStoredMetadata(claim, old);
        dropDeallocated(claim, old);
      },
      validate: (claim, old) => collect(claimStatusErrors(claim, old)),
      resets: statusOnly,
    }),
  ],

  defaults({ spec }) {
    defaultDeviceClaim(spec?.devices);
  },

  // The spec cannot change, so that of an update passed before.
  validate: ({ spec = {} }, old) =>
    old ? [] : collect(deviceClaimErrors(spec.devices ?? {}, 'spec.devices')),
  validateUpdate: changeErrors,

  columns: [
    nameColumn,
    { name: 'State', description: 'Whether devices are allocated, and reserved for pods.' },
    ageColumn,
  ],
  cells: (claim) => [claim.metadata.name, stateCell(claim), ageCell(claim)],
});
