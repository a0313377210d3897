/**
 * In-use protection: the finalizers that keep a claim while a pod uses it, a volume while it is bound, and a class of
 * attributes while a claim or volume names it.
 */
import type {
  ObjectMeta,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttributesClass,
} from '../../generated/types.ts';
import type { Protection } from '../../kind/kind.ts';
import type { ApiObject } from '../../text/object.ts';
import { claimsOf, isFinished } from './pod-facts.ts';

/** A text that pods with claims contain: in `persistentVolumeClaim`, or in `volumeClaimTemplate` of an ephemeral volume. */
export const claimMark = 'Claim';
/** A text that claims and volumes with a class of attributes contain. */
export const attributesMark = 'olumeAttributesClassName';

export const claimProtection: Protection<PersistentVolumeClaim> = {
  finalizer: 'kubernetes.io/pvc-protection',
  isInUse: ({ metadata: { namespace, name = '' } }, others) =>
    others.some('core/pods', namespace, claimMark, (pod) => usesClaim(pod as Pod, name)),
};

export const volumeProtection: Protection<PersistentVolume> = {
  finalizer: 'kubernetes.io/pv-protection',
  isInUse: isBound,
};

export const attributesProtection: Protection<VolumeAttributesClass> = {
  finalizer: 'kubernetes.io/vac-protection',
  isInUse({ metadata: { name = '' } }, others) {
    const names = (object: ApiObject): boolean =>
      attributesClassesOf(object as PersistentVolume | PersistentVolumeClaim).includes(name);
    return (
      others.some('core/persistentvolumeclaims', undefined, attributesMark, names) ||
      others.some('core/persistentvolumes', undefined, attributesMark, names)
    );
  },
};

/** Whether a pod is a reason to keep a claim of its namespace. */
const usesClaim = (pod: Pod, claim: string): boolean =>
  !isFinished(pod.status?.phase) && claimsOf(pod).includes(claim);

function isBound({ status }: PersistentVolume): boolean {
  return status?.phase === 'Bound';
}

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
