/** ResourceClaimTemplate: the claim that each pod which names the template gets for itself. */
import type { ResourceClaimTemplate } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';
import { defaultDeviceClaim } from '../rules/deviceclaim.ts';

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

  columns: [nameColumn, ageColumn],
  cells: (template) => [template.metadata.name, ageCell(template)],
});
