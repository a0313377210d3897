/**
 * Ownership: which pods or replica sets belong to a controller. Selected ones without a controller are adopted;
 * controlled ones that are no longer selected are released. An owner that is being deleted does neither.
 */
import { conflict } from '../../api/errors/errors.ts';
import type { OwnerReference, Pod } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { LabelSelector } from '../../api/kind/label-selector.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { targetOf } from '../../registry/target.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { ifUnchanged, type SharedContext, type Writer } from './controller.ts';
import { controllerOf, type IndexedPod } from './indexed-pod.ts';

/** An object that can be owned, as an index holds it. */
export interface Ownable {
  readonly entry: Entry;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Whether it is being deleted. */
  readonly marked: boolean;
}

/** Looks up the objects of an owner, and those without one. */
export interface Owned<T extends Ownable> {
  controlledBy(namespace: string, uid: string): T[];
  uncontrolled(namespace: string): T[];
}

export interface Claim<T extends Ownable = IndexedPod, O extends ApiObject = Pod> {
  /** The state of the owner. */
  readonly entry: Entry;
  readonly owner: ApiObject;
  readonly selector: LabelSelector;
  /** Objects that are not claimable are left as they are. */
  readonly claimable?: (item: T) => boolean;
  /** Further changes to an adopted object. */
  readonly adopted?: (object: O) => void;
}

export const controllerReference = (kind: Kind, { metadata }: ApiObject): OwnerReference => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

/** Whether a reference names a kind, in any of its versions; a kind of another group may have the same name. */
export const refersTo = (reference: OwnerReference | undefined, { kind, group }: Kind): boolean =>
  reference?.kind === kind && groupOf(reference.apiVersion ?? '') === group;

const groupOf = (apiVersion: string): string => apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));

/** Adopts and releases as needed, and returns the owner's pods. */
export const claimPods = (context: SharedContext, claim: Claim): Promise<IndexedPod[]> =>
  claimFrom(context, context.pods, claim);

/** Adopts and releases as needed, and returns the owner's objects. */
export async function claimFrom<T extends Ownable, O extends ApiObject>(
  writer: Writer,
  index: Owned<T>,
  claim: Claim<T, O>,
): Promise<T[]> {
  const { entry, owner, selector, claimable = () => true } = claim;
  const uid = owner.metadata.uid ?? '';
  const own = (): T[] => index.controlledBy(entry.namespace, uid);
  if (owner.metadata.deletionTimestamp) return own().filter(({ labels }) => selector.matches(labels));
  const writes: Promise<unknown>[] = [];
  const matching: T[] = [];
  for (const item of own())
    if (selector.matches(item.labels)) matching.push(item);
    else if (claimable(item)) writes.push(release(writer, item, uid));
  for (const item of index.uncontrolled(entry.namespace))
    if (!item.marked && selector.matches(item.labels) && claimable(item))
      writes.push(adopt(writer, item, claim));
  if (!writes.length) return matching;
  await Promise.all(writes);
  return own().filter(({ labels }) => selector.matches(labels));
}

/**
 * Checks at the time of the write that the owner is not being deleted: an object adopted by an owner that has
 * orphaned its dependents would be garbage collected.
 */
function adopt<T extends Ownable, O extends ApiObject>(
  writer: Writer,
  item: T,
  { entry, owner, adopted }: Claim<T, O>,
): Promise<boolean> {
  return changeOwnable<O>(writer, item, (now) => {
    const { kind, namespace, name } = entry;
    const current = writer.registry.view.collection(kind).get(namespace, name)?.peek().metadata;
    if (current?.uid !== owner.metadata.uid || current?.deletionTimestamp) return false;
    const references = now.metadata.ownerReferences ?? [];
    if (controllerOf(references) || now.metadata.deletionTimestamp) return false;
    now.metadata.ownerReferences = [...references, controllerReference(kind, owner)];
    adopted?.(now);
    return true;
  });
}

function release(writer: Writer, item: Ownable, uid: string): Promise<boolean> {
  return changeOwnable(writer, item, (now) => {
    now.metadata.ownerReferences = now.metadata.ownerReferences?.filter((one) => one.uid !== uid);
    return true;
  });
}

export const changePod = (writer: Writer, pod: IndexedPod, change: (pod: Pod) => boolean): Promise<boolean> =>
  changeOwnable(writer, pod, change);

/**
 * Changes the metadata of an object, unless it is gone, a new one has its name, or the change no longer applies.
 * False: nothing was changed.
 */
export function changeOwnable<O extends ApiObject>(
  { writing, request }: Writer,
  { entry, uid }: Ownable,
  change: (object: O) => boolean,
): Promise<boolean> {
  return ifUnchanged(
    modify(writing, request('update'), targetOf(entry, 'whole'), (current) => {
      const object = current.object() as O;
      if (object.metadata.uid !== uid || !change(object))
        throw conflict(entry.kind, entry.name, 'the object is another by now');
      return object;
    }),
  );
}
