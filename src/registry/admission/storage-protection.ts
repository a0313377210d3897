/** StorageObjectInUseProtection: claims, volumes and classes of attributes carry a finalizer while they are in use. */
import type { ResourceId } from '../../api/kind/kind.ts';
import { protectionFinalizers } from '../../api/rules/pod/in-use-protection.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';

export const storageProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  kinds: Object.keys(protectionFinalizers) as ResourceId[],

  mutate({ finalizing }, { operation, target: { kind }, object }) {
    if (operation !== 'create' || !finalizing.protection) return;
    const meta = object!.metadata;
    const finalizer = protectionFinalizers[kind.id]!;
    if (!meta.finalizers?.includes(finalizer)) meta.finalizers = [...(meta.finalizers ?? []), finalizer];
  },
};
