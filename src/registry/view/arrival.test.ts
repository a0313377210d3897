/**
 * Proves that the view follows the table of kinds: a kind that is added shows exactly what the store holds of it,
 * including concurrent writes; one that is replaced keeps its objects and watchers; one that is removed frees both.
 */

import { randomInt, randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { StatusError } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { otherServiceKind, type Widget, widgetKind, widgetTable } from '../../api/kind/widget.fixture.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { openMemoryStore } from '../../store/memory.ts';
import type { RangeQuery, Store } from '../../store/store.ts';
import { admissionChain } from '../admission/plugins.ts';
import type { Registry } from '../registry.ts';
import { asTester } from '../request.fixture.ts';
import { targetOf } from '../target.ts';
import { list } from '../verbs/list.ts';
import { watch } from '../verbs/watch.ts';
import { makeWriting } from '../writing.ts';
import { everything } from './filter.ts';
import { storeKey } from './key.ts';
import { View } from './view.ts';
import type { WatchSink } from './watcher.ts';

const sources = {
  nowMs: () => Date.now(),
  uid: () => randomUUID(),
  randomBelow: (n: number) => randomInt(n),
};
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A store whose range reads can be delayed, and made to fail. */
function slowStore(store: Store) {
  let gate: Promise<void> | undefined;
  let open = (): void => undefined;
  let failure: Error | undefined;
  const asked: RangeQuery[] = [];
  const slow = new Proxy(store, {
    get(target, name) {
      if (name === 'range')
        return async (query: RangeQuery) => {
          asked.push(query);
          const page = await target.range(query);
          await gate;
          if (failure) throw failure;
          return page;
        };
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    store: slow,
    asked,
    hold: (): void => {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    release: (): void => {
      gate = undefined;
      open();
    },
    fail: (error: Error | undefined): void => {
      failure = error;
    },
  };
}

let closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
});

async function server() {
  const slow = slowStore(openMemoryStore());
  const { store } = slow;
  const kinds = new KindTable();
  const view = await View.open(store, kinds);
  const writing = makeWriting(store, view, kinds, sources, { admission: admissionChain });
  const { registry } = writing;
  closing.push(async () => {
    view.close();
    await store.close();
  });
  const text = (kind: Kind, name: string, spec: Widget['spec']): Buffer =>
    registry.encode(asTester('create'), targetOf({ kind, namespace: 'n', name }), {
      metadata: { name, namespace: 'n', uid: `uid-${name}` },
      spec,
    } as ApiObject);
  return {
    ...slow,
    kinds,
    view,
    registry,
    /** Writes directly to the store, as another server would. */
    write: async (kind: Kind, name: string, size: number | null, expected = 0): Promise<number> => {
      const value = size === null ? null : text(kind, name, { size, color: 'red' });
      const result = await store.write({ key: storeKey(kind.storage.id, 'n', name), value, expected });
      if (!result.ok) throw new Error('lost');
      await view.reached(result.revision);
      return result.revision;
    },
    shown: (kind: Kind): string[] =>
      view
        .collection(kind)
        .select(everything)
        .entries.map((entry) => `${entry.name}=${(entry.object() as Widget).spec?.size}@${entry.revision}`),
  };
}

/** Watches and records the events. */
async function follow(
  registry: Registry,
  kind: Kind,
  resourceVersion?: string,
  sink: Partial<WatchSink> = {},
) {
  const told: string[] = [];
  const query = { namespace: undefined, ...(resourceVersion ? { resourceVersion } : {}) };
  const open = await watch(registry, kind, query, 'state');
  const watcher = open.start({
    send: (notices) => {
      for (const { type, entry } of notices) told.push(`${type} ${entry.name}@${entry.revision}`);
      return true;
    },
    stateSent: () => undefined,
    expired: () => void told.push('expired'),
    ended: () => void told.push('ended'),
    ...sink,
  });
  return { told, watcher };
}

const refusal = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'it was done',
    (error) => (error instanceof StatusError ? error.code : error),
  );

describe('a kind that comes', () => {
  it('shows what the store holds of it, with the versions of then, and nothing of its namesake', async () => {
    const { kinds, view, registry, write, shown } = await server();
    const [kind, other, pods] = [widgetKind(), otherServiceKind(), kinds.resource('v1', 'pods')!];
    await write(kind, 'a', 1);
    await write(kind, 'b', 2);
    await write(kind, 'b', 3, 2);
    await write(kind, 'a', null, 1);
    await write(other, 's', 1);
    await write(pods, 'p', 1);
    expect(() => view.collection(kind)).toThrow(StatusError);
    await kinds.add(kind, other);
    expect(shown(kind)).toEqual(['b=3@3']);
    expect(shown(other)).toEqual(['s=1@5']);
    expect(shown(kinds.resource('v1', 'services')!)).toEqual([]);
    // Versions from before the kind was added are too old; later ones can be watched.
    expect(view.collection(kind).since).toBe(6);
    expect(
      await refusal(
        list(registry, kind, { namespace: 'n', resourceVersion: '5', resourceVersionMatch: 'Exact' }),
      ),
    ).toBe(410);
    expect(await refusal(watch(registry, kind, { namespace: 'n', resourceVersion: '5' }, 'state'))).toBe(410);
    const { told } = await follow(registry, kind, '6');
    await write(kind, 'c', 4);
    expect(told).toEqual(['ADDED c@7']);
    const past = await list(registry, kind, {
      namespace: 'n',
      resourceVersion: '6',
      resourceVersionMatch: 'Exact',
    });
    expect(past.page.entries.map(({ name }) => name)).toEqual(['b']);
    const history = await watch(registry, kind, { namespace: undefined }, 'history');
    expect(history.stateRevision).toBe(7);
  });

  it('misses no change that is made while it is loaded, and shows none twice', async () => {
    const { kinds, view, registry, write, shown, hold, release, asked } = await server();
    const kind = widgetKind();
    const configMaps = kinds.resource('v1', 'configmaps')!;
    for (const name of ['a', 'b', 'c']) await write(kind, name, 1);
    hold();
    const added = kinds.add(kind);
    await turn();
    expect(asked.at(-1)).toMatchObject({ revision: 3 });
    await write(kind, 'a', 2, 1);
    await write(kind, 'b', null, 2);
    await write(kind, 'd', 1);
    await write(kind, 'd', 2, 6);
    // The kind is not visible yet, and other kinds can be written.
    expect(kinds.resource('example.com/v1', 'widgets')).toBeUndefined();
    await write(configMaps, 'x', 1);
    expect(shown(configMaps)).toEqual(['x=undefined@8']);
    release();
    await added;
    expect(shown(kind)).toEqual(['a=2@4', 'c=1@3', 'd=2@7']);
    expect(view.collection(kind).since).toBe(3);
    const { told } = await follow(registry, kind, '3');
    expect(told).toEqual(['MODIFIED a@4', 'DELETED b@5', 'ADDED d@6', 'MODIFIED d@7']);
    await write(kind, 'd', null, 7);
    expect(told.at(-1)).toBe('DELETED d@9');
  });

  it('is not there when it cannot be loaded, and can come later', async () => {
    const { kinds, view, write, shown, fail } = await server();
    const [kind, other] = [widgetKind(), otherServiceKind()];
    await write(kind, 'a', 1);
    fail(new Error('the disk is gone'));
    await expect(kinds.add(kind, other)).rejects.toThrow('the disk is gone');
    expect(view.findCollection(kind.id)).toBeUndefined();
    await write(kind, 'a', 2, 1);
    fail(undefined);
    await kinds.add(kind, other);
    expect(shown(kind)).toEqual(['a=2@2']);
  });

  it('waits for the feed where another server has compacted further than this one has come', async () => {
    const shared = openMemoryStore();
    const kinds = new KindTable();
    const waiting: (() => void)[] = [];
    let held = false;
    const late: Store = {
      get compacted() {
        return shared.compacted;
      },
      valueBytesMax: shared.valueBytesMax,
      revision: () => shared.revision(),
      get: (key) => shared.get(key),
      range: (query) => shared.range(query),
      write: (write) => shared.write(write),
      stats: () => shared.stats(),
      compact: (revision) => shared.compact(revision),
      backup: () => shared.backup(),
      close: () => shared.close(),
      watch: (after, listener) =>
        shared.watch(after, (changes) => {
          if (held) waiting.push(() => listener(changes));
          else listener(changes);
        }),
    };
    const view = await View.open(late, kinds);
    closing.push(async () => {
      view.close();
      await shared.close();
    });
    const kind = widgetKind();
    const writing = makeWriting(late, view, kinds, sources, { admission: admissionChain });
    const { registry } = writing;
    const value = (size: number): Buffer =>
      registry.encode(asTester('create'), targetOf({ kind, namespace: 'n', name: 'a' }), {
        metadata: { name: 'a', namespace: 'n', uid: 'u' },
        spec: { size },
      } as ApiObject);
    const key = storeKey(kind.id, 'n', 'a');
    held = true;
    await shared.write({ key, value: value(1), expected: 0 });
    await shared.write({ key, value: value(2), expected: 1 });
    await shared.compact(2);
    const added = kinds.add(kind);
    await turn();
    expect(kinds.resource('example.com/v1', 'widgets')).toBeUndefined();
    held = false;
    for (const deliver of waiting.splice(0)) deliver();
    await added;
    expect(view.collection(kind).get('n', 'a')!.revision).toBe(2);
  });
});

describe('a kind that is replaced', () => {
  it('keeps its objects and watchers, and is read in the new way', async () => {
    const { kinds, view, registry, write } = await server();
    const first = widgetKind();
    await kinds.add(first);
    await write(first, 'a', 1);
    await write(first, 'b', 2);
    const collection = view.collection(first);
    const bySize = { namespace: undefined, fieldSelector: 'spec.size=1' };
    await expect(list(registry, first, bySize)).rejects.toThrow('field label not supported: spec.size');
    await list(registry, first, { namespace: undefined, fieldSelector: 'spec.color=red' });
    const { told } = await follow(registry, first);

    const second = widgetKind(
      { selectableFields: { 'spec.size': (object) => String((object as Widget).spec?.size ?? '') } },
      widgetTable('example.com/v1', { weight: { type: 'integer' } }),
    );
    await kinds.replace(second);
    expect(view.collection(second)).toBe(collection);
    expect(collection.get('n', 'a')!.kind).toBe(second);
    expect((await list(registry, second, bySize)).page.entries.map(({ name }) => name)).toEqual(['a']);
    // Also the objects that were there before.
    const past = { ...bySize, resourceVersion: '1', resourceVersionMatch: 'Exact' };
    expect((await list(registry, second, past)).page.entries).toHaveLength(1);
    await write(second, 'c', 3);
    expect(collection.get('n', 'c')!.kind).toBe(second);
    expect(told).toEqual(['ADDED a@1', 'ADDED b@2', 'ADDED c@3']);
  });

  it('is stored as before when it is a version of another', async () => {
    const { kinds, view, write } = await server();
    const stored = widgetKind();
    const version = (kind: Kind): Kind =>
      widgetKind({
        version: 'v2',
        stored: {
          kind,
          toStored: (object) => object,
          fromStored: (object) => ({ ...object, spec: { color: (object as Widget).spec?.color } }) as Widget,
        },
      });
    await kinds.add(stored, version(stored));
    await write(stored, 'a', 1);
    const now = widgetKind();
    await kinds.replace(now, version(now));
    const entry = view.collection(kinds.resource('example.com/v2', 'widgets')!).get('n', 'a')!;
    expect(entry.kind).toBe(now);
    expect(entry.object(kinds.resource('example.com/v2', 'widgets')!)).toMatchObject({
      apiVersion: 'example.com/v2',
      spec: { color: 'red' },
    });
  });
});

describe('a kind that goes', () => {
  it('ends its watchers after the last change, and leaves its objects in the store', async () => {
    const { kinds, view, registry, write, shown } = await server();
    const kind = widgetKind();
    await kinds.add(kind);
    await write(kind, 'a', 1);
    const now = await follow(registry, kind);
    const later = await follow(registry, kind, undefined, { patient: true });
    const full = await follow(registry, kind, undefined, { send: () => false });
    const opened = await watch(registry, kind, { namespace: undefined }, 'state');
    void write(kind, 'b', 2);
    await turn();
    await kinds.remove(kind);
    const whole = ['ADDED a@1', 'ADDED b@2', 'ended'];
    expect([now.told, later.told, full.told]).toEqual([whole, whole, ['ended']]);
    // A watch that was opened and not started yet gets the state at the time it was opened.
    const told: string[] = [];
    opened.start({
      send: (notices) => told.push(...notices.map(({ entry }) => entry.name)) > 0,
      stateSent: () => undefined,
      expired: () => undefined,
      ended: () => void told.push('ended'),
    });
    expect(told).toEqual(['a', 'b', 'ended']);
    expect(() => view.collection(kind)).toThrow('the server could not find the requested resource');
    expect(await refusal(list(registry, kind, { namespace: 'n' }))).toBe(404);

    // While the kind is removed, other servers may write its objects.
    await write(kind, 'c', 3);
    const again = widgetKind();
    await kinds.add(again);
    expect(shown(again)).toEqual(['a=1@1', 'b=2@2', 'c=3@3']);
    await write(again, 'a', 4, 1);
    expect(shown(again)).toEqual(['a=4@4', 'b=2@2', 'c=3@3']);
  });

  it('costs nothing any more', async () => {
    const { kinds, view, write } = await server();
    const before = [view.changeCount, [...kinds].length];
    const refs: WeakRef<object>[] = [];
    await (async () => {
      const kind = widgetKind();
      await kinds.add(kind);
      await write(kind, 'a', 1);
      await kinds.replace(widgetKind());
      refs.push(new WeakRef(kind), new WeakRef(kind.model), new WeakRef(view.collection(kind)));
      await kinds.remove(kinds.resource('example.com/v1', 'widgets')!);
    })();
    expect([view.changeCount - 1, [...kinds].length]).toEqual(before);
    const collect = await collector();
    for (let tries = 0; tries < 20 && refs.some((ref) => ref.deref()); tries++) {
      await turn();
      collect();
    }
    expect(refs.map((ref) => ref.deref() !== undefined)).toEqual([false, false, false]);
  });
});

/** V8's `gc()`, available only with a flag. */
async function collector(): Promise<() => void> {
  const { setFlagsFromString } = await import('node:v8');
  const { runInNewContext } = await import('node:vm');
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
