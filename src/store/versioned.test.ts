// Proves that compaction removes the right versions, in slices, and can be interrupted after any slice.
import { describe, expect, it } from 'vitest';
import type { EngineState, Removal } from './engine.ts';
import { MemoryEngine } from './memory.ts';
import { follow, put, read, remove } from './observer.fixture.ts';
import { VersionedStore } from './versioned.ts';

/** Can be reopened, and can be stopped in the middle of a compaction. */
class CountingEngine extends MemoryEngine {
  override opened: EngineState = { revision: 0, compacted: 0, swept: 0 };
  removals: Removal[] = [];
  removalsMax = Number.POSITIVE_INFINITY;

  override remove(removal: Removal): void {
    if (this.removals.length === this.removalsMax) throw new Error('the power is gone');
    this.removals.push(removal);
    super.remove(removal);
  }

  reopen(revision: number): VersionedStore {
    const { compacted, swept } = this.removals.at(-1) ?? this.opened;
    this.opened = { revision, compacted, swept };
    return new VersionedStore(this);
  }

  count(revision: number): number {
    let versions = 0;
    for (let i = 1; i <= revision; i++) if (this.version(i)) versions++;
    return versions;
  }
}

/** Writes each of some keys several times, and finally deletes every third; returns the revision. */
async function fill(store: VersionedStore, keys: number, times: number): Promise<number> {
  for (let key = 0; key < keys; key++) {
    let revision = 0;
    for (let i = 0; i < times; i++) revision = await put(store, `k${key}`, `${i}`, revision);
    if (key % 3 === 0) await remove(store, `k${key}`, revision);
  }
  return store.revision();
}

describe('compaction', () => {
  it('leaves exactly the newest version of each key that exists', async () => {
    const engine = new CountingEngine();
    const store = new VersionedStore(engine);
    const revision = await fill(store, 99, 4);
    await store.compact(revision);
    expect(engine.count(revision)).toBe(66);
    expect([...engine.heads('', undefined)].length).toBe(66);
  });

  it('works in slices between commits', async () => {
    const engine = new CountingEngine();
    const store = new VersionedStore(engine);
    const revision = await fill(store, 99, 10);
    const order: string[] = [];
    const compaction = store.compact(revision).then(() => order.push('compacted'));
    const write = put(store, 'new', '').then(() => order.push('written'));
    await Promise.all([compaction, write]);
    expect(order).toEqual(['written', 'compacted']);
    expect(engine.removals.length).toBeGreaterThan(5);
    for (const { versions } of engine.removals) expect(versions.length).toBeLessThanOrEqual(200);
  });

  it('can be broken off after any slice and be gone on with', async () => {
    for (let slices = 0; slices < 5; slices++) {
      const engine = new CountingEngine();
      const before = new VersionedStore(engine);
      const revision = await fill(before, 90, 6);
      const state = await read(before);
      engine.removalsMax = slices;
      await expect(before.compact(revision)).rejects.toThrow('the power is gone');
      const store = engine.reopen(revision);
      expect(store.compacted).toBe(slices === 0 ? 0 : revision);
      expect(await read(store)).toEqual(state);
      engine.removalsMax = Number.POSITIVE_INFINITY;
      await put(store, 'k0', 'again');
      await store.compact(revision);
      expect(engine.count(revision)).toBe(60);
      const history = follow(store, revision);
      await history.until(revision + 1);
      expect(history.words()).toEqual([`k0=again@${revision + 1}`]);
      expect(await read(store, { revision })).toEqual(state);
    }
  });

  it('says that the store is damaged when a version is missing, instead of showing less', async () => {
    const engine = new CountingEngine();
    const store = new VersionedStore(engine);
    for (const key of ['a', 'b', 'c']) await put(store, key, '');
    engine.remove({ versions: [2], keys: [], compacted: 0, swept: 0 });
    const lost = 'the store is damaged: it has lost revision 2';
    await expect(store.get('b')).rejects.toThrow(lost);
    await expect(store.range({ start: '' })).rejects.toThrow(lost);
    await expect(follow(store, 0).subscription.ended).rejects.toThrow(lost);
    await expect(put(store, 'b', 'over it')).rejects.toThrow(lost);
    await expect(store.compact(3)).rejects.toThrow(lost);
  });
});

describe('assign', () => {
  it('gives keys new values in one commit, whatever they held, also several times', async () => {
    const engine = new CountingEngine();
    const commits: number[] = [];
    engine.commit = (versions) => {
      commits.push(versions.length);
      MemoryEngine.prototype.commit.call(engine, versions);
    };
    const store = new VersionedStore(engine);
    await put(store, 'a', '1');
    const text = (value: string) => Buffer.from(value);
    // Other writes of the same turn share the commit, and never split it.
    const others = Array.from({ length: 3_000 }, (_, i) => put(store, `other-${i}`, ''));
    const many = Array.from({ length: 1_500 }, (_, i) => ({ key: `k${i}`, value: text(String(i)) }));
    const revisions = await store.assign([
      { key: 'a', value: text('2') },
      ...many,
      { key: 'a', value: null },
      { key: 'missing', value: null },
      { key: 'a', value: text('3') },
    ]);
    await Promise.all(others);
    const [first] = revisions as [number];
    expect(revisions).toEqual([...Array.from({ length: 1_502 }, (_, i) => first + i), 0, first + 1_502]);
    expect(Math.max(...commits)).toBeGreaterThanOrEqual(1_503);
    expect((await store.get('a'))!.value.toString()).toBe('3');
    expect(store.valueAt(1)!.toString()).toBe('1');
    expect(store.valueAt(first + 1_501)).toBeUndefined();
    expect(await read(store, { start: 'a', end: 'b', revision: first })).toEqual([`a=2@${first}`]);
    await store.close();
  });
});
