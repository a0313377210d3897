/** Matching of claims and volumes: which volumes suit a claim, and which one it gets. */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { selectorFromObject } from '../../api/kind/label-selector.ts';
import { compareQuantities, parseQuantity } from '../../api/values/quantity.ts';

const classAnnotation = 'volume.beta.kubernetes.io/storage-class';

type Classed = {
  readonly metadata: { readonly annotations?: Record<string, string> };
  readonly spec?: { readonly storageClassName?: string };
};

/** The class of a claim or volume; the old annotation wins over the field. */
export const classOf = ({ metadata, spec }: Classed): string =>
  metadata.annotations?.[classAnnotation] ?? spec?.storageClassName ?? '';

/** Why a claim cannot have the volume that it names, as text for an event. */
export function mismatch(claim: PersistentVolumeClaim, volume: PersistentVolume): string | undefined {
  if (sizeOf(volume) === undefined || compare(sizeOf(volume)!, wishOf(claim)) < 0)
    return 'requested PV is too small';
  if (classOf(claim) !== classOf(volume)) return 'storageClassName does not match';
  if ((claim.spec?.volumeMode ?? 'Filesystem') !== (volume.spec?.volumeMode ?? 'Filesystem'))
    return 'incompatible volumeMode';
  const modes = volume.spec?.accessModes ?? [];
  if (!(claim.spec?.accessModes ?? []).every((mode) => modes.includes(mode)))
    return 'incompatible accessMode';
  return undefined;
}

export const sizeOf = ({ spec }: PersistentVolume): string | undefined => spec?.capacity?.storage;
/** The requested size of a claim. */
export const wishOf = ({ spec }: PersistentVolumeClaim): string => spec?.resources?.requests?.storage ?? '0';
export const compare = (a: string, b: string): number =>
  compareQuantities(parseQuantity(a), parseQuantity(b));

export const refersTo = ({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  spec?.claimRef?.namespace === claim.metadata.namespace &&
  spec?.claimRef?.name === claim.metadata.name &&
  (!spec?.claimRef?.uid || spec.claimRef.uid === claim.metadata.uid);

/**
 * The best volume for a claim: one reserved for it, otherwise the smallest that is large enough, among those that
 * `suits` accepts.
 */
export function bestVolume(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  suits: (volume: PersistentVolume) => boolean,
): PersistentVolume | undefined {
  const selector = claim.spec?.selector
    ? selectorFromObject(claim.spec.selector as Parameters<typeof selectorFromObject>[0])
    : undefined;
  let best: PersistentVolume | undefined;
  for (const volume of volumes) {
    if (volume.metadata.deletionTimestamp) continue;
    if (volume.spec?.claimRef) {
      if (refersTo(volume, claim) && !mismatch(claim, volume)) return volume;
      continue;
    }
    if (volume.status?.phase !== 'Available' || mismatch(claim, volume) || !suits(volume)) continue;
    if (selector && !selector.matches(volume.metadata.labels ?? {})) continue;
    if (!best || compare(sizeOf(volume)!, sizeOf(best)!) < 0) best = volume;
  }
  return best;
}

/** Whether a bound claim requests more than it has. */
export const wantsMore = (claim: PersistentVolumeClaim): boolean => {
  const { spec, status } = claim;
  if (status?.phase !== 'Bound' || !spec?.volumeName || !status.capacity?.['storage']) return false;
  return compare(wishOf(claim), status.capacity['storage']) > 0;
};
