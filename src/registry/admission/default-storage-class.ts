/** DefaultStorageClass: a new claim that names no class gets the default one. */
import type { PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { isDefaultStorageClass } from '../../api/rules/storage/default-class.ts';
import { claimClass } from '../../api/rules/storage/volume-access.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import { subresourceOf } from '../target.ts';
import { DefaultClasses } from './default-classes.ts';

export const defaultStorageClasses = new DefaultClasses('storage.k8s.io/storageclasses', (object) =>
  isDefaultStorageClass(object as StorageClass),
);

export const defaultStorageClass: AdmissionPlugin = {
  name: 'DefaultStorageClass',
  kinds: ['core/persistentvolumeclaims'],

  mutate(registry, { operation, target: { part }, object }) {
    if (operation !== 'create' || subresourceOf(part)) return;
    const claim = object as PersistentVolumeClaim;
    // An empty name counts: such a claim asks for a volume without a class.
    if (claimClass(claim) !== undefined) return;
    const name = defaultStorageClasses.nameIn(registry);
    if (name !== undefined) claim.spec = { ...claim.spec, storageClassName: name };
  },
};
