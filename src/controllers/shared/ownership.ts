/**
 * Ownership: which pods, or replica sets, are a controller's own. Those it selects and nobody controls are adopted;
 * those it controls and no longer selects are released. What is being deleted neither adopts nor releases.
 */
import { conflict } from '../../api/errors.ts';
import type { OwnerReference, Pod } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind.ts';
import type { LabelSelector } from '../../api/labelselector.ts';
import type { ApiObject } from '../../api/object.ts';
import type { Entry } from '../../registry/entry.ts';
import { modify } from '../../registry/modify.ts';
import { targetOf } from '../../registry/target.ts';
import { type SharedContext, tolerant, type Writing } from './controller.ts';
import { controllerOf, type IndexedPod } from './indexedpod.ts';

/** What can be owned, as an index knows it. */
export interface Ownable {
  readonly entry: Entry;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Whether it is being deleted. */
  readonly marked: boolean;
}

/** Where to find what an owner controls, and what nobody does. */
export interface Owned<T extends Ownable> {
  controlledBy(namespace: string, uid: string): T[];
  uncontrolled(namespace: string): T[];
}

export interface Claim<T extends Ownable = IndexedPod, O extends ApiObject = Pod> {
  /** The state of the owner. */
  readonly entry: Entry;
  readonly owner: ApiObject;
  readonly selector: LabelSelector;
  /** What is not claimable is left as it is. */
  readonly claimable?: (item: T) => boolean;
  /** What else is done to an object that is adopted. */
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

/** Whether a reference names a kind, in whichever of its versions: a kind of another group may have the same name. */
export const refersTo = (reference: OwnerReference | undefined, { kind, group }: Kind): boolean =>
  reference?.kind === kind && groupOf(reference.apiVersion ?? '') === group;

const groupOf = (apiVersion: string): string => apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));

/** Adopts and releases as needed, and answers with the pods that are the owner's. */
export const claimPods = (context: SharedContext, claim: Claim): Promise<IndexedPod[]> =>
  claimFrom(context, context.pods, claim);

/** Adopts and releases as needed, and answers with what is the owner's. */
export async function claimFrom<T extends Ownable, O extends ApiObject>(
  writing: Writing,
  index: Owned<T>,
  claim: Claim<T, O>,
): Promise<T[]> {
  const { entry, owner, selector, claimable = () => true } = claim;
  const uid = owner.metadata.uid ?? '';
  const own = (): T[] => index.controlledBy(entry.namespace, uid);
  if (owner.metadata.deletionTimestamp) return own().filter(({ labels }) => selector.matches(labels));
  const writes: Promise<unknown>[] = [];
  for (const item of own())
    if (!selector.matches(item.labels) && claimable(item)) writes.push(release(writing, item, uid));
  for (const item of index.uncontrolled(entry.namespace))
    if (!item.marked && selector.matches(item.labels) && claimable(item))
      writes.push(adopt(writing, item, claim));
  await Promise.all(writes);
  return own().filter(({ labels }) => selector.matches(labels));
}

/**
 * The owner is looked at in the moment of the write: what is adopted by an owner which has let its own go would be
 * taken for garbage.
 */
function adopt<T extends Ownable, O extends ApiObject>(
  writing: Writing,
  item: T,
  { entry, owner, adopted }: Claim<T, O>,
): Promise<boolean> {
  return changeOwnable<O>(writing, item, (now) => {
    const { kind, namespace, name } = entry;
    const current = writing.registry.view.collection(kind).get(namespace, name)?.peek().metadata;
    if (current?.uid !== owner.metadata.uid || current?.deletionTimestamp) return false;
    const references = now.metadata.ownerReferences ?? [];
    if (controllerOf(references) || now.metadata.deletionTimestamp) return false;
    now.metadata.ownerReferences = [...references, controllerReference(kind, owner)];
    adopted?.(now);
    return true;
  });
}

function release(writing: Writing, item: Ownable, uid: string): Promise<boolean> {
  return changeOwnable(writing, item, (now) => {
    now.metadata.ownerReferences = now.metadata.ownerReferences?.filter((one) => one.uid !== uid);
    return true;
  });
}

export const changePod = (
  writing: Writing,
  pod: IndexedPod,
  change: (pod: Pod) => boolean,
): Promise<boolean> => changeOwnable(writing, pod, change);

/**
 * Changes the metadata of an object, unless it is gone, another has taken its name, or the change answers that it no
 * longer applies. False: nothing was changed.
 */
export function changeOwnable<O extends ApiObject>(
  { registry, request }: Writing,
  { entry, uid }: Ownable,
  change: (object: O) => boolean,
): Promise<boolean> {
  return tolerant(
    modify(registry, request('update'), targetOf(entry, 'whole'), (current) => {
      const object = current.object() as O;
      if (object.metadata.uid !== uid || !change(object))
        throw conflict(entry.kind, entry.name, 'the object is another by now');
      return object;
    }),
  );
}
