// Proves that the LMDB engine keeps the store contract.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { storeContract } from './contract.case.ts';
import { openLmdbStore } from './lmdb.ts';

const base = mkdtempSync(join(tmpdir(), 'wherry-lmdb-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));
const newFolder = () => mkdtempSync(join(base, 'data-'));

storeContract('lmdb', async (options) => {
  const dataDir = newFolder();
  let store = await openLmdbStore({ dataDir, ...options });
  const reopen = async () => {
    await store.close();
    store = await openLmdbStore({ dataDir, ...options });
    return store;
  };
  return { store, reopen };
});
