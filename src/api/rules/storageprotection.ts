/** In-use protection: the finalizers that keep a claim while a pod uses it, and a volume while it is bound. */
import type { ObjectMeta, PersistentVolume, Pod } from '../generated/types.ts';
import { claimsOf, isFinished } from './podfacts.ts';

export const claimFinalizer = 'kubernetes.io/pvc-protection';
export const volumeFinalizer = 'kubernetes.io/pv-protection';

/** By the kinds that have them. */
export const protectionFinalizers: Readonly<Record<string, string>> = {
  'core/persistentvolumes': volumeFinalizer,
  'core/persistentvolumeclaims': claimFinalizer,
};

/** Whether a pod is a reason to keep a claim of its namespace. */
export const usesClaim = (pod: Pod, claim: string): boolean =>
  !isFinished(pod.status?.phase) && claimsOf(pod).includes(claim);

export const isBound = ({ status }: PersistentVolume): boolean => status?.phase === 'Bound';

/**
 * Keeps the server's finalizer on an object that a client replaces without knowing finalizers. Once the object is being
 * deleted the finalizer may be removed: that is how it is released.
 */
export function keepFinalizer(meta: ObjectMeta, old: ObjectMeta, finalizer: string): void {
  if (old.deletionTimestamp || !old.finalizers?.includes(finalizer)) return;
  if (!meta.finalizers?.includes(finalizer)) meta.finalizers = [...(meta.finalizers ?? []), finalizer];
}
