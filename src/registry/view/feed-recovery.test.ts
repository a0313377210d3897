/**
 * Proves that a view whose feed broke catches up without losing or repeating a change, compares itself with the store
 * when the changes were compacted, and reports when it can do neither.
 */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { StatusError } from '../../api/errors/errors.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import { openMemoryStore } from '../../store/memory.ts';
import { CompactedError, type Store, StoreUnavailableError } from '../../store/store.ts';
import { admissionChain } from '../admission/plugins.ts';
import type { Registry } from '../registry.ts';
import { asTester } from '../request.fixture.ts';
import { ensureSystemNamespaces } from '../system/system-namespaces.ts';
import { collectionOf, targetOf } from '../target.ts';
import { create } from '../verbs/create.ts';
import { remove } from '../verbs/delete.ts';
import { list, read } from '../verbs/list.ts';
import { patch, readPatch } from '../verbs/patch.ts';
import { watch } from '../verbs/watch.ts';
import type { Writing } from '../writing.ts';
import { makeWriting } from '../writing.ts';
import { BreakableStore } from './broken-feed.fixture.ts';
import type { RecoveryTimes } from './feed-recovery.ts';
import { everything } from './filter.ts';
import { History } from './history.ts';
import { View } from './view.ts';
import { Watcher } from './watcher.ts';

const kinds = new KindTable();
const configMaps = kinds.resource('v1', 'configmaps')!;
const cut = (): Error => new Error('the connection was cut');
/** Short delays, so that tests do not wait, and an outage limit that no test reaches. */
const quick: RecoveryTimes = { retryFirstMs: 1, retryMaxMs: 5, outageMaxMs: 30_000 };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

let uids = 0;
async function serve(store: Store, times?: Partial<RecoveryTimes>) {
  const errors: Error[] = [];
  let lost!: (error: Error) => void;
  const whenLost = new Promise<Error>((resolve) => {
    lost = resolve;
  });
  const view = await View.open(store, kinds, {
    onError: (error) => errors.push(error),
    onLost: lost,
    times: times ?? quick,
  });
  cleanups.push(() => view.close());
  const sources = { nowMs: () => 0, uid: () => `uid-${uids++}`, randomBelow: () => 0 };
  const writing = makeWriting(store, view, kinds, sources, { admission: admissionChain });
  return {
    writing,
    registry: writing.registry,
    view,
    errors,
    whenLost,
  };
}

/** A server that writes, and another on the same store whose feed can be broken. */
async function pair(times?: Partial<RecoveryTimes>) {
  const shared = openMemoryStore();
  cleanups.push(() => shared.close());
  const writer = await serve(shared);
  await ensureSystemNamespaces(writer.writing);
  const store = new BreakableStore(shared);
  const reader = await serve(store, times);
  return { shared, writer: writer.writing, store, ...reader };
}

const configMap = (name: string) => targetOf({ kind: configMaps, namespace: 'default', name });
const make = (writing: Writing, name: string, data: Record<string, string> = {}) =>
  create(writing, asTester('create'), collectionOf(configMaps, 'default'), {
    metadata: { name },
    data,
  } as object as never);
const change = (writing: Writing, name: string, data: Record<string, string>) =>
  patch(writing, asTester('patch'), configMap(name), readPatch('merge', { data }, []));
const drop = (writing: Writing, name: string) => remove(writing, asTester('delete'), configMap(name), {});
const names = async (registry: Registry): Promise<string[]> =>
  (await list(registry, configMaps, { namespace: 'default' })).page.entries.map(({ name }) => name);

/** Records the events of a watch of config maps. */
async function tell(registry: Registry, resourceVersion: string | undefined): Promise<string[]> {
  const told: string[] = [];
  const opened = await watch(
    registry,
    configMaps,
    { namespace: undefined, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    'history',
  );
  const watcher = opened.start({
    patient: true,
    send: (notices) => {
      for (const { type, entry } of notices) told.push(`${type} ${entry.name} ${entry.revision}`);
      return true;
    },
    stateSent: () => undefined,
    expired: () => told.push('expired'),
  });
  cleanups.push(() => watcher.close());
  return told;
}

/** Resolves after a round of notifications to watchers. */
async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Timers that fire only when the test advances time; immediates run as usual. */
function useFakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  cleanups.push(() => vi.useRealTimers());
}

