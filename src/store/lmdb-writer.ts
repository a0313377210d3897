/**
 * Sends transactions, encoded on a sheet (`write-buffer.ts`), to a thread that carries them out and waits for the disk
 * (`lmdb-thread.ts`). Calling LMDB for all records took the main thread 8 µs of every create; encoding them takes
 * less, and the rest happens on another core: creates at 16 connections went from 0.359 to 0.372 of the bare server.
 * The thread answers when a transaction is durable, or why nothing of it is. One transaction is under way at a time,
 * and its sheet must not change meanwhile.
 *
 * The first few transactions are carried out in the main thread: a store that is just starting, or opened only to be
 * read, is done before a thread would have started. So are commits of few writes on a quick disk (`lone-writes.ts`), and
 * all where a thread cannot be started, and with `WHERRY_PLAIN=1`.
 */
import { SHARE_ENV, Worker } from 'node:worker_threads';
import type { RootDatabase, RootDatabaseOptionsWithPath } from 'lmdb';
import { optimized } from '../switches.ts';
import type { Answer, Order, ThreadStart } from './lmdb-thread.ts';
import { type CarryOut, carryingOut, type WriteFailure } from './lmdb-transaction.ts';
import { LoneWrites } from './lone-writes.ts';
import type { WriteBuffer } from './write-buffer.ts';

/** The thread is started after this many transactions: more than the first start of a secure server makes. */
export const TRANSACTIONS_HERE = 24;

/** The built `lmdb-thread.ts`, as a URL or relative to this file; set by the build (`scripts/build/thread.mjs`). */
declare const lmdbThreadFile: string;

export class LmdbWriter {
  /** How long the last transaction took where it was carried out. */
  syncMs = 0;
  readonly #start: ThreadStart;
  readonly #carryOutHere: CarryOut;
  readonly #lone = new LoneWrites();
  #countHere = 0;
  #thread: Worker | undefined;
  #ready = false;
  #closing = false;
  /** Set when the thread has ended unexpectedly: why. */
  #lost: Error | undefined;
  #ended: Promise<void> = Promise.resolve();
  #waiting: { resolve: (failure?: WriteFailure) => void; reject: (error: Error) => void } | undefined;

  /** `library` is the file of LMDB, and `root` the folder opened with these options. */
  constructor(
    library: string,
    options: RootDatabaseOptionsWithPath,
    root: RootDatabase,
    private readonly transactionsHere = optimized ? TRANSACTIONS_HERE : Number.POSITIVE_INFINITY,
  ) {
    this.#start = { library, options };
    this.#carryOutHere = carryingOut(root, options.path!);
  }

  /** LMDB may wait for ever for a lost thread. */
  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /**
   * Carries out a sheet, which must not change until then: all of it, durably; or returns why nothing was written. A
   * rejection means that the thread was lost, and the outcome is unknown.
   * @param writes how many clients wait for it; undefined if none does
   */
  write(sheet: WriteBuffer, writes = Number.POSITIVE_INFINITY): Promise<WriteFailure | undefined> {
    const { memory, end } = sheet;
    if (this.#ready && (this.#lost || this.#waiting || !this.#lone.isFor(writes, end)))
      return new Promise((resolve, reject) => {
        if (this.#waiting) throw new Error('another transaction is under way');
        if (this.#lost) throw this.#lost;
        this.#waiting = { resolve, reject };
        this.#send({ memory, end });
      });
    const begunMs = performance.now();
    const failure = this.#carryOutHere(memory, end);
    this.#took(performance.now() - begunMs);
    if (!this.#thread && ++this.#countHere === this.transactionsHere) this.#startThread();
    return Promise.resolve(failure);
  }

  async close(): Promise<void> {
    this.#closing = true;
    if (this.#thread) this.#send('close');
    await this.#ended;
  }

  #took(ms: number): void {
    this.syncMs = ms;
    this.#lone.note(ms);
  }

  #startThread(): void {
    const file = new URL(lmdbThreadFile, import.meta.url);
    let thread: Worker;
    try {
      thread = new Worker(file, {
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
        // If the thread never started, transactions continue in this thread.
        if (this.#ready && !this.#closing) this.#lost = cause;
        this.#waiting?.reject(cause);
        this.#waiting = undefined;
        resolve();
      });
    });
    // An idle thread does not keep the process alive.
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
    if (typeof answer !== 'number') return resolve(answer);
    this.#took(answer);
    resolve();
  };
}
