/** The store contract for backups, for any engine. */
import { describe, expect, it } from 'vitest';
import { readBackup } from './backup-file.ts';
import type { TestContext } from './contract.suite.ts';
import { numbers, put, read, remove } from './observer.fixture.ts';
import { StoreUnavailableError } from './store.ts';

/** `key=value@revision`, as `read` tells it, of all that a backup holds. */
async function held(
  chunks: AsyncIterable<Buffer>,
  { shown = (revision) => revision }: TestContext,
): Promise<{ words: string[]; revision: number }> {
  const words: string[] = [];
  const { objects, revision } = await readBackup('of a test', chunks, (versions) => {
    for (const { key, value, revision: at } of versions) words.push(`${key}=${value}@${shown(at)}`);
  });
  expect(words.length).toBe(objects);
  return { words, revision: shown(revision) };
}

export function backupContract(context: TestContext): void {
  describe('backup', () => {
    it('holds every key as it is, with the revision that wrote it, and nothing that was deleted', async () => {
      const { store } = context;
      expect(await held(store.backup(), context)).toEqual({ words: [], revision: 0 });
      await put(store, 'b', '1');
      await put(store, 'a', '2');
      await put(store, 'c', '3');
      await put(store, 'b', '4', 1);
      await remove(store, 'c', 3);
      await put(store, 'empty', '');
      expect(await held(store.backup(), context)).toEqual({
        words: ['a=2@2', 'b=4@4', 'empty=@6'],
        revision: 6,
      });
    });

    it('shows one revision, whatever is written and compacted while it is read', async () => {
      const { store } = context;
      // More than one page of bytes, so that there are several reads.
      const text = 'x'.repeat(30_000);
      const at = await Promise.all(numbers(1, 120).map((i) => put(store, `k${i}`, `${i}${text}`)));
      const before = await read(store);
      const chunks: Buffer[] = [];
      let compaction: Promise<void> | undefined;
      for await (const chunk of store.backup()) {
        chunks.push(chunk);
        if (compaction) continue;
        await Promise.all(numbers(1, 60).map((i) => put(store, `k${i}`, 'new', at[i - 1])));
        await Promise.all(numbers(61, 119).map((i) => remove(store, `k${i}`, at[i - 1]!)));
        await put(store, 'k0', 'new');
        compaction = store.compact(await store.revision());
      }
      await compaction;
      expect(chunks.length).toBeGreaterThan(4);
      const { words, revision } = await held(later(chunks), context);
      expect({ words, revision }).toEqual({ words: before, revision: 120 });
      expect(await read(store)).toHaveLength(62);
    });

    it('lets compaction go on when it is given up', async () => {
      const { store } = context;
      await Promise.all(numbers(1, 50).map((i) => put(store, `k${i}`, 'x'.repeat(100_000))));
      for await (const chunk of store.backup()) if (chunk.length > 1000) break;
      await store.compact(50);
      expect(store.compacted).toBe(50);
    });

    it('breaks off when the store is closed', async () => {
      const { store } = context;
      await Promise.all(numbers(1, 50).map((i) => put(store, `k${i}`, 'x'.repeat(100_000))));
      const reading = (async () => {
        let closing: Promise<void> | undefined;
        for await (const _ of store.backup()) closing ??= store.close();
        await closing;
      })();
      await expect(reading).rejects.toThrow(StoreUnavailableError);
    });
  });
}

async function* later(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
