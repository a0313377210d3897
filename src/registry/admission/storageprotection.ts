/** StorageObjectInUseProtection: claims and volumes carry a finalizer that keeps them while they are in use. */
import { claimFinalizer, volumeFinalizer } from '../../api/rules/storageprotection.ts';
import type { AdmissionPlugin } from './admission.ts';

const finalizers: Readonly<Record<string, string>> = {
  'core/persistentvolumes': volumeFinalizer,
  'core/persistentvolumeclaims': claimFinalizer,
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
