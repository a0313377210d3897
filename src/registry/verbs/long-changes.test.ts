/** Proves that a change of a long object leaves turns of the event loop to others between the passes over it. */
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { turnsDuring } from '../../../test/support/turns.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import { MemoryEngine } from '../../store/memory.ts';
import { VersionedStore } from '../../store/versioned.ts';
import { optimized } from '../../switches.ts';
import { admissionChain } from '../admission/plugins.ts';
import { asTester } from '../request.fixture.ts';
import { ensureSystemNamespaces } from '../system/system-namespaces.ts';
import { collectionOf, type Target } from '../target.ts';
import { View } from '../view/view.ts';
import { makeWriting, type Writing } from '../writing.ts';
import { apply } from './apply.ts';
import { create } from './create.ts';
import { patch, readPatch } from './patch.ts';

let writing: Writing;
const kinds = new KindTable();
const kind = kinds.resource('v1', 'configmaps')!;
const targetOf = (name: string): Target => ({ kind, namespace: 'default', name, part: 'main' });
/** A pass over them takes longer than computations may in one turn. */
const labels = Object.fromEntries(Array.from({ length: 8_000 }, (_, i) => [`label-${i}`, 'v']));

/** A pass over them is parted where that can be done. */
const moreLabels = Object.fromEntries(Array.from({ length: 12_000 }, (_, i) => [`label-${i}`, 'v']));

beforeAll(async () => {
  const store = new VersionedStore(new MemoryEngine());
  const sources = { nowMs: () => 0, uid: randomUUID, randomBelow: () => 0 };
  writing = makeWriting(store, await View.open(store, kinds), kinds, sources, { admission: admissionChain });
  await ensureSystemNamespaces(writing);
  const add = (metadata: object) =>
    create(writing, asTester('create'), collectionOf(kind, 'default'), { metadata } as never);
  await add({ name: 'long', labels });
  await add({ name: 'longer', labels: moreLabels });
  await add({ name: 'short' });
  return async () => {
    writing.registry.view.close();
    await store.close();
  };
});

it.each([
  [
    'a strategic merge patch',
    9,
    (name: string) => {
      const body = readPatch('strategic', { metadata: { labels: { more: 'v' } } }, []);
      return patch(writing, asTester('patch'), targetOf(name), body);
    },
  ],
  [
    'an apply',
    11,
    (name: string) => {
      const value = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { other: 'v' } } };
      const body = { value, duplicates: [], force: true };
      return apply(writing, asTester('patch'), targetOf(name), body, () => undefined);
    },
  ],
])('%s of a long object pauses after each pass', async (_name, passes, change) => {
  const { turns: short } = await turnsDuring<unknown>(() => change('short'));
  const { turns: long } = await turnsDuring<unknown>(() => change('long'));
  expect(long - short).toBeGreaterThanOrEqual(passes);
});

// Plain, managed fields are read by one call.
it.runIf(optimized).each([
  [
    'a merge patch',
    22,
    (k: number) => {
      const body = readPatch('merge', { metadata: { labels: { more: `v${k}` } } }, []);
      return patch(writing, asTester('patch'), targetOf('longer'), body);
    },
  ],
  [
    'an apply by a second manager',
    32,
    (k: number) => {
      const metadata = { name: 'longer', labels: moreLabels, annotations: { k: `${k}` } };
      const value = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
      const body = { value, duplicates: [], force: true, bytes: 240_000 };
      return apply(writing, asTester('patch'), targetOf('longer'), body, () => undefined);
    },
  ],
])('%s of an object with very many labels reads and compares it in parts', async (_name, parts, change) => {
  await change(1);
  writing.registry.view.collection(kind).get('default', 'longer')!.forget();
  const { turns } = await turnsDuring<unknown>(() => change(2));
  expect(turns).toBeGreaterThanOrEqual(parts);
});
