/** ServiceCIDR: ranges from which services get their addresses. */
import type { ServiceCIDR } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';
import { takeStoredMetadata } from '../meta.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';

export const serviceCidr = defineKind<ServiceCIDR>({
  kind: 'ServiceCIDR',
  resource: 'servicecidrs',
  singular: 'servicecidr',
  group: 'networking.k8s.io',
  version: 'v1',
  table: 'networking-v1',
  namespaced: false,
  subresources: [statusSubresource],
  prepareStatusUpdate: takeStoredMetadata,

  columns: [nameColumn, { name: 'CIDRs', description: 'The ranges, one of each family.' }, ageColumn],
  cells: (range) => [range.metadata.name, (range.spec?.cidrs ?? []).join(','), ageCell(range)],
});
