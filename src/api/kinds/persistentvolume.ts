/** PersistentVolume: a piece of storage in the cluster. */
import type { PersistentVolume } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';

export const persistentVolume = defineKind<PersistentVolume>({
  kind: 'PersistentVolume',
  resource: 'persistentvolumes',
  singular: 'persistentvolume',
  shortNames: ['pv'],
  namespaced: false,
  subresources: [statusSubresource],
  deleteReturnsObject: true,

  prepareForCreate(volume, context) {
    volume.status = { phase: 'Pending', lastPhaseTransitionTime: context.now };
  },
});
