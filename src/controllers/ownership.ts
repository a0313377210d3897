/**
 * Ownership: which pods are a controller's own. Those it selects and nobody controls are adopted; those it controls
 * and no longer selects are released. What is being deleted neither adopts nor releases.
 */
import { conflict } from '../api/errors.ts';
import type { OwnerReference, Pod } from '../api/generated/types.ts';
import type { Kind } from '../api/kind.ts';
import type { LabelSelector } from '../api/labelselector.ts';
import type { ApiObject } from '../api/object.ts';
import type { Entry } from '../registry/entry.ts';
import { modify } from '../registry/modify.ts';
import { internalWrite, type Registry } from '../registry/registry.ts';
import { type SharedContext, tolerant } from './controller.ts';
import { controllerOf, type IndexedPod } from './indexedpod.ts';

export interface Claim {
  /** The state of the owner. */
  readonly entry: Entry;
  readonly owner: ApiObject;
  readonly selector: LabelSelector;
  /** Pods that are not claimable are left as they are. */
  readonly claimable?: (pod: IndexedPod) => boolean;
  /** What else is done to a pod that is adopted. */
  readonly adopted?: (pod: Pod) => void;
}

export const controllerReference = (kind: Kind, { metadata }: ApiObject): OwnerReference => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

/** Adopts and releases as needed, and answers with the pods that are the owner's. */
export async function claimPods(context: SharedContext, claim: Claim): Promise<IndexedPod[]> {
  const { entry, owner, selector, claimable = () => true } = claim;
  const uid = owner.metadata.uid ?? '';
  const own = (): IndexedPod[] => context.pods.controlledBy(entry.namespace, uid);
  if (owner.metadata.deletionTimestamp) return own().filter(({ labels }) => selector.matches(labels));
  const writes: Promise<unknown>[] = [];
  for (const pod of own())
    if (!selector.matches(pod.labels) && claimable(pod)) writes.push(release(context.registry, pod, uid));
  for (const pod of context.pods.uncontrolled(entry.namespace))
    if (!pod.marked && selector.matches(pod.labels) && claimable(pod))
      writes.push(adopt(context.registry, pod, claim));
  await Promise.all(writes);
  return own().filter(({ labels }) => selector.matches(labels));
}

/**
 * The owner is looked at in the moment of the write: pods that are adopted by an owner which has let its pods go
 * would be taken for garbage.
 */
function adopt(registry: Registry, pod: IndexedPod, { entry, owner, adopted }: Claim): Promise<boolean> {
  return changePod(registry, pod, (now) => {
    const { kind, namespace, name } = entry;
    const current = registry.view.collection(kind.resource).get(namespace, name)?.object().metadata;
    if (current?.uid !== owner.metadata.uid || current?.deletionTimestamp) return false;
    const references = now.metadata.ownerReferences ?? [];
    if (controllerOf(references) || now.metadata.deletionTimestamp) return false;
    now.metadata.ownerReferences = [...references, controllerReference(kind, owner)];
    adopted?.(now);
    return true;
  });
}

function release(registry: Registry, pod: IndexedPod, uid: string): Promise<boolean> {
  return changePod(registry, pod, (now) => {
    now.metadata.ownerReferences = now.metadata.ownerReferences?.filter((one) => one.uid !== uid);
    return true;
  });
}

/**
 * Changes the metadata of a pod, unless it is gone, another has taken its name, or the change answers that it no
 * longer applies. False: nothing was changed.
 */
export function changePod(
  registry: Registry,
  { entry, namespace, name, uid }: IndexedPod,
  change: (pod: Pod) => boolean,
): Promise<boolean> {
  return tolerant(
    modify(registry, entry.kind, namespace, name, 'whole', internalWrite(), (current) => {
      const pod = current.object() as Pod;
      if (pod.metadata.uid !== uid || !change(pod))
        throw conflict(entry.kind, name, 'the object is another by now');
      return pod;
    }),
  );
}
