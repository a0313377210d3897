/** Proves that a deletion of many objects leaves turns of the event loop to others. */
import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { KindTable } from '../../api/kinds/kinds.ts';
import { MemoryEngine } from '../../store/memory.ts';
import { VersionedStore } from '../../store/versioned.ts';
import { admissionChain } from '../admission/plugins.ts';
import { asTester } from '../request.fixture.ts';
import { ensureSystemNamespaces } from '../system/system-namespaces.ts';
import { collectionOf } from '../target.ts';
import { Filter } from '../view/filter.ts';
import { View } from '../view/view.ts';
import { makeWriting } from '../writing.ts';
import { create } from './create.ts';
import { removeCollection } from './delete.ts';

it('a collection is deleted a few objects in each turn', async () => {
  const kinds = new KindTable();
  const configMaps = kinds.resource('v1', 'configmaps')!;
  const collection = collectionOf(configMaps, 'default');
  const store = new VersionedStore(new MemoryEngine());
  const sources = { nowMs: () => 0, uid: randomUUID, randomBelow: () => 0 };
  const writing = makeWriting(store, await View.open(store, kinds), kinds, sources, {
    admission: admissionChain,
  });
  const { view } = writing.registry;
  onTestFinished(async () => {
    view.close();
    await store.close();
  });
  await ensureSystemNamespaces(writing);
  for (let i = 0; i < 300; i++)
    await create(writing, asTester('create'), collection, { metadata: { name: `c${i}` } });
  const filter = new Filter('default', undefined, undefined, undefined);
  const left = (): number => view.collection(configMaps).select(filter, {}).entries.length;
  expect(left()).toBe(300);
  const counts = [left()];
  let isCounting = true;
  const count = (): void => {
    counts.push(left());
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  const { entries } = await removeCollection(
    writing,
    asTester('deletecollection'),
    collection,
    filter,
    {},
    undefined,
  );
  isCounting = false;
  expect(entries.length).toBe(300);
  expect(left()).toBe(0);
  const removed = counts.slice(1).map((each, i) => counts[i]! - each);
  expect(Math.max(...removed)).toBeLessThanOrEqual(16);
  expect(Math.max(...removed)).toBeGreaterThan(0);
});
