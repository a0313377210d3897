/**
 * Proves that a data folder of the former format is upgraded completely, with its history, or left unchanged, and
 * that a backup of the former format can be restored.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { Upgrade, Upgraded } from './format.ts';
import { LmdbEngine, openLmdbStore } from './lmdb.ts';
import { openMemoryStore } from './memory.ts';
import { follow, numbers, put, read, remove } from './observer.fixture.ts';
import { restoreStore } from './restore.ts';
import { type Store, StoreUnavailableError } from './store.ts';

const base = mkdtempSync(join(tmpdir(), 'wherry-upgrade-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));
const newFolder = (): string => mkdtempSync(join(base, 'data-'));

/** Knows only `fruit` keys, and changes their order. */
const renamed: Record<string, string> = { apples: 'z/apples', pears: 'a/pears' };
const upgrade: Upgrade = {
  from: 1,
  key(former) {
    const [resource, ...rest] = former.split('\0');
    return renamed[resource!] && [renamed[resource!], ...rest].join('\0');
  },
};
/** The same for a text that names keys. */
const now = (word: string): string => {
  const end = word.indexOf('=');
  return (upgrade.key(word.slice(0, end)) ?? word.slice(0, end)) + word.slice(end);
};

async function setFormat(dataDir: string, format: number): Promise<void> {
  const root = open({ path: dataDir, noSubdir: false, overlappingSync: false });
  const meta = root.openDB({ name: 'meta', encoding: 'binary', keyEncoding: 'binary' });
  await meta.put(Buffer.from('format'), Buffer.from([0, 0, 0, 0, 0, format]));
  await root.close();
}

/** A folder as the former version left it, and its content. */
async function formerFolder(work: (store: Store) => Promise<unknown> = someFruit) {
  const dataDir = newFolder();
  const store = await openLmdbStore({ dataDir });
  await work(store);
  const { compacted } = store;
  const revision = await store.revision();
  const words = await read(store);
  const history = follow(store, compacted);
  if (revision > compacted) await history.until(revision);
  await store.close();
  await setFormat(dataDir, 1);
  return { dataDir, compacted, revision, words, history: history.words() };
}

/** Numbers are padded, so that a key sorts the same with and without what follows it. */
const fruit = (i: number): string => `${i % 2 ? 'apples' : 'pears'}\0n\0f${String(i).padStart(3, '0')}`;

async function someFruit(store: Store): Promise<void> {
  for (const i of numbers(1, 300)) await put(store, fruit(i), `${i}`.repeat(i % 40));
  for (const i of numbers(1, 50)) await remove(store, fruit(i), i);
  await store.compact(310);
  for (const i of [101, 103, 105]) await put(store, fruit(i), 'again', i);
  await put(store, fruit(1), 'back', 0);
}

const failure = async (dataDir: string, options: { upgrade?: Upgrade } = { upgrade }): Promise<string> => {
  const error = await openLmdbStore({ dataDir, ...options }).then(
    () => new Error('it was opened'),
    (reason: Error) => reason,
  );
  expect(error).toBeInstanceOf(StoreUnavailableError);
  return error.message;
};

