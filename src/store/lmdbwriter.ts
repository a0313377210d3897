/**
 * Carries out transactions, written down on a sheet (`writesheet.ts`), in a thread of its own: handing them to LMDB and
 * waiting for the disk takes time that this thread has better use for. It sends word, and is told when all of it is
 * durable, or why none of it is. One transaction is under way at a time.
 *
 * The first few are carried out here. A store that is only starting, or opened to be looked at, is done by the time a
 * thread would be there. All are, where a thread cannot be had.
 */
import { SHARE_ENV, Worker } from 'node:worker_threads';
import type { RootDatabase, RootDatabaseOptionsWithPath } from 'lmdb';
import { APPEND, databases, HEAD_BYTES, REMOVE, USUAL_BYTES, type WriteSheet } from './writesheet.ts';

/** A thread is worth its start when so many transactions have been made. */
export const TRANSACTIONS_HERE = 8;

/** What has to be known to read a sheet. */
const layout = { databases, APPEND, REMOVE, HEAD_BYTES, USUAL_BYTES };
type Layout = typeof layout;

/** What the thread is given: where it finds LMDB, how to open the folder, and how to read a sheet. */
interface Start {
  readonly library: string;
  readonly options: RootDatabaseOptionsWithPath;
  readonly layout: Layout;
}

/** A sheet to carry out, or the word to close LMDB. */
type Order = { readonly memory: SharedArrayBuffer; readonly end: number } | 'close';

/** The thread can take orders; or a sheet is carried out; or it is not, and why. */
type Answer = 'ready' | 'done' | WriteFailure;

/** Why a transaction was not carried out. `refused`: LMDB holds something else than it should. */
export interface WriteFailure {
  readonly message: string;
  readonly code: unknown;
  readonly refused: boolean;
}

/** LMDB's types do not know that `putSync` tells whether the value was taken. */
interface Puts {
  putSync(key: Buffer, value: Buffer, options: { append: boolean }): boolean;
  removeSync(key: Buffer): boolean;
}

type CarryOut = (memory: SharedArrayBuffer, end: number) => WriteFailure | undefined;

export class LmdbWriter {
  readonly #start: Start;
  readonly #carryOutHere: CarryOut;
  #countHere = 0;
  #thread: Worker | undefined;
  #ready = false;
  #closing = false;
  /** Why there is no thread any more, though it was at work. */
  #lost: Error | undefined;
  #ended: Promise<void> = Promise.resolve();
  #waiting: { resolve: (failure?: WriteFailure) => void; reject: (error: Error) => void } | undefined;

  /** `library` is the file of LMDB, and `root` the folder opened with these options. */
  constructor(library: string, options: RootDatabaseOptionsWithPath, root: RootDatabase) {
    this.#start = { library, options, layout };
    this.#carryOutHere = carryingOut(root, layout);
  }

  /** LMDB may wait for a thread that was lost, and for ever. */
  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /**
   * Carries out what is on a sheet, which must stay as it is until then: all of it, durably; or answers why nothing.
   * A rejection says that the thread was lost, and what became of it is not known.
   */
  write(sheet: WriteSheet): Promise<WriteFailure | undefined> {
    const { memory, end } = sheet;
    if (this.#ready)
      return new Promise((resolve, reject) => {
        if (this.#waiting) throw new Error('another transaction is under way');
        if (this.#lost) throw this.#lost;
        this.#waiting = { resolve, reject };
        this.#send({ memory, end });
      });
    const failure = this.#carryOutHere(memory, end);
    if (++this.#countHere === TRANSACTIONS_HERE) this.#startThread();
    return Promise.resolve(failure);
  }

  async close(): Promise<void> {
    this.#closing = true;
    if (this.#thread) this.#send('close');
    await this.#ended;
  }

  #startThread(): void {
    let thread: Worker;
    try {
      // As text, which needs no file that would have to be found beside this one, wherever this was bundled into.
      thread = new Worker(`(${serve})(${carryingOut})`, {
        eval: true,
        name: 'lmdb writer',
        workerData: this.#start,
        env: SHARE_ENV,
        execArgv: [],
      });
    } catch {
      return;
    }
    this.#thread = thread;
    let cause = new Error('the thread that writes has ended');
    thread.on('message', this.#onAnswer);
    thread.on('error', (error) => {
      cause = error;
    });
    this.#ended = new Promise((resolve) => {
      thread.once('exit', () => {
        this.#thread = undefined;
        // One that never came to work is done without.
        if (this.#ready && !this.#closing) this.#lost = cause;
        this.#waiting?.reject(cause);
        this.#waiting = undefined;
        resolve();
      });
    });
    // Nobody waits for a thread that has nothing to do.
    thread.unref();
  }

  #send(order: Order): void {
    this.#thread!.ref();
    this.#thread!.postMessage(order);
  }

  readonly #onAnswer = (answer: Answer): void => {
    if (answer === 'ready') {
      this.#ready = true;
      return;
    }
    this.#thread!.unref();
    const { resolve } = this.#waiting!;
    this.#waiting = undefined;
    resolve(answer === 'done' ? undefined : answer);
  };
}

// Of what follows only the text gets into the thread. It may use nothing but what is in it, and import nothing: bundlers
// would put a name from outside in that place.

/** What carries out sheets in an opened folder. */
function carryingOut(root: RootDatabase, sheet: Layout): CarryOut {
  const opened = sheet.databases.map((name) =>
    root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' }),
  ) as unknown as Puts[];
  const versions = opened[0];
  const { crc32 } = process.getBuiltinModule('node:zlib');
  // LMDB ends the process when it is to take values out of shared memory.
  const usual = Buffer.allocUnsafeSlow(sheet.USUAL_BYTES);
  let refused = false;
  return (memory, end) => {
    const own = end <= usual.length ? usual : Buffer.allocUnsafeSlow(end);
    Buffer.from(memory).copy(own, 0, 0, end);
    try {
      refused = false;
      root.transactionSync(() => {
        for (let at = 0; at < end; ) {
          const database = opened[own[at]!]!;
          const action = own[at + 1];
          const keyStart = at + sheet.HEAD_BYTES;
          const valueStart = keyStart + own.readUInt16LE(at + 2);
          at = valueStart + own.readUInt32LE(at + 4);
          const key = own.subarray(keyStart, valueStart);
          // A record begins with its checksum, which begins with the low half of its revision, the end of the key.
          if (database === versions && action !== sheet.REMOVE)
            own.writeUInt32BE(
              crc32(own.subarray(valueStart + 4, at), own.readUInt32BE(valueStart - 4)),
              valueStart,
            );
          if (action === sheet.REMOVE) database.removeSync(key);
          else if (
            !database.putSync(key, own.subarray(valueStart, at), { append: action === sheet.APPEND })
          ) {
            refused = true;
            throw new Error('it did not take a record');
          }
        }
      });
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException;
      return { message, code, refused };
    }
    return undefined;
  };
}

/** What the thread does. */
function serve(carryingOut: (root: RootDatabase, sheet: Layout) => CarryOut): void {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { library, options, layout } = workerData as Start;
  const lmdb = process.getBuiltinModule('node:module').createRequire(library)(
    library,
  ) as typeof import('lmdb');
  const root = lmdb.open(options);
  const carryOut = carryingOut(root, layout);
  const answer = (word: Answer): void => parentPort!.postMessage(word);
  const close = async (): Promise<void> => {
    await root.close();
    parentPort!.close();
  };
  parentPort!.on('message', (order: Order) => {
    if (order === 'close') void close();
    else answer(carryOut(order.memory, order.end) ?? 'done');
  });
  answer('ready');
}
