// Proves that objects move from other engines into etcd and back, and that no server starts on half of a backup.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../../test/support/tools.ts';
import { openLmdbStore } from '../lmdb.ts';
import { openMemoryStore } from '../memory.ts';
import { numbers, put, read } from '../observer.fixture.ts';
import { restoreStore } from '../restore.ts';
import { SEPARATOR, type Store } from '../store.ts';
import { restoreEtcd } from './etcd-restore.ts';
import { TestEtcd } from './etcd-server.fixture.ts';
import { openEtcdStore } from './etcd-store.ts';

describeWith('etcd-server')('a backup in etcd', () => {
  let etcd: TestEtcd;
  const folder = mkdtempSync(join(tmpdir(), 'wherry-move-'));
  beforeAll(async () => {
    etcd = await TestEtcd.start();
  });
  afterAll(async () => {
    await etcd.close();
    rmSync(folder, { recursive: true });
  });
  const options = (prefix: string) => ({ urls: etcd.urls, prefix });
  const key = (i: number): string => ['core/things', i % 3 ? 'a' : 'a-b', `n${i}`].join(SEPARATOR);
  const filled = async (): Promise<Store> => {
    const store = openMemoryStore();
    await Promise.all(numbers(1, 700).map((i) => put(store, key(i), `${i}`.repeat(i))));
    return store;
  };
  const chunksOf = async (store: Store): Promise<Buffer[]> => {
    const chunks: Buffer[] = [];
    for await (const chunk of store.backup()) chunks.push(chunk);
    return chunks;
  };
  async function* of(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
    yield* chunks;
  }
  const withoutRevisions = async (store: Store) =>
    (await store.range({ start: '' })).items.map((item) => [item.key, item.value.toString()]);

  it('has every object, and goes back into a folder with versions and all', async () => {
    const store = await filled();
    const chunks = await chunksOf(store);
    const { objects, revision } = await restoreEtcd(options('/moved'), 'b', () => of(chunks));
    expect(objects).toBe(700);
    const moved = await openEtcdStore(options('/moved'));
    expect(await withoutRevisions(moved)).toEqual(await withoutRevisions(store));
    expect(moved.compacted).toBe(revision);
    await expect(restoreEtcd(options('/moved'), 'b', () => of(chunks))).rejects.toThrow(
      /a server uses the etcd/,
    );
    await restoreStore(join(folder, 'back'), 'b', moved.backup());
    const back = await openLmdbStore({ dataDir: join(folder, 'back') });
    expect(await read(back)).toEqual(await read(moved));
    await Promise.all([back.close(), moved.close(), store.close()]);
    await expect(restoreEtcd(options('/moved'), 'b', () => of(chunks))).rejects.toThrow(
      'etcd holds objects under /moved already',
    );
  });

  it('is refused to servers until it is complete, and then begins anew', async () => {
    const store = await filled();
    const chunks = await chunksOf(store);
    let reads = 0;
    async function* lost(): AsyncGenerator<Buffer> {
      yield* chunks.slice(0, reads++ === 0 ? undefined : -1);
      if (reads > 1) throw new Error('the disk is gone');
    }
    // The checked backup is damaged before it is read again.
    await expect(restoreEtcd(options('/half'), 'b', lost)).rejects.toThrow('the disk is gone');
    await expect(openEtcdStore(options('/half'))).rejects.toThrow('half of a backup under /half');
    await restoreEtcd(options('/half'), 'b', () => of(chunks));
    const whole = await openEtcdStore(options('/half'));
    expect(await withoutRevisions(whole)).toEqual(await withoutRevisions(store));
    await Promise.all([whole.close(), store.close()]);
  });

  it('is not begun when it is damaged, or has more than etcd takes', async () => {
    const store = openMemoryStore();
    await put(store, key(1), 'x'.repeat(2_000_000));
    const chunks = await chunksOf(store);
    await expect(restoreEtcd(options('/none'), 'b', () => of(chunks))).rejects.toThrow(
      /core\/things\/a\/n1 has 2000000 bytes, and etcd takes/,
    );
    await expect(restoreEtcd(options('/none'), 'b', () => of(chunks.slice(0, -1)))).rejects.toThrow();
    const empty = await openEtcdStore(options('/none'));
    expect((await empty.range({ start: '' })).items).toEqual([]);
    await Promise.all([empty.close(), store.close()]);
  });
});
