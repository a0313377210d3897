/**
 * Lone writes: a commit of few writes is carried out by the main thread, as long as the disk is quick. The way to the
 * thread that writes and back (`lmdb-writer.ts`) takes longer than such a transaction: each way waits until a core is
 * free, up to several milliseconds on a busy machine. There, and with the data on a file system in memory, the median of
 * single creates went from 0.75 to 0.56 ms, their slowest percent from 9.0 to 5.4 ms, and creates of four clients from
 * 1,940 to 2,810 a second.
 *
 * Whether the disk is quick is known from the last transactions, wherever they were carried out: the main thread does
 * nothing else while it waits. With `WHERRY_PLAIN=1` there is no thread, and all transactions are carried out here.
 */

/** More writes than this share a commit in the thread: the next ones are prepared meanwhile. */
const WRITES_MAX = 4;

/** Larger transactions take their time. */
const BYTES_MAX = 64 * 1024;

/** Transactions of this mean duration are the longest that the main thread waits for. */
const QUICK_MAX_MS = 1;

/** How many of the last transactions the mean is about, roughly. */
const REMEMBERED = 8;

export class LoneWrites {
  #meanMs = 0;

  /** Whether a commit of so many writes and bytes is carried out by the main thread. */
  isFor(writes: number, bytes: number): boolean {
    return writes <= WRITES_MAX && bytes <= BYTES_MAX && this.#meanMs <= QUICK_MAX_MS;
  }

  /** Takes note of how long a transaction took, disk included. */
  note(tookMs: number): void {
    this.#meanMs += (tookMs - this.#meanMs) / REMEMBERED;
  }
}
