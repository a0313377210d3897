/**
 * Proves that a restored folder holds exactly the content of the backup, and that an interrupted restore leaves
 * nothing.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openLmdbStore } from './lmdb.ts';
import { openMemoryStore } from './memory.ts';
import { follow, numbers, put, read, remove } from './observer.fixture.ts';
import { restoreStore } from './restore.ts';
import { CompactedError, type Store } from './store.ts';

const base = mkdtempSync(join(tmpdir(), 'wherry-restore-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));
const newFolder = (): string => mkdtempSync(join(base, 'data-'));

async function someStore(): Promise<Store> {
  const store = openMemoryStore();
  await Promise.all(numbers(1, 300).map((i) => put(store, `k${i}`, `${i}`.repeat(i * 3))));
  for (const i of numbers(1, 50)) await remove(store, `k${i}`, i);
  for (const i of numbers(51, 99)) await put(store, `k${i}`, 'again', i);
  return store;
}

async function chunksOf(store: Store): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of store.backup()) chunks.push(chunk);
  return chunks;
}

async function* of(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

describe('a restored store', () => {
  it('holds the same keys, values and revisions, and goes on beyond all that anybody may know', async () => {
    const store = await someStore();
    const dataDir = join(newFolder(), 'deep', 'down');
    const summary = await restoreStore(dataDir, 'b', store.backup());
    expect(summary).toEqual({ objects: 250, revision: 1_000_000_399 });
    expect(readdirSync(dataDir)).toEqual(['data.mdb']);
    const restored = await openLmdbStore({ dataDir });
    expect(await read(restored)).toEqual(await read(store));
    expect([await restored.revision(), restored.compacted]).toEqual([1_000_000_399, 1_000_000_399]);
    await expect(follow(restored, 399).subscription.ended).rejects.toThrow(CompactedError);
    await expect(follow(restored, 1_000_000_398).subscription.ended).rejects.toThrow(CompactedError);
    const watch = follow(restored, 1_000_000_399);
    expect(await put(restored, 'k99', 'new', 399)).toBe(1_000_000_400);
    expect(watch.words()).toEqual(['k99=new@1000000400']);
    await restored.compact(1_000_000_400);
    await restored.close();
    const again = await openLmdbStore({ dataDir });
    expect((await again.get('k99'))!.revision).toBe(1_000_000_400);
    expect((await read(again)).length).toBe(250);
    await again.close();
    await store.close();
  });

  it('is refused a folder that holds objects, and one that is in use', async () => {
    const chunks = await chunksOf(await someStore());
    const dataDir = newFolder();
    const store = await openLmdbStore({ dataDir });
    await put(store, 'a', 'kept');
    await expect(restoreStore(dataDir, 'b', of(chunks))).rejects.toThrow(/is in use by process/);
    await store.close();
    await expect(restoreStore(dataDir, 'b', of(chunks))).rejects.toThrow(
      `${dataDir} holds objects already; restore into another folder`,
    );
    const same = await openLmdbStore({ dataDir });
    expect(await read(same)).toEqual(['a=kept@1']);
    await same.close();
  });

  it('is not there when the backup turns out to be damaged at its end', async () => {
    const chunks = await chunksOf(await someStore());
    chunks[chunks.length - 1] = Buffer.from(chunks.at(-1)!);
    chunks.at(-1)![20]! ^= 1;
    const dataDir = newFolder();
    await expect(restoreStore(dataDir, 'b', of(chunks))).rejects.toThrow(
      'the backup b is damaged: it does not match its checksum',
    );
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it('is not taken for one when the restore was cut short, until another comes to its end', async () => {
    const store = await someStore();
    const dataDir = newFolder();
    // Left by a killed process: a file that may look complete.
    mkdirSync(join(dataDir, 'restoring'));
    writeFileSync(join(dataDir, 'restoring', 'data.mdb'), 'half of it');
    writeFileSync(join(dataDir, 'owner'), '999999999 1');
    await expect(openLmdbStore({ dataDir })).rejects.toThrow(
      `a restore into ${dataDir} has not come to its end; run it again, or delete ${join(dataDir, 'restoring')}`,
    );
    expect(existsSync(join(dataDir, 'data.mdb'))).toBe(false);
    await restoreStore(dataDir, 'b', store.backup());
    const restored = await openLmdbStore({ dataDir });
    expect(await read(restored)).toEqual(await read(store));
    await restored.close();
  });

  it('says what is wrong with the folder', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');
    await expect(restoreStore(file, 'b', of([]))).rejects.toThrow(`${file} is not a folder`);
  });
});
