/**
 * Proves that a long history answers as one in memory does: lists at every version and watches from every version are the
 * same, with old states read from the store, and a kind that is added later has its history.
 */
import { afterEach, expect, it } from 'vitest';
import { configMap } from '../../api/kinds/core/config-map.ts';
import { builtinKinds, KindTable } from '../../api/kinds/kinds.ts';
import { MemoryEngine } from '../../store/memory.ts';
import { VersionedStore } from '../../store/versioned.ts';
import type { Collection } from './collection.ts';
import { everything } from './filter.ts';
import { storeKey } from './key.ts';
import { loadedEventsMax } from './stored-event.ts';
import { View } from './view.ts';
import { Watcher } from './watcher.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const changes = 3 * loadedEventsMax;

async function filled(): Promise<VersionedStore> {
  const store = new VersionedStore(new MemoryEngine());
  closers.push(() => store.close());
  for (let i = 0; i < changes; i++) {
    const name = `m${i % 7}`;
    const object = {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name, namespace: 'default', uid: `u${i % 7}` },
      data: { i: String(i) },
    };
    const value = i % 11 === 10 ? null : Buffer.from(JSON.stringify(object));
    await store.assign([{ key: storeKey(configMap.id, 'default', name), value }]);
  }
  return store;
}

async function opened(
  store: VersionedStore,
  isLong: boolean,
  kinds = new KindTable(builtinKinds),
): Promise<View> {
  const past = (revision: number) => store.valueAt(revision);
  const view = await View.open(store, kinds, isLong ? { past } : {});
  closers.push(() => view.close());
  return view;
}

const listed = (collection: Collection, revision: number): string[] =>
  collection.select(everything, { revision }).entries.map(({ document }) => document.toString('utf8'));

function watched(collection: Collection, after: number): string[] {
  const lines: string[] = [];
  const start = { state: undefined, position: collection.numberAfter(after), after };
  new Watcher(collection, everything, start, {
    sliceBytesMax: Number.POSITIVE_INFINITY,
    send: (notices) => {
      for (const { type, entry } of notices) lines.push(`${type} ${entry.document.toString('utf8')}`);
      return true;
    },
    stateSent: () => undefined,
    expired: () => lines.push('expired'),
  }).pump();
  return lines;
}

it('lists and watches the past as a history in memory does', async () => {
  const store = await filled();
  const [short, long] = [await opened(store, false), await opened(store, true)];
  const collections = [short, long].map((view) => view.collection(configMap)) as [Collection, Collection];
  const [inMemory, onDisk] = collections;
  for (let revision = 1; revision <= store.revision(); revision += 13)
    expect(listed(onDisk, revision), `at ${revision}`).toEqual(listed(inMemory, revision));
  const all = watched(onDisk, 0);
  expect(all.length).toBeGreaterThan(loadedEventsMax);
  expect(all).toEqual(watched(inMemory, 0));
  // And after the oldest part was dropped.
  const half = Math.floor(store.revision() / 2);
  for (const view of [short, long]) view.forget(half);
  await store.compact(half);
  expect(listed(onDisk, half)).toEqual(listed(inMemory, half));
  expect(watched(onDisk, half)).toEqual(watched(inMemory, half));
});

it('gives a kind that is added its history, and counts bytes', async () => {
  const store = await filled();
  const kinds = new KindTable(builtinKinds.filter(({ storage }) => storage !== configMap.storage));
  const view = await opened(store, true, kinds);
  await kinds.add(configMap);
  const whole = (await opened(store, false)).collection(configMap);
  expect(watched(view.collection(configMap), 0)).toEqual(watched(whole, 0));
  expect(listed(view.collection(configMap), 100)).toEqual(listed(whole, 100));
  const bytes = view.changeBytes;
  const dropped = view.revisionToForget(0, Number.POSITIVE_INFINITY, bytes / 2)!;
  expect(dropped).toBeGreaterThan(store.revision() / 3);
  expect(dropped).toBeLessThan((store.revision() * 2) / 3);
  view.forget(dropped);
  expect(view.changeBytes).toBeLessThanOrEqual(bytes / 2);
  expect(view.revisionToForget(0, Number.POSITIVE_INFINITY, bytes / 2)).toBeUndefined();
});
