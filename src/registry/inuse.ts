/** Use of storage: whether a claim has a pod, a volume a claim, and a class of attributes either of them. */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../api/generated/types.ts';
import type { ApiObject } from '../api/object.ts';
import {
  attributesFinalizer,
  attributesOfClaim,
  isBound,
  protectionFinalizers,
  usesClaim,
  volumeFinalizer,
} from '../api/rules/storageprotection.ts';
import type { Entry } from './entry.ts';
import { everything, Filter } from './filter.ts';
import type { View } from './view.ts';

/** Of the volumes `persistentVolumeClaim` and `ephemeral`, which has a `volumeClaimTemplate`. */
const claimMark = Buffer.from('Claim');

/** Saves reading most pods. */
export const mayUseClaims = ({ document }: Entry): boolean => document.includes(claimMark);

export function isClaimInUse(view: View, namespace: string, name: string): boolean {
  const inNamespace = new Filter(namespace, undefined, undefined, undefined);
  return view
    .collection('core/pods')
    .select(inNamespace)
    .entries.some((pod) => mayUseClaims(pod) && usesClaim(pod.peek() as Pod, name));
}

export const isAttributesClassInUse = (view: View, name: string): boolean =>
  view
    .collection('core/persistentvolumeclaims')
    .select(everything)
    .entries.some((claim) => attributesOfClaim(claim.peek() as PersistentVolumeClaim).includes(name)) ||
  view
    .collection('core/persistentvolumes')
    .select(everything)
    .entries.some((volume) => (volume.peek() as PersistentVolume).spec?.volumeAttributesClassName === name);

/** Takes the protection off an object of storage that is being deleted, and that nothing uses. */
export function releaseUnused(view: View, id: string, object: ApiObject): void {
  if (!Object.hasOwn(protectionFinalizers, id)) return;
  const meta = object.metadata;
  const finalizer = protectionFinalizers[id]!;
  if (!meta.finalizers?.includes(finalizer)) return;
  if (isInUse(view, finalizer, object)) return;
  const kept = meta.finalizers.filter((one) => one !== finalizer);
  meta.finalizers = kept.length ? kept : undefined;
}

function isInUse(view: View, finalizer: string, object: ApiObject): boolean {
  const { namespace = '', name = '' } = object.metadata;
  if (finalizer === volumeFinalizer) return isBound(object as PersistentVolume);
  if (finalizer === attributesFinalizer) return isAttributesClassInUse(view, name);
  return isClaimInUse(view, namespace, name);
}
