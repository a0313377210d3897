/** StorageObjectInUseProtection: claims and volumes carry a finalizer that keeps them while they are in use. */
import type { AdmissionPlugin } from './admission.ts';

const finalizers: Readonly<Record<string, string>> = {
  PersistentVolume: 'kubernetes.io/pv-protection',
  PersistentVolumeClaim: 'kubernetes.io/pvc-protection',
};

export const storageProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',

  mutate(_registry, { operation, kind, object }) {
    if (operation !== 'create' || !Object.hasOwn(finalizers, kind.kind)) return;
    const meta = object!.metadata;
    const finalizer = finalizers[kind.kind]!;
    if (!meta.finalizers?.includes(finalizer)) meta.finalizers = [...(meta.finalizers ?? []), finalizer];
  },
};
