/**
 * StorageObjectInUseProtection: puts a finalizer on claims, volumes and VolumeAttributesClasses, which keeps them while
 * they are in use.
 */
import type { AdmissionPlugin } from '../admission-chain.ts';

/** @param protects whether a controller runs that removes the finalizer */
export const storageProtection = (protects: boolean): AdmissionPlugin => ({
  name: 'StorageObjectInUseProtection',
  kinds: ['core/persistentvolumes', 'core/persistentvolumeclaims', 'storage.k8s.io/volumeattributesclasses'],

  mutate(_registry, { operation, target: { kind }, object }) {
    const { protection } = kind.storage.deletion;
    if (operation !== 'create' || !protects || !protection) return;
    const meta = object!.metadata;
    const { finalizer } = protection;
    if (!meta.finalizers?.includes(finalizer)) meta.finalizers = [...(meta.finalizers ?? []), finalizer];
  },
});
