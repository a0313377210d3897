/**
 * Opens a view of a store that may contain encrypted values. All values of the current state must be readable. Values
 * in history need not be: after a key was replaced, some can only be decrypted with the old key. Such history is
 * dropped.
 */
import type { KindTable } from '../../api/kinds/kinds.ts';
import type { Store } from '../../store/store.ts';
import { parseStoreKey } from '../view/key.ts';
import { isSealed, UnreadableValueError, withoutConfiguration } from '../view/unreadable.ts';
import { View, type ViewOptions } from '../view/view.ts';

const pageSize = 1000;

export async function openReadableView(store: Store, kinds: KindTable, options: ViewOptions): Promise<View> {
  try {
    return await View.open(store, kinds, options);
  } catch (error) {
    if (!(error instanceof UnreadableValueError)) throw error;
    const revision = await readableRevision(store);
    await store.compact(revision);
    return View.open(store, kinds, options);
  }
}

/** The revision at which every value can be read. Throws for the first that cannot. */
async function readableRevision(store: Store): Promise<number> {
  let revision: number | undefined;
  for (let start: string | undefined = ''; start !== undefined; ) {
    const query = { start, limit: pageSize };
    const page = await store.range(revision === undefined ? query : { ...query, revision });
    revision ??= page.revision;
    for (const { key, value } of page.items)
      if (isSealed(value)) throw withoutConfiguration(parseStoreKey(key).id, value);
    start = page.more ? `${page.items.at(-1)!.key}\u0000` : undefined;
  }
  return revision!;
}
