/**
 * Proves that several servers on one store agree: each has its own view, fed with delay, and still no write is lost,
 * doubled or based on outdated state.
 */

import { randomInt } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { StatusError } from '../../api/errors/errors.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import { openMemoryStore } from '../../store/memory.ts';
import {
  type Change,
  CompactedError,
  type RangePage,
  type RangeQuery,
  type Store,
  type Subscription,
  type Write,
} from '../../store/store.ts';
import { admissionChain } from '../admission/plugins.ts';
import type { Registry } from '../registry.ts';
import { asTester } from '../request.fixture.ts';
import { ensureSystemNamespaces } from '../system/system-namespaces.ts';
import { collectionOf, type Target, targetOf } from '../target.ts';
import { create } from '../verbs/create.ts';
import { remove } from '../verbs/delete.ts';
import { list, read } from '../verbs/list.ts';
import { patch, readPatch } from '../verbs/patch.ts';
import { update } from '../verbs/update.ts';
import { watch } from '../verbs/watch.ts';
import { makeWriting, type Writing } from '../writing.ts';
import { View } from './view.ts';
import type { Notice } from './watch-event.ts';

const kinds = new KindTable();
const configMaps = kinds.resource('v1', 'configmaps')!;
const namespaces = kinds.resource('v1', 'namespaces')!;

/** A store as one of several servers sees it: changes arrive through the feed later than they happen. */
class DistantStore implements Store {
  readonly #arrived: (() => void)[] = [];
  #held = false;

  constructor(private readonly store: Store) {}

