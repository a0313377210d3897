/** Protects objects that are in use from removal: kinds define the finalizer, and what uses their objects. */
import type { DeletionRules, OtherObjects } from '../../api/kind/kind.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { Filter } from '../view/filter.ts';
import type { View } from '../view/view.ts';

/** Read access to stored objects, for rules of kinds that look at other objects. */
export const otherObjects = (view: View): OtherObjects => ({
  some(of, namespace, mark, test) {
    const bytes = Buffer.from(mark);
    return view
      .collection(of)
      .select(new Filter(namespace, undefined, undefined, undefined))
      .entries.some((entry) => entry.document.includes(bytes) && test(entry.peek()));
  },
});

/** Removes the protection finalizer from an object that is being deleted and is not in use. */
export function releaseUnused(view: View, { protection }: DeletionRules<ApiObject>, object: ApiObject): void {
  const meta = object.metadata;
  if (!protection || !meta.finalizers?.includes(protection.finalizer)) return;
  if (protection.isInUse(object, otherObjects(view))) return;
  const kept = meta.finalizers.filter((one) => one !== protection.finalizer);
  meta.finalizers = kept.length ? kept : undefined;
}
