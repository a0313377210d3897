/**
 * States of a store that can be returned to. Values never change, so a state costs one walk over the keys. Returning to it
 * writes the differences: controllers see them as ordinary changes; watches of clients end with 410, so that they list
 * again, because they could not follow a jump.
 */
import type { MemoryState } from '../store/memory.ts';
import type { Store, Stored, Write } from '../store/store.ts';
import type { View } from './view/view.ts';

/** Attempts to write the differences while controllers write, too. */
const attemptsMax = 100;

type StateStore = Pick<Store, 'range' | 'write' | 'revision' | 'compact'>;
type Item = Pick<Stored, 'key' | 'value'>;

/** All that is stored. */
export async function storedState(store: StateStore): Promise<MemoryState> {
  const { items, revision } = await store.range({ start: '' });
  return { items, revision };
}

/**
 * Makes the store hold these objects and no others. Their versions are new ones.
 * @param wanted what it is to hold, from what it holds now
 * @returns how many objects were written or deleted
 */
export async function returnTo(
  store: StateStore,
  view: View,
  wanted: (now: readonly Stored[]) => readonly Item[],
): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const { items } = await store.range({ start: '' });
    const writes = differences(items, wanted(items));
    // All in one tick, before watches are notified.
    const results = await Promise.all(writes.map((write) => store.write(write)));
    if (results.some(({ ok }) => !ok)) continue;
    const revision = await store.revision();
    await view.reached(revision);
    view.restart(revision);
    // In the background, as history does it; a store that is closed meanwhile needs no compaction.
    store.compact(revision).catch(() => undefined);
    return new Set(writes.map(({ key }) => key)).size;
  }
  throw new Error('the state cannot be restored: objects change faster than they are written');
}

function differences(now: readonly Stored[], wanted: readonly Item[]): Write[] {
  const left = new Map(now.map((item) => [item.key, item]));
  const writes: Write[] = [];
  for (const { key, value } of wanted) {
    const current = left.get(key);
    left.delete(key);
    if (!current) writes.push({ key, value, expected: 0 });
    else if (!current.value.equals(value)) {
      // Another object of the same name: delete the current one first.
      const replaced = uidOf(current.value) !== uidOf(value);
      if (replaced) writes.push({ key, value: null, expected: current.revision });
      writes.push({ key, value, expected: replaced ? 0 : current.revision });
    }
  }
  for (const { key, revision } of left.values()) writes.push({ key, value: null, expected: revision });
  return writes;
}

const uidOf = (value: Buffer): string | undefined => /"uid":"([^"]*)"/.exec(value.toString('latin1'))?.[1];
