// Proves that a store with a journal before LMDB keeps the store contract, loses nothing, and says so when it cannot know.
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, open } from 'lmdb';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { optimized } from '../switches.ts';
import { type OpenForTest, storeContract } from './contract.suite.ts';
import { JournalFile } from './journal-file.ts';
import { LmdbEngine, openLmdbStore } from './lmdb.ts';
import { LmdbWriter } from './lmdb-writer.ts';
import { LoneWrites } from './lone-writes.ts';
import { storeModel } from './model.suite.ts';
import { follow, numbers, put, read, remove } from './observer.fixture.ts';
import { type Store, StoreUnavailableError } from './store.ts';

const base = mkdtempSync(join(tmpdir(), 'wherry-journal-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));
beforeEach(() => {
  // However slow the disk of this machine is now.
  vi.spyOn(LoneWrites.prototype, 'isFor').mockImplementation(
    (writes, bytes) => writes <= 4 && bytes <= 65_536,
  );
});
afterEach(() => {
  vi.restoreAllMocks();
});
const newFolder = (): string => mkdtempSync(join(base, 'data-'));

const openStore = (dataDir: string): Promise<Store> => openLmdbStore({ dataDir, commitsBeforeJournal: 0 });

const openForTest: OpenForTest = async (options) => {
  const dataDir = newFolder();
  const openAgain = () => openLmdbStore({ dataDir, commitsBeforeJournal: 0, ...options });
  let store = await openAgain();
  const reopen = async () => {
    await store.close();
    store = await openAgain();
    return store;
  };
  return { store, reopen };
};

storeContract('lmdb with a journal', openForTest, { durable: true });
storeModel('lmdb with a journal', openForTest, 40);

/** Names and values in LMDB's own file that are about the file. */
async function withMeta<T>(dataDir: string, work: (meta: Database<Buffer, Buffer>) => T): Promise<T> {
  const root = open({ path: dataDir, noSubdir: false, overlappingSync: false });
  const result = await work(root.openDB({ name: 'meta', encoding: 'binary', keyEncoding: 'binary' }));
  await root.close();
  return result;
}

/** A folder as it is now, while its store is open: what a process would leave that was killed. */
async function leftBy(dataDir: string): Promise<string> {
  const copy = newFolder();
  for (const name of ['data.mdb', 'journal']) copyFileSync(join(dataDir, name), join(copy, name));
  // It is not this process that is killed.
  await withMeta(copy, (meta) => meta.remove(Buffer.from('owner')));
  return copy;
}

const refusal = async (dataDir: string): Promise<string> => {
  const error = await openStore(dataDir).then(
    () => new Error('it was opened'),
    (reason: Error) => reason,
  );
  expect(error).toBeInstanceOf(StoreUnavailableError);
  return error.message;
};

const formatOf = (dataDir: string): Promise<{ format: number; names: string[] }> =>
  withMeta(dataDir, (meta) => ({
    names: [...meta.getKeys()].map(String),
    format: meta.get(Buffer.from('format'))!.readUIntBE(0, 6),
  }));

const entryPages = (journal: Buffer): number[] =>
  numbers(1, journal.length / 4096 - 1).filter(
    (page) => journal.toString('latin1', page * 4096, page * 4096 + 4) === 'WJE1',
  );

describe.runIf(optimized)('a journal before LMDB', () => {
  it('is made after some commits, closed to others, and gone when the store is closed', async () => {
    const dataDir = newFolder();
    const store = await openLmdbStore({ dataDir, commitsBeforeJournal: 3 });
    await put(store, 'a', '1');
    await put(store, 'b', '2');
    expect(existsSync(join(dataDir, 'journal'))).toBe(false);
    await put(store, 'c', '3');
    await vi.waitFor(() => expect(existsSync(join(dataDir, 'journal'))).toBe(true));
    for (let i = 0; i < 20; i++) await put(store, `k${i}`, '');
    expect(statSync(join(dataDir, 'journal')).mode & 0o777).toBe(0o600);
    await store.close();
    expect(readdirSync(dataDir).sort()).toEqual(['data.mdb', 'lock.mdb']);
    expect(await formatOf(dataDir)).toMatchObject({ format: 2 });
    expect((await formatOf(dataDir)).names).not.toContain('journal');
  });

  it('has what LMDB has not yet, for a start after the process was killed', async () => {
    const dataDir = newFolder();
    const store = await openStore(dataDir);
    await put(store, 'a', '1');
    await put(store, 'b', '2');
    await put(store, 'a', '3', 1);
    await remove(store, 'b', 2);
    await put(store, 'long', 'x'.repeat(20_000));
    const left = await leftBy(dataDir);
    expect((await formatOf(await leftBy(dataDir))).format).toBe(3);
    const again = await openStore(left);
    expect(await again.revision()).toBe(5);
    expect(await read(again)).toEqual(['a=3@3', `long=${'x'.repeat(20_000)}@5`]);
    const history = follow(again, 0);
    await history.until(5);
    expect(history.words().slice(0, 4)).toEqual(['a=1@1', 'b=2@2', 'a=3@3', 'b=x@4']);
    expect(await put(again, 'c', '6')).toBe(6);
    await again.close();
    await store.close();
  });

  it('is read by a store that makes none', async () => {
    const dataDir = newFolder();
    const store = await openStore(dataDir);
    await put(store, 'a', '1');
    const left = await leftBy(dataDir);
    await store.close();
    const plain = await openLmdbStore({ dataDir: left, unsafeNoFsync: true });
    expect(await read(plain)).toEqual(['a=1@1']);
    expect(existsSync(join(left, 'journal'))).toBe(false);
    await plain.close();
  });

  it('goes round, while LMDB takes what it has', async () => {
    const dataDir = newFolder();
    const store = await openStore(dataDir);
    const turn = vi.spyOn(JournalFile.prototype, 'turn');
    const commit = vi.spyOn(LmdbEngine.prototype, 'commit');
    const words: string[] = [];
    for (let i = 0; i < 600; i++) {
      const value = `${i}`.padEnd(i % 3 ? 100 : 9000, 'v');
      words.push(`k${i}=${value}@${await put(store, `k${i}`, value)}`);
      if (i % 150 !== 0) continue;
      // A file that is being written cannot be copied.
      await commit.mock.results.at(-1)?.value;
      const again = await openStore(await leftBy(dataDir));
      expect((await read(again)).sort()).toEqual(words.toSorted());
      await again.close();
    }
    expect(turn.mock.calls.length).toBeGreaterThan(2);
    await store.close();
    const again = await openStore(dataDir);
    expect((await read(again)).sort()).toEqual(words.toSorted());
    await again.close();
  });

  it('leaves out an entry that was not written to its end, and not one before it', async () => {
    const dataDir = newFolder();
    const store = await openStore(dataDir);
    for (let i = 1; i <= 3; i++) await put(store, `k${i}`, 'v'.repeat(5000));
    const left = await leftBy(dataDir);
    await store.close();
    const journal = readFileSync(join(left, 'journal'));
    const pages = entryPages(journal);
    expect(pages).toEqual([1, 3, 5]);
    const withZeros = async (page: number): Promise<string> => {
      const folder = await leftBy(left);
      const bytes = Buffer.from(journal);
      bytes.fill(0, page * 4096, (page + 1) * 4096);
      writeFileSync(join(folder, 'journal'), bytes);
      return folder;
    };
    for (const page of [5, 6]) {
      const again = await openStore(await withZeros(page));
      expect(await again.revision(), `page ${page}`).toBe(2);
      await again.close();
    }
    const folder = await withZeros(4);
    expect(await refusal(folder)).toBe(`the data file in ${folder} is damaged: its journal lacks revision 2`);
  });

  it('is missed when it is not there, or is that of another time', async () => {
    const dataDir = newFolder();
    const store = await openStore(dataDir);
    await put(store, 'a', '1');
    const [gone, other] = [await leftBy(dataDir), await leftBy(dataDir)];
    await store.close();
    const missing = (folder: string): string =>
      `the data file in ${folder} is damaged: its journal, the file ${join(folder, 'journal')}, is missing or is another`;
    rmSync(join(gone, 'journal'));
    expect(await refusal(gone)).toBe(missing(gone));
    const second = newFolder();
    const later = await openStore(second);
    await put(later, 'a', '2');
    copyFileSync(join(second, 'journal'), join(other, 'journal'));
    await later.close();
    expect(await refusal(other)).toBe(missing(other));
    // Refused, and unchanged.
    expect(await refusal(other)).toBe(missing(other));
  });

  it('is not read when the data file names none: it was left by a store that ended a moment later', async () => {
    const dataDir = newFolder();
    const store = await openStore(dataDir);
    await put(store, 'a', '1');
    const journal = readFileSync(join(dataDir, 'journal'));
    await store.close();
    writeFileSync(join(dataDir, 'journal'), journal);
    const again = await openLmdbStore({ dataDir });
    expect(await read(again)).toEqual(['a=1@1']);
    expect(existsSync(join(dataDir, 'journal'))).toBe(false);
    await again.close();
  });

  it('is given up after an error, with nothing lost', async () => {
    const dataDir = newFolder();
    const store = await openStore(dataDir);
    await put(store, 'a', '1');
    const append = vi.spyOn(JournalFile.prototype, 'append').mockImplementation(() => {
      throw Object.assign(new Error('input/output error'), { code: 'EIO' });
    });
    expect(await put(store, 'b', '2')).toBe(2);
    append.mockRestore();
    const after = vi.spyOn(JournalFile.prototype, 'append');
    expect(await put(store, 'c', '3')).toBe(3);
    expect(after).not.toHaveBeenCalled();
    const again = await openStore(await leftBy(dataDir));
    expect(await read(again)).toEqual(['a=1@1', 'b=2@2', 'c=3@3']);
    await again.close();
    await store.close();
  });

  it('says no more when neither it nor LMDB took a write: the next start may find it', async () => {
    const store = await openStore(newFolder());
    await put(store, 'a', '1');
    vi.spyOn(JournalFile.prototype, 'append').mockImplementation(() => {
      throw new Error('input/output error');
    });
    const full = { message: 'No space left on device', code: 'ENOSPC', refused: false };
    vi.spyOn(LmdbWriter.prototype, 'write').mockResolvedValueOnce(full);
    await expect(put(store, 'b', '2')).rejects.toThrow(/is full$/);
    await expect(put(store, 'c', '2')).rejects.toThrow(/is full$/);
    expect(await read(store)).toEqual(['a=1@1']);
    await store.close();
  });

  it('takes nothing after LMDB failed, until LMDB takes a commit: it may hold the one that failed', async () => {
    const store = await openStore(newFolder());
    const commit = vi.spyOn(LmdbEngine.prototype, 'commit');
    const append = vi.spyOn(JournalFile.prototype, 'append');
    commit.mockRejectedValueOnce(new StoreUnavailableError('the thread that writes has ended'));
    await expect(put(store, 'long', 'x'.repeat(100_000))).rejects.toThrow('has ended');
    expect(await put(store, 'a', '1')).toBe(1);
    expect([append.mock.calls.length, commit.mock.calls.length]).toEqual([0, 2]);
    expect(await put(store, 'b', '2')).toBe(2);
    expect([append.mock.calls.length, commit.mock.calls.length]).toEqual([1, 2]);
    await store.close();
  });

  it('takes nothing while LMDB refuses what it has, and everything is there when LMDB takes it again', async () => {
    const dataDir = newFolder();
    const store = await openStore(dataDir);
    const commit = vi.spyOn(LmdbEngine.prototype, 'commit');
    const full = new StoreUnavailableError('the disk is full');
    commit.mockRejectedValue(full);
    await put(store, 'a', '1');
    // Compaction needs it in LMDB.
    await expect(store.compact(1)).rejects.toThrow('full');
    await expect(put(store, 'b', '2')).rejects.toThrow('full');
    expect(await read(store)).toEqual(['a=1@1']);
    const again = await openLmdbStore({ dataDir: await leftBy(dataDir) }).catch(
      (error: Error) => error.message,
    );
    expect(again).toContain('full');
    commit.mockRestore();
    expect(await put(store, 'b', '2')).toBe(2);
    const append = vi.spyOn(JournalFile.prototype, 'append');
    expect(await put(store, 'c', '3')).toBe(3);
    expect(append).toHaveBeenCalledOnce();
    await store.close();
    const later = await openStore(dataDir);
    expect(await read(later)).toEqual(['a=1@1', 'b=2@2', 'c=3@3']);
    await later.close();
  });
});
