/**
 * Writes to a store in the ways in which a server does: one write after the other, several at a time, and enough of them
 * that the writing thread takes over. Says on standard output which change has which revision as soon as it is answered.
 * A process of its own, whose calls of the system are recorded by `power-cut.alone.test.ts`.
 */
import { writeSync } from 'node:fs';
import { openLmdbStore } from './lmdb.ts';
import { put, remove } from './observer.fixture.ts';

const [dataDir, sync] = process.argv.slice(2) as [string, string];

/** More transactions than the main thread carries out before the writing thread is started. */
const lone = 40;
const rounds = 8;
/** More writes at a time than the main thread carries out by itself. */
const together = 12;
/** Writes one after the other, after each round. */
const alone = 10;

const store = await openLmdbStore({ dataDir, unsafeNoFsync: sync === 'off', commitsBeforeJournal: 0 });

async function answered(word: string, write: Promise<number>): Promise<number> {
  const revision = await write;
  writeSync(1, `${word}@${revision}\n`);
  return revision;
}

const value = (i: number): string => `${i} `.padEnd(i % 5 === 0 ? 6000 : 300, 'v');
const create = (i: number): Promise<number> => {
  const key = `pods\0default\0p${i}`;
  return answered(`${key}=${value(i)}`, put(store, key, value(i)));
};

const at: number[] = [];
for (let i = 0; i < lone; i++) at.push(await create(i));
// The thread needs a moment to start; from then on it takes what is written together.
await new Promise((resolve) => setTimeout(resolve, 300));
for (let round = 0; round < rounds; round++) {
  const first = lone + round * together;
  await Promise.all(Array.from({ length: together }, (_, i) => create(first + i)));
  await answered(`pods\0default\0p${round}=x`, remove(store, `pods\0default\0p${round}`, at[round]!));
  // Enough that LMDB takes what is in the journal, again and again.
  for (let i = 0; i < alone; i++) await create(lone + rounds * together + round * alone + i);
}
await store.close();