const code = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 200,
    (error) => (error instanceof StatusError ? error.code : error),
  );

describe('a feed that broke', () => {
  it('goes on where it was: no change is lost, none is told twice', async () => {
    const { writer, store, registry, view, errors } = await pair();
    await make(writer, 'a');
    await names(registry);
    const told = await tell(registry, String(view.revision));
    for (let i = 0; i < 5; i++) {
      store.breakFeed(cut());
      await make(writer, `b${i}`);
      await change(writer, 'a', { i: String(i) });
      expect(await names(registry)).toContain(`b${i}`);
    }
    await turns();
    const story = [...Array(5).keys()].flatMap((i) => [`ADDED b${i}`, 'MODIFIED a']);
    expect(told.map((line) => line.replace(/ \d+$/, ''))).toEqual(story);
    const versions = told.map((line) => Number(line.split(' ')[2]));
    expect(versions).toEqual([...new Set(versions)].sort((x, y) => x - y));
    expect(view.failure).toBeUndefined();
    expect(errors).toHaveLength(5);
    expect(errors[0]!.message).toMatch(
      /^the feed of changes broke after revision \d+: the connection was cut$/,
    );
  });

  it('lets reads, writes and those who wait for a version wait until it is back', async () => {
    const { writer, store, registry, writing, view } = await pair();
    store.refusal = cut();
    store.breakFeed(cut());
    await make(writer, 'a');
    let done = 0;
    const waiting = [names(registry), make(writing, 'b'), view.reached(view.revision + 2)].map((work) =>
      Promise.resolve<unknown>(work).finally(() => done++),
    );
    const tried = store.watches;
    while (store.watches < tried + 3) await turns();
    expect(done).toBe(0);
    store.refusal = undefined;
    await Promise.all(waiting);
    expect(await names(registry)).toEqual(['a', 'b']);
  });

  it('is tried again when the store does not answer', async () => {
    const { writer, store, registry, errors } = await pair();
    store.silence = new StoreUnavailableError('no member answers');
    store.breakFeed(cut());
    await make(writer, 'a');
    while (errors.length < 4) await turns();
    expect(errors.at(-1)!.message).toContain('no member answers');
    store.silence = undefined;
    expect(await names(registry)).toEqual(['a']);
  });

  it('is not tried any more when the view is closed', async () => {
    const { store, view, errors } = await pair();
    useFakeTimers();
    store.refusal = cut();
    store.breakFeed(cut());
    while (errors.length < 3) await vi.advanceTimersByTimeAsync(1);
    expect(vi.getTimerCount()).toBe(2);
    view.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is taken up at once, and then after pauses that grow', async () => {
    const { store, errors } = await pair({ retryFirstMs: 10, retryMaxMs: 50 });
    useFakeTimers();
    const begunMs = Date.now();
    store.refusal = cut();
    store.breakFeed(cut());
    const atMs: number[] = [];
    for (let seen = 0; atMs.length < 8; await vi.advanceTimersByTimeAsync(1))
      for (; seen < errors.length; seen++) atMs.push(Date.now() - begunMs);
    const pauses = atMs.slice(1).map((at, i) => at - atMs[i]!);
    expect(pauses.map((ms) => Math.round(ms / 10) * 10)).toEqual([0, 10, 20, 40, 50, 50, 50]);
  });

  it('is mended when an observer of this process failed, and the others are told', async () => {
    const { writer, registry, view, errors } = await pair();
    const collection = view.collection('core/configmaps');
    const start = { state: undefined, position: collection.endNumber };
    const common = { stateSent: () => undefined, expired: () => undefined };
    const failing = new Watcher(collection, everything, start, {
      ...common,
      send: () => {
        throw new Error('a bug');
      },
    });
    cleanups.push(() => failing.close());
    const told: string[] = [];
    const other = new Watcher(collection, everything, start, {
      ...common,
      send: (notices) => {
        for (const { type, entry } of notices) told.push(`${type} ${entry.name}`);
        return true;
      },
    });
    cleanups.push(() => other.close());
    await make(writer, 'a');
    await make(writer, 'b');
    expect(await names(registry)).toEqual(['a', 'b']);
    expect(told).toEqual(['ADDED a', 'ADDED b']);
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('a bug')]);
  });
});

