/** ResourceQuota: limits what one namespace may use in all. */
import type { ResourceQuota } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';

export const resourceQuota = defineKind<ResourceQuota>({
  kind: 'ResourceQuota',
  resource: 'resourcequotas',
  singular: 'resourcequota',
  shortNames: ['quota'],
  namespaced: true,
  subresources: [statusSubresource],
  deleteReturnsObject: true,
});
