/**
 * Orphaning: removes the owner references to an object from its dependents, so that it can be deleted and they stay.
 * The garbage collector does the same when it sees the owner marked, and may be faster.
 */

import type { Registry } from '../registry.ts';
import { targetOf } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import { Filter } from '../view/filter.ts';
import { actingAs } from '../writers.ts';
import type { Writing } from '../writing.ts';
import { ifExists } from './if-exists.ts';
import { isReleased, modify } from './modify.ts';

const request = () => actingAs('generic-garbage-collector', 'update');

/**
 * Removes the owner references of the dependents. They are in the owner's namespace, or anywhere for a cluster-scoped
 * owner.
 */
export async function orphanDependents(writing: Writing, owner: Entry): Promise<void> {
  const { uid } = owner.peek().metadata;
  for (const dependent of dependentsOf(writing.registry, owner, uid))
    await ifExists(
      modify(writing, request(), targetOf(dependent, 'whole'), (current) => {
        const object = current.object();
        const kept = object.metadata.ownerReferences?.filter((reference) => reference.uid !== uid);
        object.metadata.ownerReferences = kept?.length ? kept : undefined;
        return object;
      }),
    );
}

function dependentsOf(registry: Registry, { namespace }: Entry, uid: string | undefined): Entry[] {
  const inNamespace = new Filter(namespace || undefined, undefined, undefined, undefined);
  return [...registry.kinds.stored()]
    .flatMap((kind) => registry.view.collection(kind).select(inNamespace).entries)
    .filter(
      (entry) =>
        entry.mayHaveOwners &&
        entry.peek().metadata.ownerReferences?.some((reference) => reference.uid === uid),
    );
}

/** Removes the collector's finalizer from an owner whose dependents are orphaned. True: the owner is gone. */
export async function finishOrphaning(writing: Writing, owner: Entry): Promise<boolean> {
  const left = await ifExists(
    modify(writing, request(), targetOf(owner, 'whole'), (current) => {
      const object = current.object();
      const kept = object.metadata.finalizers?.filter((finalizer) => finalizer !== 'orphan');
      object.metadata.finalizers = kept?.length ? kept : undefined;
      return object;
    }),
  );
  return !left || isReleased(left.kind, left.object());
}