describe('a folder of the former format', () => {
  it('is taken over with its revisions and its history, once', async () => {
    const former = await formerFolder();
    const { dataDir, revision } = former;
    const told: Upgraded[] = [];
    const onUpgraded = (upgraded: Upgraded): void => void told.push(upgraded);
    const store = await openLmdbStore({ dataDir, upgrade, onUpgraded });
    expect(told).toEqual([{ objects: former.words.length, unknown: [] }]);
    expect(await read(store)).toEqual(former.words.map(now).sort());
    expect([await store.revision(), store.compacted]).toEqual([revision, former.compacted]);
    const history = follow(store, former.compacted);
    await history.until(revision);
    expect(history.words()).toEqual(former.history.map(now));
    expect(await read(store, { revision: 311, start: 'z/apples\0n\0f101', limit: 1 })).toEqual([
      `z/apples\0n\0f101=${'101'.repeat(21)}@101`,
    ]);
    // Deletions are kept: a create finds the key free.
    expect(await put(store, 'a/pears\0n\0f002', 'new')).toBe(revision + 1);
    expect(await put(store, 'z/apples\0n\0f001', 'changed', revision)).toBe(revision + 2);
    await store.compact(revision + 2);
    await store.close();
    expect(readdirSync(dataDir).sort()).toEqual(['data.mdb', 'lock.mdb']);

    // Later starts need no upgrade, and do not get one.
    const copying = vi.spyOn(LmdbEngine.prototype, 'revisions');
    const again = await openLmdbStore({ dataDir, upgrade, onUpgraded });
    expect([copying.mock.calls.length, told.length]).toEqual([0, 1]);
    copying.mockRestore();
    expect((await again.get('z/apples\0n\0f001'))!.value.toString()).toBe('changed');
    await again.close();
    const plain = await openLmdbStore({ dataDir });
    expect((await read(plain)).length).toBe(former.words.length + 1);
    await plain.close();
  });

  it('may be empty, or have no history', async () => {
    const empty = await formerFolder(async () => {});
    const store = await openLmdbStore({ dataDir: empty.dataDir, upgrade });
    expect([await read(store), await store.revision()]).toEqual([[], 0]);
    await store.close();
    const compacted = await formerFolder(async (store) => {
      await someFruit(store);
      await store.compact(await store.revision());
    });
    const whole = await openLmdbStore({ dataDir: compacted.dataDir, upgrade });
    expect(await read(whole)).toEqual(compacted.words.map(now).sort());
    expect(whole.compacted).toBe(compacted.revision);
    await whole.close();
  });

  it('keeps what it does not know as it is, and says so', async () => {
    const { dataDir } = await formerFolder(async (store) => {
      await put(store, 'apples\0n\0a', '1');
      await put(store, 'plums\0n\0p', '2');
      await put(store, 'plums\0n\0q', '3');
      await put(store, 'no segments', '4');
    });
    const told: Upgraded[] = [];
    const store = await openLmdbStore({ dataDir, upgrade, onUpgraded: (upgraded) => told.push(upgraded) });
    expect(told).toEqual([{ objects: 4, unknown: ['plums', 'no segments'] }]);
    expect(await read(store)).toEqual([
      'no segments=4@4',
      'plums\0n\0p=2@2',
      'plums\0n\0q=3@3',
      'z/apples\0n\0a=1@1',
    ]);
    await store.close();
  });

  it('is refused where nobody can say what its keys are called, and one of an unknown format always', async () => {
    const { dataDir } = await formerFolder();
    expect(await failure(dataDir, {})).toBe(
      `the data folder ${dataDir} has format 1, and this version of Wherry reads format 2`,
    );
    await setFormat(dataDir, 4);
    expect(await failure(dataDir)).toBe(
      `the data folder ${dataDir} has format 4, and this version of Wherry reads formats 1 and 2`,
    );
  });

  it('is left as it was when it cannot be taken over', async () => {
    const { dataDir, words } = await formerFolder();
    const same: Upgrade = { from: 1, key: () => 'all the same' };
    expect(await failure(dataDir, { upgrade: same })).toMatch(
      /^the store is damaged: ".*" was not taken over$/,
    );
    const thrown: Upgrade = {
      from: 1,
      key: () => {
        throw new Error('no idea');
      },
    };
    expect(await failure(dataDir, { upgrade: thrown })).toMatch(/cannot be used: no idea$/);
    expect(readdirSync(dataDir).sort()).toEqual(['data.mdb', 'lock.mdb']);
    const store = await openLmdbStore({ dataDir, upgrade });
    expect(await read(store)).toEqual(words.map(now).sort());
    await store.close();
  });

  it('is found out when a record in it is damaged, and stays as it is', async () => {
    const { dataDir } = await formerFolder(async (store) => {
      await put(store, 'apples\0n\0a', 'a value of some length');
      await put(store, 'apples\0n\0b', 'other');
    });
    const file = join(dataDir, 'data.mdb');
    const bytes = readFileSync(file);
    for (let at = 0; (at = bytes.indexOf('some length', at)) >= 0; at++) bytes.write('S', at);
    writeFileSync(file, bytes);
    const damaged = `the data file in ${dataDir} is damaged: revision 1 does not match its checksum`;
    expect([await failure(dataDir), await failure(dataDir)]).toEqual([damaged, damaged]);
  });

  it('is taken over from the beginning when an upgrade was cut short', async () => {
    const { dataDir, words } = await formerFolder();
    // Left by a killed process.
    mkdirSync(join(dataDir, 'upgrading'));
    writeFileSync(join(dataDir, 'upgrading', 'data.mdb'), 'half of it');
    writeFileSync(join(dataDir, 'upgrading', 'owner'), '999999999 1');
    writeFileSync(join(dataDir, 'owner'), '999999999 1');
    const store = await openLmdbStore({ dataDir, upgrade });
    expect(await read(store)).toEqual(words.map(now).sort());
    await store.close();
    // Or killed after the new file was in place.
    mkdirSync(join(dataDir, 'upgrading'));
    const again = await openLmdbStore({ dataDir });
    expect(existsSync(join(dataDir, 'upgrading'))).toBe(false);
    expect((await read(again)).length).toBe(words.length);
    await again.close();
  });
});

describe('a backup of the former format', () => {
  async function formerBackup(store: Store): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of store.backup()) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    bytes.write('1', 'wherry backup '.length);
    createHash('sha256')
      .update(bytes.subarray(0, -32))
      .digest()
      .copy(bytes, bytes.length - 32);
    return bytes;
  }

  async function* of(bytes: Buffer): AsyncGenerator<Buffer> {
    yield bytes;
  }

  it('is restored under the keys of today', async () => {
    const store = openMemoryStore();
    await someFruit(store);
    await put(store, 'plums\0n\0p', 'kept');
    const bytes = await formerBackup(store);
    const dataDir = newFolder();
    await expect(restoreStore(dataDir, 'b', of(bytes))).rejects.toThrow(
      'the backup b has format 1, and this version of Wherry reads format 2',
    );
    const { objects, unknown } = await restoreStore(dataDir, 'b', of(bytes), { upgrade });
    expect({ objects, unknown }).toEqual({ objects: 252, unknown: ['plums'] });
    const restored = await openLmdbStore({ dataDir });
    expect(await read(restored)).toEqual((await read(store)).map(now).sort());
    await restored.close();
  });
});
