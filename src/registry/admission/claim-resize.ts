/** PersistentVolumeClaimResize: only claims of classes that allow it may grow. */
import { forbidden } from '../../api/errors/errors.ts';
import type { PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { claimClass } from '../../api/rules/storage/volume-access.ts';
import { compareQuantities, parseQuantity } from '../../api/values/quantity.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import { subresourceOf } from '../target.ts';

export const claimResize: AdmissionPlugin = {
  name: 'PersistentVolumeClaimResize',
  kinds: ['core/persistentvolumeclaims'],

  validate(registry, { operation, target, object, old }) {
    const { kind, name, part } = target;
    if (operation !== 'update' || part === 'whole' || subresourceOf(part)) return;
    const [claim, before] = [object as PersistentVolumeClaim, old as PersistentVolumeClaim];
    if (compareQuantities(requested(claim), requested(before)) <= 0) return;
    if (before.status?.phase !== 'Bound')
      throw forbidden(kind, name, 'Only bound persistent volume claims can be expanded');
    if (!mayGrow(registry, claim, before))
      throw forbidden(
        kind,
        name,
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      );
  },
};

const requested = ({ spec }: PersistentVolumeClaim) =>
  parseQuantity(spec?.resources?.requests?.['storage'] ?? '0');

function mayGrow({ view }: Registry, claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const name = claimClass(claim);
  if (!name || name !== claimClass(old)) return false;
  const entry = view.collection('storage.k8s.io/storageclasses').get('', name);
  return (entry?.peek() as StorageClass | undefined)?.allowVolumeExpansion ?? false;
}
