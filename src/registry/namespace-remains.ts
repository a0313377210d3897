/**
 * Removes objects that remain when their namespace is gone. A namespace is emptied before it is removed, but the
 * controller need not know every kind, and a write that was accepted before the deletion may be stored after it. A new
 * namespace of the same name must not contain such objects.
 */
import type { Kind, ResourceId } from '../api/kind/kind.ts';
import { SEPARATOR, type Store, type Stored } from '../store/store.ts';
import type { Registry } from './registry.ts';
import type { Removal } from './removal.ts';
import type { Request } from './request.ts';
import type { Place } from './target.ts';
import type { Entry } from './view/entry.ts';
import { Filter } from './view/filter.ts';
import { endOfKeys, parseStoreKey, storeKey } from './view/key.ts';
import { actingAs } from './writers.ts';

/** Maximum number of concurrent removals. */
const width = 64;
/** Objects of unknown kinds that are read from the store at once. */
const pageSize = 1000;

export const namespaceExists = (registry: Registry, namespace: string): boolean =>
  registry.view.collection('core/namespaces').get('', namespace) !== undefined;

/**
 * Removes an object that was just created if its namespace has been deleted meanwhile; returns whether it was. The
 * namespace existed when the request was accepted, and everything in it has been removed since.
 */
export async function withdrawn(
  registry: Registry,
  request: Request,
  place: Place,
  revision: number,
): Promise<boolean> {
  if (!place.kind.namespaced || namespaceExists(registry, place.namespace)) return false;
  await registry.commit(request, place, null, revision);
  return true;
}

/**
 * Removes the remaining objects of a namespace that was deleted at a revision. If the namespace was created again,
 * objects written after that revision are kept.
 */
export async function removeRemains(registry: Registry, namespace: string, revision: number): Promise<void> {
  const inNamespace = new Filter(namespace, undefined, undefined, undefined);
  for (const kind of [...registry.kinds.stored()].filter(({ namespaced }) => namespaced)) {
    const queue = [...(registry.view.findCollection(kind.id)?.select(inNamespace).entries ?? [])];
    const worker = async (): Promise<void> => {
      for (let entry = queue.pop(); entry; entry = queue.pop())
        await removeRemaining(registry, entry, revision);
    };
    await Promise.all(Array.from({ length: Math.min(width, queue.length) }, worker));
  }
  await removeUnserved(registry, namespace, revision);
}

export const namespaceRemoval: Removal<Registry> = {
  id: 'core/namespaces',
  removed: (registry, { name }, revision) => removeRemains(registry, name, revision),
};

async function removeRemaining(registry: Registry, first: Entry, revision: number): Promise<void> {
  const { kind, namespace, name } = first;
  const request = actingAs('namespace-controller', 'delete');
  for (let entry: Entry | undefined = first; entry; ) {
    // Revisions of two stores cannot be compared: an object in another store may be newer than the namespace.
    const mayBeNew = entry.revision > revision || registry.view.of(kind) !== registry.view;
    if (mayBeNew && namespaceExists(registry, namespace)) return;
    if ((await registry.commit(request, entry, null, entry.revision)) !== undefined) return;
    entry = registry.view.findCollection(kind.id)?.get(namespace, name);
  }
}

/**
 * Removes objects of kinds that are not served. They exist in the store only, and would appear again with their kind.
 */
async function removeUnserved(registry: Registry, namespace: string, revision: number): Promise<void> {
  const { store } = registry;
  for (const id of await unservedIds(registry)) {
    let start = storeKey(id, namespace, '');
    const end = endOfKeys(id + SEPARATOR + namespace);
    for (let more = true; more; ) {
      const page = await store.range({ start, end, limit: pageSize });
      for (const item of page.items) await removeStored(store, item, revision);
      more = page.more;
      start = `${page.items.at(-1)?.key}${SEPARATOR}`;
    }
  }
}

async function removeStored(store: Store, item: Stored, revision: number): Promise<void> {
  for (let current: Stored | undefined = item; current && current.revision <= revision; ) {
    const result = await store.write({ key: current.key, value: null, expected: current.revision });
    if (result.ok) return;
    current = result.current;
  }
}

/** The kinds of stored objects that the kind table does not know, found by jumping from one kind's keys to the next. */
async function unservedIds({ store, kinds }: Registry): Promise<ResourceId[]> {
  const served = new Set<ResourceId>([...kinds.stored()].map(({ id }: Kind) => id));
  const unserved: ResourceId[] = [];
  for (let start = ''; ; ) {
    const [first] = (await store.range({ start, limit: 1 })).items;
    if (!first) return unserved;
    const { id } = parseStoreKey(first.key);
    if (!served.has(id)) unserved.push(id);
    // A key of an older format may have no segments.
    const next = endOfKeys(id);
    start = next > first.key ? next : first.key + SEPARATOR;
  }
}