  /** Holds changes back until `release`. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    for (const deliver of this.#arrived.splice(0)) deliver();
  }

  watch(after: number, listener: (changes: readonly Change[]) => void): Subscription {
    return this.store.watch(after, (changes) => {
      const deliver = () => listener(changes);
      if (this.#held) this.#arrived.push(deliver);
      // Always one tick late, and after changes that are still held back.
      else
        setImmediate(() => {
          if (this.#held) this.#arrived.push(deliver);
          else deliver();
        });
    });
  }

  revision(): number | Promise<number> {
    return this.store.revision();
  }
  get compacted(): number {
    return this.store.compacted;
  }
  get valueBytesMax(): number {
    return this.store.valueBytesMax;
  }
  get(key: string) {
    return this.store.get(key);
  }
  range(query: RangeQuery): Promise<RangePage> {
    return this.store.range(query);
  }
  write(write: Write) {
    return this.store.write(write);
  }
  compact(revision: number): Promise<void> {
    return this.store.compact(revision);
  }
  backup() {
    return this.store.backup();
  }
  stats() {
    return this.store.stats();
  }
  close(): Promise<void> {
    return this.store.close();
  }
}

interface Server {
  readonly store: DistantStore;
  readonly registry: Registry;
  readonly writing: Writing;
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function serve(shared: Store): Promise<Server> {
  const store = new DistantStore(shared);
  const view = await View.open(store, kinds);
  let count = 0;
  const sources = { nowMs: () => Date.now(), uid: () => `uid-${count++}`, randomBelow: () => randomInt(3) };
  cleanups.push(() => view.close());
  const writing = makeWriting(store, view, kinds, sources, { admission: admissionChain });
  return { store, writing, registry: writing.registry };
}

async function pair(): Promise<[Server, Server]> {
  const shared = openMemoryStore();
  const servers = await Promise.all([serve(shared), serve(shared)]);
  // Both find an empty store, and both initialise it.
  await Promise.all(servers.map(({ writing }) => ensureSystemNamespaces(writing)));
  cleanups.push(() => shared.close());
  return servers;
}

const configMap = (name: string): Target => targetOf({ kind: configMaps, namespace: 'default', name });
const make = ({ writing }: Server, name: string, data?: Record<string, string>, namespace = 'default') =>
  create(writing, asTester('create'), collectionOf(configMaps, namespace), {
    metadata: { name },
    ...(data ? { data } : {}),
  });
const change = ({ writing }: Server, name: string, body: object) =>
  patch(writing, asTester('patch'), configMap(name), readPatch('merge', body, []));
const replace = ({ writing }: Server, name: string, resourceVersion: string, data: Record<string, string>) =>
  update(writing, asTester('update'), configMap(name), () => ({
    metadata: { name, resourceVersion },
    data,
  }));
const names = async ({ registry }: Server): Promise<string[]> =>
  (await list(registry, configMaps, { namespace: 'default' })).page.entries.map(({ name }) => name);
const fails = (work: Promise<unknown>, code: number) =>
  expect(work).rejects.toSatisfy((error) => error instanceof StatusError && error.code === code);

/** Whether a promise is still pending after all other work has run. */
async function isOpen(work: Promise<unknown>): Promise<boolean> {
  const open = Symbol();
  const turns = (async () => {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    return open;
  })();
  return (
    (await Promise.race([
      work.then(
        () => undefined,
        () => undefined,
      ),
      turns,
    ])) === open
  );
}

describe('two servers on one store', () => {
  it('show each other’s writes: a read waits until it knows all that was acknowledged before it', async () => {
    const [a, b] = await pair();
    b.store.hold();
    await make(a, 'one');
    const listed = names(b);
    const got = Promise.resolve(read(b.registry, configMap('one'), undefined));
    expect(await isOpen(listed)).toBe(true);
    expect(await isOpen(got)).toBe(true);
    b.store.release();
    expect(await listed).toEqual(['one']);
    expect((await got).object().metadata.name).toBe('one');
  });

  it('let exactly one of two creates win', async () => {
    const [a, b] = await pair();
    for (let i = 0; i < 50; i++) {
      const outcomes = await Promise.allSettled([
        make(a, `name-${i}`, { by: 'a' }),
        make(b, `name-${i}`, { by: 'b' }),
      ]);
      const won = outcomes.filter(({ status }) => status === 'fulfilled');
      const lost = outcomes.find((outcome) => outcome.status === 'rejected');
      expect(won).toHaveLength(1);
      expect(lost?.reason.status).toMatchObject({ code: 409, reason: 'AlreadyExists' });
      const winner = outcomes[0]!.status === 'fulfilled' ? 'a' : 'b';
      const { data } = (await read(b.registry, configMap(`name-${i}`), undefined)).object() as {
        data?: object;
      };
      expect(data).toEqual({ by: winner });
    }
  });

  it('generate different names, though they have few to choose from', async () => {
    const [a, b] = await pair();
    const generate = ({ writing }: Server) =>
      create(writing, asTester('create'), collectionOf(configMaps, 'default'), {
        metadata: { generateName: 'g-' },
      });
    const made = await Promise.all(Array.from({ length: 40 }, (_, i) => generate(i % 2 ? a : b)));
    expect(new Set(made.map(({ name }) => name)).size).toBe(40);
  });

  it('lose no patch, however many come at once through both', async () => {
    const [a, b] = await pair();
    await make(a, 'shared', { start: 'yes' });
    const patches = Array.from({ length: 200 }, (_, i) =>
      change(i % 2 ? a : b, 'shared', { data: { [`key-${i}`]: 'x' } }),
    );
    const versions = (await Promise.all(patches)).map(({ revision }) => revision);
    expect(new Set(versions).size).toBe(200);
    for (const server of [a, b]) {
      const { data } = (await read(server.registry, configMap('shared'), undefined)).object() as {
        data?: object;
      };
      expect(Object.keys(data!)).toHaveLength(201);
    }
  });

  it('refuse a replace of a version that is no longer current, though they have not heard of the newer one', async () => {
    const [a, b] = await pair();
    const { revision } = await make(a, 'shared');
    await names(b);
    b.store.hold();
    await change(a, 'shared', { data: { by: 'a' } });
    const stale = replace(b, 'shared', String(revision), { by: 'b' });
    stale.catch(() => undefined);
    expect(await isOpen(stale)).toBe(true);
    b.store.release();
    await fails(stale, 409);
    const { data } = (await read(b.registry, configMap('shared'), undefined)).object() as {
      data?: object;
    };
    expect(data).toEqual({ by: 'a' });
  });

  it('let one of many replaces of the same version win', async () => {
    const [a, b] = await pair();
    const { revision } = await make(a, 'shared');
    const replaces = Array.from({ length: 20 }, (_, i) =>
      replace(i % 2 ? a : b, 'shared', String(revision), { by: String(i) }),
    );
    const outcomes = await Promise.allSettled(replaces);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('create in a namespace that the other has just made, and under a name that the other has just freed', async () => {
    const [a, b] = await pair();
    await make(a, 'reused', { by: 'a' });
    await names(b);
    b.store.hold();
    await create(a.writing, asTester('create'), collectionOf(namespaces, ''), {
      metadata: { name: 'fresh' },
    });
    await remove(a.writing, asTester('delete'), configMap('reused'), {});
    const inside = make(b, 'inside', undefined, 'fresh');
    const again = make(b, 'reused', { by: 'b' });
    setImmediate(() => b.store.release());
    expect((await inside).namespace).toBe('fresh');
    expect((await again).object()).toMatchObject({ data: { by: 'b' } });
  });

  it('delete an object once', async () => {
    const [a, b] = await pair();
    for (let i = 0; i < 20; i++) {
      await make(a, `gone-${i}`);
      const outcomes = await Promise.allSettled(
        [a, b].map(({ writing }) => remove(writing, asTester('delete'), configMap(`gone-${i}`), {})),
      );
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    }
    expect(await names(b)).toEqual([]);
  });

  it('tell their watchers the same story', async () => {
    const [a, b] = await pair();
    const stories = await Promise.all(
      [a, b].map(async ({ registry }) => {
        const told: string[] = [];
        const opened = await watch(
          registry,
          configMaps,
          { namespace: undefined, resourceVersion: '1' },
          'history',
        );
        const watcher = opened.start({
          send: (notices: readonly Notice[]) => {
            for (const { type, entry } of notices) told.push(`${type} ${entry.name} ${entry.revision}`);
            return true;
          },
          stateSent: () => undefined,
          expired: () => told.push('expired'),
        });
        cleanups.push(() => watcher.close());
        return told;
      }),
    );
    await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const server = i % 2 ? a : b;
        await make(server, `object-${i}`);
        await change(i % 3 ? a : b, `object-${i}`, { data: { i: String(i) } });
        if (i % 4 === 0) await remove(server.writing, asTester('delete'), configMap(`object-${i}`), {});
      }),
    );
    await Promise.all([names(a), names(b)]);
    expect(stories[0]).toHaveLength(60 + 60 + 15);
    expect(stories[1]).toEqual(stories[0]);
    const versions = stories[0]!.map((line) => Number(line.split(' ')[2]));
    expect(versions).toEqual([...versions].sort((x, y) => x - y));
  });
});

describe('a view', () => {
  it('begins anew when history is compacted while it is being read', async () => {
    const shared = openMemoryStore();
    cleanups.push(() => shared.close());
    const first = await serve(shared);
    await ensureSystemNamespaces(first.writing);
    await make(first, 'a');
    await change(first, 'a', { data: { a: 'b' } });
    let refusals = 0;
    const store = new DistantStore(shared);
    const range = store.range.bind(store);
    store.range = async (query) => {
      if (refusals++ > 0) return range(query);
      await shared.compact(await shared.revision());
      throw new CompactedError(query.revision ?? 0, shared.compacted);
    };
    const view = await View.open(store, kinds);
    cleanups.push(() => view.close());
    expect(view.compacted).toBe(await shared.revision());
    expect(view.collection('core/configmaps').get('default', 'a')!.object()).toMatchObject({
      data: { a: 'b' },
    });
  });

  it('says that it is stale when its feed has broken', async () => {
    const [a] = await pair();
    await a.store.close();
    await expect(names(a)).rejects.toThrow(/closed/);
    expect(a.registry.view.failure).toBeDefined();
  });
});
