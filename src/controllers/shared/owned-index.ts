/**
 * An owned index: the objects of one kind by their controller. Like the pod index it is never behind the view,
 * because every query first applies pending changes.
 */
import type { OwnerReference } from '../../api/generated/types.ts';
import type { Kind, ResourceId } from '../../api/kind/kind.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Follower } from '../../registry/view/follower.ts';
import { keyOf } from './controller.ts';
import { controllerOf } from './indexed-pod.ts';
import type { Ownable, Owned } from './ownership.ts';

export interface OwnedItem extends Ownable {
  readonly controller: OwnerReference | undefined;
}

export class OwnedIndex implements Owned<OwnedItem> {
  readonly #follower: Follower<OwnedItem>;
  readonly #byController = new Map<string, Set<OwnedItem>>();
  readonly #uncontrolled = new Map<string, Set<OwnedItem>>();

  constructor(registry: Registry, of: Kind | ResourceId) {
    this.#follower = new Follower(registry.view.collection(of), {
      read: ownedItem,
      gained: (item) => {
        const [groups, key] = this.#placeOf(item);
        const group = groups.get(key);
        if (group) group.add(item);
        else groups.set(key, new Set([item]));
      },
      lost: (item) => {
        const [groups, key] = this.#placeOf(item);
        const group = groups.get(key);
        group?.delete(item);
        if (group?.size === 0) groups.delete(key);
      },
    });
  }

  controlledBy(namespace: string, uid: string): OwnedItem[] {
    this.#follower.catchUp();
    return [...(this.#byController.get(keyOf(namespace, uid)) ?? [])];
  }

  uncontrolled(namespace: string): OwnedItem[] {
    this.#follower.catchUp();
    return [...(this.#uncontrolled.get(namespace) ?? [])];
  }

  #placeOf({ namespace, controller }: OwnedItem): [Map<string, Set<OwnedItem>>, string] {
    return controller?.uid
      ? [this.#byController, keyOf(namespace, controller.uid)]
      : [this.#uncontrolled, namespace];
  }
}

export function ownedItem(entry: Entry): OwnedItem {
  const { uid = '', labels, ownerReferences, deletionTimestamp } = entry.peek().metadata;
  return {
    entry,
    namespace: entry.namespace,
    name: entry.name,
    uid,
    labels,
    marked: deletionTimestamp !== undefined,
    controller: controllerOf(ownerReferences),
  };
}
