/** Calls back with the place of every object of a collection that changes, and for all of them after a gap. */
import type { Collection } from '../../registry/view/collection.ts';
import { everything } from '../../registry/view/filter.ts';
import { Watcher } from '../../registry/view/watcher.ts';

/** Starts the watch; returns a function that ends it. */
export function watchChanges(
  collection: Collection,
  changed: (namespace: string, name: string) => void,
): () => void {
  let watcher: Watcher;
  let closed = false;
  const watch = (): void => {
    const start = { state: undefined, position: collection.endNumber };
    watcher = new Watcher(collection, everything, start, {
      send(notices) {
        for (const { event } of notices) if (event) changed(event.namespace, event.name);
        return true;
      },
      stateSent: () => undefined,
      expired() {
        if (closed) return;
        watch();
        for (const { namespace, name } of collection.select(everything).entries) changed(namespace, name);
      },
    });
  };
  watch();
  return () => {
    closed = true;
    watcher.close();
  };
}
