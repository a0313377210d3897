/** The thread that `lmdb-writer.ts` starts: opens the folder a second time and carries out the sheets it is sent. */
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { RootDatabaseOptionsWithPath } from 'lmdb';
import { carryingOut, type WriteFailure } from './lmdb-transaction.ts';

/** Worker data: the file of LMDB, and how to open the folder. */
export interface ThreadStart {
  readonly library: string;
  readonly options: RootDatabaseOptionsWithPath;
}

/** A sheet to carry out, or the command to close LMDB. */
export type Order = { readonly memory: SharedArrayBuffer; readonly end: number } | 'close';

/** `ready`: the thread has started. A number: a sheet was carried out, in so many milliseconds. Else why it failed. */
export type Answer = 'ready' | number | WriteFailure;

const { library, options } = workerData as ThreadStart;
const lmdb = createRequire(library)(library) as typeof import('lmdb');
const root = lmdb.open(options);
const carryOut = carryingOut(root, options.path!);
const answer = (word: Answer): void => parentPort!.postMessage(word);

async function close(): Promise<void> {
  await root.close();
  parentPort!.close();
}

parentPort!.on('message', (order: Order) => {
  if (order === 'close') return void close();
  const begunMs = performance.now();
  answer(carryOut(order.memory, order.end) ?? performance.now() - begunMs);
});
answer('ready');
