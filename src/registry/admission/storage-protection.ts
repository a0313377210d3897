/** StorageObjectInUseProtection: claims, volumes and classes of attributes carry a finalizer while they are in use. */
import type { AdmissionPlugin } from '../admission-chain.ts';

export const storageProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  kinds: ['core/persistentvolumes', 'core/persistentvolumeclaims', 'storage.k8s.io/volumeattributesclasses'],

  mutate({ finalizing }, { operation, target: { kind }, object }) {
    const { protection } = kind.storage.deletion;
    if (operation !== 'create' || !finalizing.protection || !protection) return;
    const meta = object!.metadata;
    const { finalizer } = protection;
    if (!meta.finalizers?.includes(finalizer)) meta.finalizers = [...(meta.finalizers ?? []), finalizer];
  },
};
