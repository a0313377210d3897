/**
 * How fast a full LMDB store is written, and opened again: what `wherry up` waits for before its first answer.
 *
 *     node bench/reopen.mjs [objects] [bytes]
 *
 * Opening is measured the way the in-memory view loads: all keys at the compacted revision, in pages of 1,000,
 * and then the history since. The bar is 2,000 ms for 100,000 objects of 1.5 KB.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundledStore } from './stores/store-bundle.mjs';

const OBJECTS = Number(process.argv[2] ?? 100_000);
const VALUE_BYTES = Number(process.argv[3] ?? 1500);
const PAGE_KEYS = 1000;

const folder = mkdtempSync(join(tmpdir(), 'wherry-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const { openLmdbStore } = await bundledStore(folder);
const dataDir = join(folder, 'data');
const value = Buffer.alloc(VALUE_BYTES, 'x');

/** Creates objects from several writers, in random order of names, as clients do. */
async function create(store, writers, from, count) {
  let next = 0;
  const startMs = performance.now();
  const writer = async () => {
    while (next < count) {
      const name = ((next++ * 7919) % count) + from;
      const key = `core/pods\0default\0web-${String(name).padStart(7, '0')}`;
      const { ok } = await store.write({ key, value, expected: 0 });
      if (!ok) throw new Error(`${key} exists`);
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  const perSecond = Math.round((count / (performance.now() - startMs)) * 1000);
  console.log(`create   ${count} objects from ${writers} writers: ${perSecond} per second`);
}

async function reopen(what) {
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const store = await openLmdbStore({ dataDir });
  const openMs = performance.now() - startMs;
  const { compacted: revision } = store;
  let start = '';
  let keys = 0;
  for (let more = true; more; ) {
    const page = await store.range({ start, revision, limit: PAGE_KEYS });
    keys += page.items.length;
    more = page.more;
    start = `${page.items.at(-1)?.key}\0`;
  }
  const rangeMs = performance.now() - startMs - openMs;
  const newest = await store.revision();
  let changes = 0;
  await new Promise((resolve, reject) => {
    if (newest === revision) return resolve();
    const subscription = store.watch(revision, (batch) => {
      changes += batch.length;
      if (batch.at(-1).revision === newest) resolve();
    });
    subscription.ended.catch(reject);
  });
  const totalMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  const parts = [openMs, rangeMs, totalMs - openMs - rangeMs].map((ms) => ms.toFixed(0));
  console.log(
    `reopen   ${what}: ${totalMs.toFixed(0)} ms, ${((user + system) / 1000).toFixed(0)} ms of processor time` +
      ` (open ${parts[0]}, ${keys} keys ${parts[1]}, ${changes} changes ${parts[2]})`,
  );
  return store;
}

let store = await openLmdbStore({ dataDir });
const part = Math.round(OBJECTS / 5);
await create(store, 16, 0, part);
await create(store, 64, part, OBJECTS - part);
await store.close();

store = await reopen('all of it history');
let compactMs = performance.now();
await store.compact(Math.round(OBJECTS * 0.9));
compactMs = performance.now() - compactMs;
await store.close();
store = await reopen('a tenth of it history');
await store.close();
const fileMb = statSync(join(dataDir, 'data.mdb')).size / 1e6;
console.log(`compact  ${compactMs.toFixed(0)} ms; data file ${fileMb.toFixed(0)} MB`);