describe('a feed that broke for longer than history lasts', () => {
  /** The feed is broken while objects are created, changed, deleted and replaced, and history is compacted. */
  async function away() {
    const parts = await pair();
    const { writer, store, registry, shared, view } = parts;
    for (const name of ['kept', 'changed', 'deleted', 'gone', 'replaced']) await make(writer, name);
    await names(registry);
    const before = view.revision;
    const uid = (await read(registry, configMap('replaced'), undefined)).peek().metadata.uid;
    store.silence = cut();
    store.breakFeed(cut());
    for (let i = 0; i < 3; i++) await change(writer, 'changed', { i: String(i) });
    await drop(writer, 'deleted');
    await make(writer, 'made');
    await drop(writer, 'replaced');
    await make(writer, 'replaced');
    await drop(writer, 'gone');
    await make(writer, 'passing');
    await drop(writer, 'passing');
    await shared.compact(await shared.revision());
    const back = async (): Promise<void> => {
      store.silence = undefined;
      await view.caughtUp();
      await turns();
    };
    return { ...parts, before, uid, back };
  }

  it('shows what is stored now', async () => {
    const { registry, writer, back, uid } = await away();
    await back();
    expect(await names(registry)).toEqual(['changed', 'kept', 'made', 'replaced']);
    for (const name of await names(writer.registry)) {
      const [mine, theirs] = await Promise.all(
        [registry, writer.registry].map((one) => read(one, configMap(name), undefined)),
      );
      expect(mine!.document.toString()).toBe(theirs!.document.toString());
    }
    expect((await read(registry, configMap('replaced'), undefined)).peek().metadata.uid).not.toBe(uid);
    // And the feed works again.
    await make(writer, 'later');
    expect(await names(registry)).toContain('later');
  });

  it('tells watchers the difference: deletions first, then what there is now, in order', async () => {
    const { registry, writer, before, back } = await away();
    const told = await tell(registry, String(before));
    await back();
    expect(told).toEqual([
      `DELETED deleted ${before + 1}`,
      `DELETED gone ${before + 1}`,
      `DELETED replaced ${before + 1}`,
      `MODIFIED changed ${before + 3}`,
      `ADDED made ${before + 5}`,
      `ADDED replaced ${before + 7}`,
    ]);
    const { revision } = await make(writer, 'later');
    await names(registry);
    await turns();
    expect(told.at(-1)).toBe(`ADDED later ${revision}`);
  });

  it('lets nobody begin among changes that are not known as they were', async () => {
    const { registry, view, before, back } = await away();
    // A client knows a version from another server that this one has not seen.
    const ahead = await tell(registry, String(before + 2));
    await back();
    const now = view.revision;
    expect(ahead).toEqual(['expired']);
    expect(view.compacted).toBe(now);
    for (const version of [before, before + 1, now - 1]) {
      const resourceVersion = String(version);
      expect(await code(tell(registry, resourceVersion))).toBe(410);
      const exact = { namespace: undefined, resourceVersion, resourceVersionMatch: 'Exact' };
      expect(await code(list(registry, configMaps, exact))).toBe(410);
    }
    expect(await tell(registry, String(now))).toEqual([]);
  });

  it('begins a watch without a version with the state, not with older changes', async () => {
    const { registry, back } = await away();
    await back();
    const told = await tell(registry, undefined);
    await turns();
    expect(told.map((line) => line.replace(/ \d+$/, ''))).toEqual([
      'ADDED changed',
      'ADDED kept',
      'ADDED made',
      'ADDED replaced',
    ]);
  });

  it('is forgotten like other history', async () => {
    const { registry, view, store, writer, back } = await away();
    await back();
    expect(view.changeCount).toBeGreaterThan(0);
    const history = new History(
      store,
      view,
      { ageMaxMs: 0, changesMax: 0 },
      () => 1,
      () => undefined,
    );
    cleanups.push(() => history.close());
    await history.trim();
    expect(view.changeCount).toBe(0);
    const collection = view.collection('core/configmaps');
    expect(collection.startNumber).toBe(collection.endNumber);
    await make(writer, 'later');
    expect(await names(registry)).toContain('later');
  });

  it('keeps the history that the store still has', async () => {
    const { registry, store, shared, writer, view } = await away();
    const compacted = shared.compacted;
    await make(writer, 'later');
    expect(await shared.revision()).toBeGreaterThan(compacted);
    store.silence = undefined;
    await view.caughtUp();
    expect(await names(registry)).toContain('later');
    expect(view.compacted).toBe(compacted);
  });

  it('compares again when history is compacted meanwhile', async () => {
    const { registry, store, shared, writer, view } = await away();
    const range = store.range.bind(store);
    let refusals = 0;
    store.range = async (query) => {
      if (refusals++ > 1) return range(query);
      await make(writer, `meanwhile-${refusals}`);
      await shared.compact(await shared.revision());
      throw new CompactedError(1, shared.compacted);
    };
    store.silence = undefined;
    await view.caughtUp();
    expect(await names(registry)).toEqual(expect.arrayContaining(['meanwhile-1', 'meanwhile-2', 'made']));
    expect(view.failure).toBeUndefined();
  });
});

