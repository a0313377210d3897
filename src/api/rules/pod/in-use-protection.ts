/**
 * In-use protection: the finalizers that keep a claim while a pod uses it, a volume while it is bound, and a class of
 * attributes while a claim or volume names it.
 */
import type { ObjectMeta, PersistentVolume, PersistentVolumeClaim, Pod } from '../../generated/types.ts';
import { claimsOf, isFinished } from './pod-facts.ts';

export const claimFinalizer = 'kubernetes.io/pvc-protection';
export const volumeFinalizer = 'kubernetes.io/pv-protection';
export const attributesFinalizer = 'kubernetes.io/vac-protection';

/** By the kinds that have them. */
export const protectionFinalizers: Readonly<Record<string, string>> = {
  'core/persistentvolumes': volumeFinalizer,
  'core/persistentvolumeclaims': claimFinalizer,
  'storage.k8s.io/volumeattributesclasses': attributesFinalizer,
};

/** Whether a pod is a reason to keep a claim of its namespace. */
export const usesClaim = (pod: Pod, claim: string): boolean =>
  !isFinished(pod.status?.phase) && claimsOf(pod).includes(claim);

export const isBound = ({ status }: PersistentVolume): boolean => status?.phase === 'Bound';

/** Classes of attributes that a claim or volume names: the wanted one, and the one that it has. */
export function attributesClassesOf({ spec, status }: PersistentVolume | PersistentVolumeClaim): string[] {
  const { currentVolumeAttributesClassName: current, modifyVolumeStatus } = (status ?? {}) as NonNullable<
    PersistentVolumeClaim['status']
  >;
  const names = [
    spec?.volumeAttributesClassName,
    current,
    modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return names.filter((name) => name !== undefined);
}

/**
 * Keeps the server's finalizer on an object that a client replaces without knowing finalizers. Once the object is being
 * deleted the finalizer may be removed: that is how it is released.
 */
export function keepFinalizer(meta: ObjectMeta, old: ObjectMeta, finalizer: string): void {
  if (old.deletionTimestamp || !old.finalizers?.includes(finalizer)) return;
  if (!meta.finalizers?.includes(finalizer)) meta.finalizers = [...(meta.finalizers ?? []), finalizer];
}
