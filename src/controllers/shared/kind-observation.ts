/**
 * Observation of all kinds: the present ones, and those added while the server runs. For controllers that handle
 * objects of any kind.
 */
import type { Kind, ResourceId } from '../../api/kind/kind.ts';
import type { Collection } from '../../registry/view/collection.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything } from '../../registry/view/filter.ts';
import { type ControllerContext, type Observation, observe } from './controller.ts';

export interface KindsObserver {
  /** Whether objects of a stored kind are observed; default: all. */
  wants?(kind: Kind): boolean;
  /** Like an `Observer`, with the stored kind of the object. */
  observed(kind: Kind, entry: Entry | undefined, previous: Entry | undefined): void;
  /** Called when a kind or another version of one was added; its objects are observed. */
  came?(kind: Kind): void;
  /** Called when a stored kind was removed. Its objects are no longer served, but have not been deleted. */
  went?(kind: Kind, entries: readonly Entry[]): void;
}

export function observeKinds(context: ControllerContext, observer: KindsObserver): Observation {
  const { kinds, view } = context.registry;
  const observed = new Map<ResourceId, { observation: Observation; collection: Collection }>();
  const begin = (kind: Kind): void => {
    if (kind.storage !== kind || observer.wants?.(kind) === false) return;
    const collection = view.collection(kind);
    const observation = observe(context, kind, (entry, previous) => observer.observed(kind, entry, previous));
    observed.set(kind.id, { observation, collection });
  };
  const end = (kind: Kind): void => {
    const known = kind.storage === kind ? observed.get(kind.id) : undefined;
    if (!known) return;
    known.observation.close();
    observed.delete(kind.id);
    observer.went?.(kind, known.collection.select(everything).entries);
  };
  for (const kind of kinds.stored()) begin(kind);
  const leave = kinds.follow(({ added, removed }) => {
    for (const kind of removed) end(kind);
    for (const kind of added) begin(kind);
    if (observer.came) for (const kind of added) observer.came(kind);
  });
  return {
    get caughtUp() {
      for (const { observation } of observed.values()) if (!observation.caughtUp) return false;
      return true;
    },
    close: () => {
      leave();
      for (const { observation } of observed.values()) observation.close();
    },
  };
}
