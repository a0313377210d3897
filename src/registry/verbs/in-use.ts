/** Use of storage: whether a claim has a pod, a volume a claim, and a class of attributes one of the two. */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/types.ts';
import {
  attributesClassesOf,
  isBound,
  protectionFinalizers,
  usesClaim,
} from '../../api/rules/pod/in-use-protection.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { Entry } from '../view/entry.ts';
import { everything, Filter } from '../view/filter.ts';
import type { View } from '../view/view.ts';

/** A text that pods with claims contain: in `persistentVolumeClaim`, or in `volumeClaimTemplate` of an ephemeral volume. */
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

/** Saves reading most claims and volumes. */
const attributesMark = Buffer.from('olumeAttributesClassName');

export const mayNameAttributes = ({ document }: Entry): boolean => document.includes(attributesMark);

export const isAttributesClassInUse = (view: View, name: string): boolean =>
  (['core/persistentvolumeclaims', 'core/persistentvolumes'] as const).some((id) =>
    view
      .collection(id)
      .select(everything)
      .entries.some(
        (entry) =>
          mayNameAttributes(entry) &&
          attributesClassesOf(entry.peek() as PersistentVolume | PersistentVolumeClaim).includes(name),
      ),
  );

/** Takes the protection off a claim, volume or class that is being deleted, and that nothing uses. */
export function releaseUnused(view: View, id: string, object: ApiObject): void {
  if (!Object.hasOwn(protectionFinalizers, id)) return;
  const meta = object.metadata;
  const finalizer = protectionFinalizers[id]!;
  if (!meta.finalizers?.includes(finalizer)) return;
  if (isInUse(view, id, object)) return;
  const kept = meta.finalizers.filter((one) => one !== finalizer);
  meta.finalizers = kept.length ? kept : undefined;
}

function isInUse(view: View, id: string, object: ApiObject): boolean {
  const { namespace = '', name = '' } = object.metadata;
  if (id === 'core/persistentvolumes') return isBound(object as PersistentVolume);
  if (id === 'core/persistentvolumeclaims') return isClaimInUse(view, namespace, name);
  return isAttributesClassInUse(view, name);
}
