/** Use of storage: whether a claim has a pod, and a volume a claim. */
import type { PersistentVolume, Pod } from '../api/generated/types.ts';
import type { ApiObject } from '../api/object.ts';
import { isBound, protectionFinalizers, usesClaim } from '../api/rules/storageprotection.ts';
import type { Entry } from './entry.ts';
import { Filter } from './filter.ts';
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

/** Takes the protection off a claim or volume that is being deleted, and that nothing uses. */
export function releaseUnused(view: View, id: string, object: ApiObject): void {
  if (!Object.hasOwn(protectionFinalizers, id)) return;
  const meta = object.metadata;
  const finalizer = protectionFinalizers[id]!;
  if (!meta.finalizers?.includes(finalizer)) return;
  const inUse =
    id === 'core/persistentvolumes'
      ? isBound(object as PersistentVolume)
      : isClaimInUse(view, meta.namespace ?? '', meta.name ?? '');
  if (inUse) return;
  const kept = meta.finalizers.filter((one) => one !== finalizer);
  meta.finalizers = kept.length ? kept : undefined;
}
