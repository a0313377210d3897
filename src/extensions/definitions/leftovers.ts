/**
 * Removes objects whose definition is gone. They cannot be reached, because keys of custom objects contain the uid of
 * their definition. They remain when a definition's finalizer was removed by hand, or a server ended in the middle.
 */
import type { ResourceId } from '../../api/kind/kind.ts';
import { groupResource } from '../../api/kind/kind.ts';
import { customResourceDefinition } from '../../api/kinds/apiextensions/custom-resource-definition.ts';
import type { Registry } from '../../registry/registry.ts';
import { endOfKeys, parseStoreKey, storeKey } from '../../registry/view/key.ts';

/** Objects removed at a time. */
const pageSize = 500;

/** Removes all objects of one kind from the store. */
export async function removeObjectsOf({ store }: Registry, id: ResourceId): Promise<void> {
  const [start, end] = [storeKey(id, '', '').slice(0, id.length + 1), endOfKeys(id)];
  for (;;) {
    const { items } = await store.range({ start, end, limit: pageSize });
    if (items.length === 0) return;
    await Promise.all(
      items.map(({ key, revision }) => store.write({ key, value: null, expected: revision })),
    );
  }
}

/** Removes the objects of definitions that no longer exist. */
export async function removeForgottenObjects(registry: Registry): Promise<void> {
  for (const id of await customIds(registry))
    if (!(await isDefined(registry, id))) await removeObjectsOf(registry, id);
}

/** The ids of stored custom kinds, found by jumping from one kind's keys to the next. */
async function customIds({ store }: Registry): Promise<ResourceId[]> {
  const ids: ResourceId[] = [];
  for (let start = ''; ; ) {
    const [first] = (await store.range({ start, limit: 1 })).items;
    if (!first) return ids;
    const { id } = parseStoreKey(first.key);
    if (incarnationOf(id) !== undefined) ids.push(id);
    const next = endOfKeys(id);
    start = next > first.key ? next : `${first.key}\u0000`;
  }
}

/**
 * Whether a definition exists. Reads the store, because this server's view may not show a definition that another
 * server has just created.
 */
async function isDefined({ store }: Registry, id: ResourceId): Promise<boolean> {
  const { group, resource } = groupResource(id);
  const key = storeKey(customResourceDefinition.id, '', `${resource}.${group}`);
  const [item] = (await store.range({ start: key, limit: 1 })).items;
  if (item?.key !== key) return false;
  const { metadata } = JSON.parse(item.value.toString('utf8')) as { metadata?: { uid?: string } };
  return metadata?.uid === incarnationOf(id);
}

function incarnationOf(id: string): string | undefined {
  const mark = id.indexOf('#');
  return mark < 0 ? undefined : id.slice(mark + 1);
}
