/** StorageObjectInUseProtection: claims and volumes carry a finalizer that keeps them while they are in use. */
import type { AdmissionPlugin } from './admission.ts';

const finalizers: Readonly<Record<string, string>> = {
  'core/persistentvolumes': 'kubernetes.io/pv-protection',
  'core/persistentvolumeclaims': 'kubernetes.io/pvc-protection',
};

export const storageProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',

  mutate(_registry, { operation, target: { kind }, object }) {
    if (operation !== 'create' || !Object.hasOwn(finalizers, kind.id)) return;
    const meta = object!.metadata;
    const finalizer = finalizers[kind.id]!;
    if (!meta.finalizers?.includes(finalizer)) meta.finalizers = [...(meta.finalizers ?? []), finalizer];
  },
};