describe('a feed that cannot be mended', () => {
  it('is given up when the outage lasts too long, and all who wait are told', async () => {
    const { writer, store, registry, writing, view, whenLost } = await pair();
    const told = await tell(registry, String(view.revision));
    useFakeTimers();
    store.refusal = cut();
    store.breakFeed(cut());
    await make(writer, 'a');
    const waiting = Promise.allSettled([names(registry), view.reached(1000), make(writing, 'b')]);
    await vi.advanceTimersByTimeAsync(quick.outageMaxMs - 1);
    expect(view.failure).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(vi.getTimerCount()).toBe(0);
    const error = await whenLost;
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error.message).toBe('the server no longer knows what its store holds: the connection was cut');
    expect(view.failure).toBe(error);
    for (const outcome of await waiting) expect(outcome).toEqual({ status: 'rejected', reason: error });
    expect(told).toEqual(['expired']);
  });

  it('is given up when an attempt never ends', async () => {
    const { store, whenLost } = await pair();
    useFakeTimers();
    store.revision = () => new Promise(() => undefined);
    store.breakFeed(cut());
    await vi.advanceTimersByTimeAsync(quick.outageMaxMs);
    expect((await whenLost).message).toContain('the connection was cut');
  });

  it('is given up at once when the store is closed, and nothing is read from it any more', async () => {
    const { shared, registry, view, whenLost, errors } = await pair();
    await shared.close();
    const error = await whenLost;
    expect(error.message).toBe('the server no longer knows what its store holds: the store is closed');
    expect(errors).toEqual([]);
    const namespaces = kinds.resource('v1', 'namespaces')!;
    for (const resourceVersion of [undefined, '0', String(view.revision)]) {
      const query = { namespace: undefined, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      await expect(list(registry, namespaces, query)).rejects.toBe(error);
      await expect(watch(registry, namespaces, query, 'history')).rejects.toBe(error);
      await expect(
        (async () =>
          read(registry, targetOf({ kind: namespaces, namespace: '', name: 'default' }), resourceVersion))(),
      ).rejects.toBe(error);
    }
  });

  it('is given up when the store has gone back in time', async () => {
    const { store, view, whenLost } = await pair();
    const seen = view.revision;
    store.claimedRevision = seen - 1;
    store.breakFeed(cut());
    expect((await whenLost).message).toContain(
      `the store has gone back to revision ${seen - 1}, and revision ${seen} was seen already`,
    );
  });
});
