/**
 * States of a cluster that can be returned to. A snapshot holds the stored bytes themselves, which never change, so it
 * costs one walk over the keys. Returning to it writes the differences: controllers see them as ordinary changes; watches
 * of clients end with 410, so that they list again, because they could not follow a jump.
 */
import type { View } from '../registry/view/view.ts';
import type { MemoryState } from '../store/memory.ts';
import type { Stored, Write } from '../store/store.ts';
import type { RefusingStore } from './refusing-store.ts';

/** Attempts to write the differences while controllers write, too. */
const attemptsMax = 100;

/** All that is stored. */
export async function storedState(store: RefusingStore): Promise<MemoryState> {
  const { items, revision } = await store.range({ start: '' });
  return { items, revision };
}

/** Makes the store hold these objects and no others. Their versions are new ones. */
export async function returnTo(store: RefusingStore, view: View, { items }: MemoryState): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const writes = differences(await store.range({ start: '' }), items);
    // All in one tick, before watches are notified.
    const results = await Promise.all(writes.map((write) => store.force(write)));
    if (results.some(({ ok }) => !ok)) continue;
    const revision = store.revision();
    await view.reached(revision);
    view.restart(revision);
    // In the background, as history does it; a store that is closed meanwhile needs no compaction.
    store.compact(revision).catch(() => undefined);
    return;
  }
  throw new Error('the state cannot be restored: objects change faster than they are written');
}

function differences({ items: now }: { items: readonly Stored[] }, wanted: readonly Stored[]): Write[] {
  const left = new Map(now.map((item) => [item.key, item]));
  const writes: Write[] = [];
  for (const { key, value } of wanted) {
    const current = left.get(key);
    left.delete(key);
    if (!current) writes.push({ key, value, expected: 0 });
    else if (!current.value.equals(value)) {
      // Another object of the same name: the one that is there goes first.
      const replaced = uidOf(current.value) !== uidOf(value);
      if (replaced) writes.push({ key, value: null, expected: current.revision });
      writes.push({ key, value, expected: replaced ? 0 : current.revision });
    }
  }
  for (const { key, revision } of left.values()) writes.push({ key, value: null, expected: revision });
  return writes;
}

const uidOf = (value: Buffer): string | undefined => /"uid":"([^"]*)"/.exec(value.toString('latin1'))?.[1];
