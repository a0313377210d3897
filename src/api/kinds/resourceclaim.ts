/** ResourceClaim: asks for devices, and says which were given, and who uses them. */
import type { ResourceClaimV1 as ResourceClaim } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';
import { takeStoredMetadata } from '../meta.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';
import { defaultDeviceClaim } from '../rules/deviceclaim.ts';

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
  deleteReturnsObject: true,
  subresources: [statusSubresource],
  prepareStatusUpdate: takeStoredMetadata,

  defaults({ spec }) {
    defaultDeviceClaim(spec?.devices);
  },

  columns: [
    nameColumn,
    { name: 'State', description: 'Whether devices are allocated, and reserved for pods.' },
    ageColumn,
  ],
  cells: (claim) => [claim.metadata.name, stateCell(claim), ageCell(claim)],
});
