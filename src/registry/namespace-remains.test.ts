/** Proves that a namespace which disappears leaves nothing behind, whatever removed it and whatever came in between. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Kind } from '../api/kind/kind.ts';
import { widgetKind } from '../api/kind/widget.fixture.ts';
import { KindTable } from '../api/kinds/kinds.ts';
import type { ApiObject } from '../api/text/object.ts';
import { openMemoryStore } from '../store/memory.ts';
import type { Store, Write } from '../store/store.ts';
import { admissionChain } from './admission/plugins.ts';
import { removeRemains } from './namespace-remains.ts';
import type { Registry } from './registry.ts';
import { asTester } from './request.fixture.ts';
import { collectionOf, targetOf } from './target.ts';
import { create } from './verbs/create.ts';
import { remove } from './verbs/delete.ts';
import { modify } from './verbs/modify.ts';
import { parseStoreKey } from './view/key.ts';
import { View } from './view/view.ts';
import { makeWriting, type Writing } from './writing.ts';

let store: Store;
let kinds: KindTable;
let view: View;
let registry: Registry;
let writing: Writing;
/** Holds writes of these keys back until it resolves. */
let hold: { readonly name: string; readonly until: Promise<void>; reached(): void } | undefined;

beforeEach(async () => {
  const memory = openMemoryStore();
  store = {
    ...delegated(memory),
    write: async (write: Write) => {
      if (hold && write.value !== null && parseStoreKey(write.key).name === hold.name) {
        hold.reached();
        await hold.until;
      }
      return memory.write(write);
    },
  };
  kinds = new KindTable();
  view = await View.open(store, kinds);
  let count = 0;
  const sources = { nowMs: () => Date.now(), uid: () => `uid-${count++}`, randomBelow: () => 0 };
  writing = makeWriting(store, view, kinds, sources, { admission: admissionChain });
  ({ registry } = writing);
  for (const name of ['going', 'staying']) await makeNamespace(name);
});

afterEach(async () => {
  hold = undefined;
  view.close();
  await store.close();
});

const delegated = (memory: Store): Store => ({
  get compacted() {
    return memory.compacted;
  },
  valueBytesMax: memory.valueBytesMax,
  revision: () => memory.revision(),
  get: (key) => memory.get(key),
  range: (query) => memory.range(query),
  write: (write) => memory.write(write),
  watch: (after, listener) => memory.watch(after, listener),
  stats: () => memory.stats(),
  compact: (revision) => memory.compact(revision),
  backup: () => memory.backup(),
  close: () => memory.close(),
});

const kindOf = (resource: string): Kind => kinds.resource('v1', resource)!;
const makeNamespace = (name: string) =>
  create(writing, asTester('create'), collectionOf(kindOf('namespaces'), ''), { metadata: { name } });
const make = (kind: Kind, namespace: string, name: string, finalizers?: string[]) =>
  create(writing, asTester('create'), collectionOf(kind, namespace), {
    metadata: { name, ...(finalizers ? { finalizers } : {}) },
  });

/** Deletes a namespace and finalizes it, as a controller does that knows few kinds. */
async function removeNamespace(name: string): Promise<void> {
  const target = targetOf({ kind: kindOf('namespaces'), namespace: '', name });
  await remove(writing, asTester('delete'), target, {});
  await modify(writing, asTester('update'), { ...target, part: 'finalize' }, (current) => {
    const namespace = current.object();
    return { ...namespace, spec: { finalizers: [] } } as ApiObject;
  });
}

/** All that the store has in a namespace. */
async function stored(namespace: string): Promise<string[]> {
  const { items } = await store.range({ start: '' });
  return items
    .map(({ key }) => parseStoreKey(key))
    .filter((parts) => parts.namespace === namespace)
    .map(({ id, name }) => `${id} ${name}`);
}

describe('a namespace that is finalized before it is empty', () => {
  it('takes along what it holds, held by finalizers or not, and nothing else', async () => {
    for (const namespace of ['going', 'staying']) {
      for (let i = 0; i < 200; i++) await make(kindOf('configmaps'), namespace, `c${i}`);
      await make(kindOf('secrets'), namespace, 'held', ['example.com/hold']);
      await make(kindOf('serviceaccounts'), namespace, 'a');
    }
    await removeNamespace('going');
    expect(await stored('going')).toEqual([]);
    expect(view.collection('core/configmaps').size).toBe(200);
    expect(await stored('staying')).toHaveLength(202);
  });

  it('takes along objects of a kind that is not served at the time', async () => {
    const widgets = widgetKind();
    await kinds.add(widgets);
    for (const namespace of ['going', 'staying']) await make(widgets, namespace, 'w');
    await make(widgets, 'going', 'held', ['example.com/hold']);
    await kinds.remove(widgets);
    expect(await stored('going')).toHaveLength(2);
    await removeNamespace('going');
    expect(await stored('going')).toEqual([]);

    await makeNamespace('going');
    await kinds.add(widgets);
    expect(view.collection(widgets).get('going', 'w')).toBeUndefined();
    expect(view.collection(widgets).get('staying', 'w')).toBeDefined();
  });

  it('takes along objects of a kind that comes at the same time', async () => {
    const widgets = widgetKind();
    await kinds.add(widgets);
    for (let i = 0; i < 50; i++) await make(widgets, 'going', `w${i}`);
    await kinds.remove(widgets);
    await Promise.all([kinds.add(widgets), removeNamespace('going')]);
    expect(await stored('going')).toEqual([]);
    expect(view.collection(widgets).size).toBe(0);
  });
});

describe('a create that was let in before its namespace went', () => {
  it('is withdrawn, and told that there is no such namespace', async () => {
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    let reached = (): void => undefined;
    const atStore = new Promise<void>((resolve) => {
      reached = resolve;
    });
    hold = { name: 'late', until, reached: () => reached() };
    const creating = make(kindOf('configmaps'), 'going', 'late');
    const outcome = expect(creating).rejects.toMatchObject({
      code: 404,
      status: { message: 'namespaces "going" not found' },
    });
    await atStore;
    await removeNamespace('going');
    release();
    await outcome;
    expect(await stored('going')).toEqual([]);
    expect(view.collection('core/configmaps').size).toBe(0);
  });
});

describe('a namespace that was made anew', () => {
  it('keeps what was written in it since', async () => {
    await make(kindOf('configmaps'), 'going', 'old');
    const { revision } = view;
    await make(kindOf('configmaps'), 'going', 'new');
    await removeRemains(registry, 'going', revision);
    expect(await stored('going')).toEqual(['core/configmaps new']);
  });
});
