/** StorageObjectInUseProtection: claims, volumes and classes of attributes carry a finalizer while they are in use. */
import type { AdmissionPlugin } from '../admission-chain.ts';

/** @param protects whether a controller takes the finalizer off again */
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
