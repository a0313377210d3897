/**
 * Proves that every wait ends with a 504 when the request's deadline has passed, and that nothing is changed
 * afterwards.
 */

import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KindTable } from '../api/kinds/kinds.ts';
import type { Version } from '../store/engine.ts';
import { MemoryEngine } from '../store/memory.ts';
import type { Change, Store } from '../store/store.ts';
import { VersionedStore } from '../store/versioned.ts';
import { admissionChain } from './admission/plugins.ts';
import type { Registry } from './registry.ts';
import { asTester } from './request.fixture.ts';
import type { Request } from './request.ts';
import { ensureSystemNamespaces } from './system/system-namespaces.ts';
import { collectionOf, type Target, targetOf } from './target.ts';
import { create } from './verbs/create.ts';
import { remove, removeCollection } from './verbs/delete.ts';
import { evict } from './verbs/eviction.ts';
import { list, read } from './verbs/list.ts';
import { modify } from './verbs/modify.ts';
import { Filter } from './view/filter.ts';
import { storeKey } from './view/key.ts';
import { View } from './view/view.ts';
import { makeWriting, type Writing } from './writing.ts';

const kinds = new KindTable();
const configMaps = kinds.resource('v1', 'configmaps')!;
const collection = collectionOf(configMaps, 'default');
const at = (name: string): Target => targetOf({ kind: configMaps, namespace: 'default', name });

/** A gate that promises wait at while it is closed; open at first. */
class Gate {
  #waiting: (() => void)[] | undefined;

  shut(): void {
    this.#waiting ??= [];
  }

  open(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const go of waiting) go();
  }

  pass(go: () => void): void {
    if (this.#waiting) this.#waiting.push(go);
    else go();
  }
}

/** An engine whose commits can be delayed. */
class SlowEngine extends MemoryEngine {
  constructor(private readonly disk: Gate) {
    super();
  }

  override commit(versions: readonly Version[]): Promise<void> {
    return new Promise((resolve) =>
      this.disk.pass(() => {
        void super.commit(versions);
        resolve();
      }),
    );
  }
}

let nowMs: number;
let disk: Gate;
let feed: Gate;
let store: Store;
let registry: Registry;
let writing: Writing;

beforeEach(async () => {
  nowMs = 0;
  disk = new Gate();
  feed = new Gate();
  store = new VersionedStore(new SlowEngine(disk), { now: () => nowMs });
  const { watch } = store;
  store.watch = (after, listener) =>
    watch.call(store, after, (changes: readonly Change[]) => feed.pass(() => listener(changes)));
  const sources = { nowMs: () => nowMs, uid: randomUUID, randomBelow: () => 0 };
  writing = makeWriting(store, await View.open(store, kinds), kinds, sources, {
    admission: admissionChain,
  });
  ({ registry } = writing);
  await ensureSystemNamespaces(writing);
  await create(writing, asTester('create'), collection, { metadata: { name: 'a' } });
});

afterEach(async () => {
  registry.view.close();
  await store.close();
});

const hasty = (verb: Request['verb']): Request => asTester(verb, { deadlineMs: 10 });

const change = (request: Request, data: Record<string, string>) =>
  modify(writing, request, at('a'), (current) => ({ ...current.object(), data }));

const data = (): unknown => (registry.find(at('a')).object() as { data?: unknown }).data;

const tooLate = {
  code: 504,
  status: {
    reason: 'Timeout',
    message: 'Timeout: request did not complete within the allotted timeout',
  },
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a write gives up', () => {
  it('that waited for its turn at an object', async () => {
    disk.shut();
    const first = change(asTester('update'), { by: 'first' });
    const second = expect(change(hasty('update'), { by: 'second' })).rejects.toMatchObject(tooLate);
    const third = change(asTester('update'), { by: 'third' });
    await turn();
    nowMs = 11;
    disk.open();
    await Promise.all([first, second, third]);
    expect(data()).toEqual({ by: 'third' });
    expect(registry.find(at('a')).revision).toBe((await first).revision + 1);
  });

  it('that waited for a disk, and the store is none the worse for it', async () => {
    disk.shut();
    const first = create(writing, asTester('create'), collection, { metadata: { name: 'b' } });
    await turn();
    const second = create(writing, hasty('create'), collection, { metadata: { name: 'c' } });
    const rejected = expect(second).rejects.toMatchObject(tooLate);
    await turn();
    nowMs = 11;
    disk.open();
    await Promise.all([first, rejected]);
    expect(registry.view.collection(configMaps).get('default', 'c')).toBeUndefined();
    expect(registry.writeFailure).toBeUndefined();
  });

  it('but not one that is in time', async () => {
    disk.shut();
    const writes = [change(asTester('update'), { by: 'first' }), change(hasty('update'), { by: 'second' })];
    await turn();
    nowMs = 10;
    disk.open();
    await Promise.all(writes);
    expect(data()).toEqual({ by: 'second' });
  });
});

describe('while the view is behind', () => {
  const filter = new Filter('default', undefined, undefined, undefined);
  const podTarget = targetOf({ kind: kinds.resource('v1', 'pods')!, namespace: 'default', name: 'a' });
  it.each<[string, () => Promise<unknown> | unknown]>([
    ['a create', () => create(writing, hasty('create'), collection, { metadata: { name: 'c' } })],
    ['an update', () => change(hasty('update'), { by: 'late' })],
    ['a deletion', () => remove(writing, hasty('delete'), at('a'), {})],
    [
      'a deletion of a collection',
      () => removeCollection(writing, hasty('deletecollection'), collection, filter, {}, undefined),
    ],
    ['an eviction', () => evict(writing, hasty('create'), podTarget, { metadata: { name: 'a' } })],
    ['a read', () => read(registry, at('a'), undefined, 10)],
    ['a list', () => list(registry, configMaps, { namespace: 'default' }, 10)],
  ])('%s gives up', async (_, ask) => {
    feed.shut();
    // Another server on the same store has written an object.
    const key = storeKey(configMaps.id, 'default', 'other');
    await store.write({ key, value: Buffer.from('{"metadata":{"uid":"u"}}'), expected: 0 });
    const refused = expect(ask()).rejects.toMatchObject(tooLate);
    await turn();
    nowMs = 11;
    feed.open();
    await refused;
    expect(registry.view.collection(configMaps).get('default', 'c')).toBeUndefined();
    expect(data()).toBeUndefined();
    expect(registry.find(at('a')).object().metadata.deletionTimestamp).toBeUndefined();
  });
});
