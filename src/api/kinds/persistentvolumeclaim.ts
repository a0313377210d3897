/** PersistentVolumeClaim: a request for storage. */
import type { PersistentVolumeClaim } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';

export const persistentVolumeClaim = defineKind<PersistentVolumeClaim>({
  kind: 'PersistentVolumeClaim',
  resource: 'persistentvolumeclaims',
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  namespaced: true,
  subresources: [statusSubresource],
  deleteReturnsObject: true,

  prepareForCreate(claim) {
    claim.status = { phase: 'Pending' };
  },
});
