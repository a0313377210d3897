/**
 * Damages copies of a data file in seeded ways, opens each, and prints the outcome, one line each. It is a separate
 * process, because LMDB would crash the process on a wrong page number, which the test then sees.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLmdbStore } from './lmdb.ts';
import { follow, put, read } from './observer.fixture.ts';
import { type Store, StoreUnavailableError } from './store.ts';

const [healthy, scratch, seedText, countText] = process.argv.slice(2) as [string, string, string, string];

/** A generator of numbers below a bound, from a seed (mulberry32). */
function randomFrom(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

const pageSize = 4096;

/** Failures of disks and file systems: a flipped bit, some wrong bytes, a lost page, a misplaced page. */
function damage(bytes: Buffer, random: (bound: number) => number): string {
  const pages = bytes.length / pageSize;
  const at = random(3) === 0 ? random(2) * pageSize + random(168) : random(bytes.length);
  switch (random(8)) {
    case 0: {
      const length = 1 + random(16);
      for (let i = at; i < Math.min(at + length, bytes.length); i++) bytes[i] = random(256);
      return `${length} bytes at ${at}`;
    }
    case 1: {
      const page = random(pages);
      bytes.fill(0, page * pageSize, (page + 1) * pageSize);
      return `page ${page} zeroed`;
    }
    case 2: {
      const [from, to] = [random(pages), random(pages)];
      bytes.copy(bytes, to * pageSize, from * pageSize, (from + 1) * pageSize);
      return `page ${from} over ${to}`;
    }
    default: {
      const bit = random(8);
      bytes[at]! ^= 1 << bit;
      return `bit ${bit} at ${at} (page ${Math.floor(at / pageSize)} offset ${at % pageSize})`;
    }
  }
}

/** The results of all reads, as text. */
async function everything(store: Store): Promise<string> {
  const { compacted } = store;
  const revision = await store.revision();
  const history = follow(store, compacted);
  if (revision > compacted) await history.until(revision);
  const parts = [
    `${revision} ${compacted}`,
    ...(await read(store)),
    ...(await read(store, { revision: compacted })),
    ...history.words(),
  ];
  return parts.join('\n');
}

/** Whether each key still accepts a write, and keeps it. */
async function takesWrites(store: Store): Promise<string | undefined> {
  const { items } = await store.range({ start: '' });
  const next = await Promise.all(items.map(({ key, revision }) => put(store, key, 'next', revision)));
  for (const [i, { key }] of items.entries())
    if ((await store.get(key))?.revision !== next[i]) return `${key} lost ${next[i]}`;
  return undefined;
}

async function outcome(dataDir: string, expected: string): Promise<string> {
  let store: Store | undefined;
  try {
    store = await openLmdbStore({ dataDir });
    if ((await everything(store)) !== expected) return 'WRONG';
    const wrong = await takesWrites(store);
    return wrong ? `WRONG ${wrong}` : 'right';
  } catch (error) {
    if (error instanceof StoreUnavailableError) return `refused: ${error.message}`;
    return `WRONG ${(error as Error).stack}`;
  } finally {
    await store?.close();
  }
}

const reference = join(scratch, 'reference');
mkdirSync(reference);
copyFileSync(join(healthy, 'data.mdb'), join(reference, 'data.mdb'));
const whole = await openLmdbStore({ dataDir: reference });
const expected = await everything(whole);
await whole.close();
const bytes = readFileSync(join(healthy, 'data.mdb'));
for (let i = 0; i < Number(countText); i++) {
  const seed = Number(seedText) + i;
  const copy = Buffer.from(bytes);
  const what = damage(copy, randomFrom(seed));
  const dataDir = join(scratch, 'copy');
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'data.mdb'), copy);
  process.stdout.write(`${seed} ${what}: `);
  process.stdout.write(
    `${copy.equals(bytes) ? 'unchanged' : (await outcome(dataDir, expected)).replaceAll('\n', ' ')}\n`,
  );
  rmSync(dataDir, { recursive: true });
}
