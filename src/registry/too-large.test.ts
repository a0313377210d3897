/** Proves that a write that is too large only by its managed fields is stored without them, and that an apply is refused. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { KindTable } from '../api/kinds/kinds.ts';
import type { ApiObject } from '../api/text/object.ts';
import { openMemoryStore } from '../store/memory.ts';
import type { Store } from '../store/store.ts';
import { admissionChain } from './admission/plugins.ts';
import { asTester } from './request.fixture.ts';
import { collectionOf, targetOf } from './target.ts';
import { apply } from './verbs/apply.ts';
import { create } from './verbs/create.ts';
import { patch, readPatch } from './verbs/patch.ts';
import type { Entry } from './view/entry.ts';
import { View } from './view/view.ts';
import { makeWriting, type Writing } from './writing.ts';

/** Holds the data of these tests, but not what is said about its owners beside it. */
const bytesMax = 3000;
const keys = Array.from({ length: 60 }, (_, i) => `key-number-${i}`);
const data = Object.fromEntries(keys.map((key) => [key, 'value']));

const kinds = new KindTable();
const configMaps = kinds.resource('v1', 'configmaps')!;
const collection = collectionOf(configMaps, 'default');
let store: Store;
let view: View;
let writing: Writing;

beforeAll(async () => {
  store = openMemoryStore();
  Object.defineProperty(store, 'valueBytesMax', { value: bytesMax });
  view = await View.open(store, kinds);
  let count = 0;
  const sources = {
    nowMs: () => Date.UTC(2026, 0, 1),
    uid: () => `uid-${count++}`,
    randomBelow: () => 0,
  };
  writing = makeWriting(store, view, kinds, sources, { admission: admissionChain });
  const namespaces = collectionOf(kinds.resource('v1', 'namespaces')!, '');
  await create(writing, asTester('create'), namespaces, { metadata: { name: 'default' } });
});

afterAll(async () => {
  view.close();
  await store.close();
});

const make = (name: string, content: object): Promise<Entry> =>
  create(writing, asTester('create'), collection, { metadata: { name }, data: content } as ApiObject);
const merge = (name: string, content: object): Promise<Entry> =>
  patch(
    writing,
    asTester('patch'),
    targetOf({ ...collection, name }),
    readPatch('merge', { data: content }, []),
  );
const applyAs = (name: string, content: object): Promise<{ entry: Entry }> => {
  const value = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name }, data: content };
  const request = asTester('patch', { isApply: true, fieldManager: 'applier' });
  const target = targetOf({ ...collection, name });
  return apply(writing, request, target, { value, duplicates: [], force: false }, () => undefined);
};
const ownersOf = ({ managed }: Entry): string[] | undefined => managed?.entries.map(({ manager }) => manager);

it('a small object has managed fields', async () => {
  expect(ownersOf(await make('small', { a: 'b' }))).toEqual(['vitest']);
});

it('a create is stored without them', async () => {
  const entry = await make('created', data);
  expect(ownersOf(entry)).toBeUndefined();
  expect(entry.object()).toMatchObject({ data });
});

it('an update drops those that are there', async () => {
  await make('updated', { a: 'b' });
  const entry = await merge('updated', data);
  expect(ownersOf(entry)).toBeUndefined();
  expect(entry.object()).toMatchObject({ data: { a: 'b', ...data } });
});

it('an object that is too large by itself is refused', async () => {
  await make('kept', { a: 'b' });
  const more = Object.fromEntries(keys.map((key) => [key, 'x'.repeat(100)]));
  await expect(make('refused', more)).rejects.toMatchObject({ code: 413 });
  await expect(merge('kept', more)).rejects.toMatchObject({ code: 413 });
  expect(ownersOf(view.collection(configMaps).get('default', 'kept')!)).toEqual(['vitest']);
});

it('an apply is refused', async () => {
  await make('applied', { a: 'b' });
  await expect(applyAs('applied', data)).rejects.toMatchObject({ code: 413 });
  await expect(applyAs('new', data)).rejects.toMatchObject({ code: 413 });
  expect(ownersOf((await applyAs('applied', { c: 'd' })).entry)).toEqual(['applier', 'vitest']);
});
