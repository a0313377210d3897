/**
 * Compacts the history of etcd, for all servers that share it. The server whose key sorts first does it; the others
 * only forget what they were asked to forget. A revision that is still being read is kept: compaction waits for readers
 * in this process, and a server that makes a backup writes the revision into its key for the others to see.
 */

import { CallError } from '../../grpc/call-error.ts';
import { StoreUnavailableError } from '../store.ts';
import { isCompacted } from './call-problem.ts';
import { type Members, pause } from './members.ts';
import { COMPACT, decodeRange, encodeCompact, encodeRange, RANGE } from './messages.ts';
import { asUnavailable, type Registration } from './registration.ts';

const CALL_MS = 10_000;
const WAIT_MS = 10;

/** A reader of a revision that must not be compacted. */
export interface Reader {
  readonly revision: number;
}

export class Compaction {
  readonly readers = new Set<Reader>();
  #tail: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    private readonly members: Members,
    private readonly registration: Registration,
    /** Whether a subscription still has to read history at or before a revision. */
    private readonly isWatchedBefore: (revision: number) => boolean,
  ) {}

  /** Compacts up to a revision. Calls run one at a time, in order. */
  compact(revision: number): Promise<void> {
    const done = this.#tail.then(() => this.#compact(revision));
    this.#tail = done.catch(() => undefined);
    return done;
  }

  /** Resolves when no compaction is under way. */
  close(): Promise<void> {
    this.#closed = true;
    return this.#tail;
  }

  async #compact(revision: number): Promise<void> {
    while (this.#isReadBefore(revision)) {
      this.#assertOpen();
      await pause(WAIT_MS);
    }
    this.#assertOpen();
    const servers = await this.registration.servers();
    if (servers[0]?.isThis === false) return;
    const target = Math.min(revision, ...servers.map(({ pinned }) => pinned ?? revision));
    if (target <= 0) return;
    try {
      await this.members.call(COMPACT, encodeCompact(target), CALL_MS);
    } catch (error) {
      this.#assertOpen();
      if (!(error instanceof CallError)) throw error;
      // Another program has compacted further.
      if (!isCompacted(error)) throw asUnavailable(error);
    }
  }

  #isReadBefore(revision: number): boolean {
    for (const reader of this.readers) if (reader.revision < revision) return true;
    return this.isWatchedBefore(revision);
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreUnavailableError('the store was closed during compaction');
  }
}

/**
 * The oldest revision that can be read; 0 if nothing was compacted. etcd does not report it, but refuses to read older
 * ones, so it is found by binary search.
 */
export async function oldestRevision(members: Members, key: Buffer, newest: number): Promise<number> {
  const canRead = async (revision: number): Promise<boolean> => {
    try {
      decodeRange(await members.call(RANGE, encodeRange({ key, revision }), CALL_MS));
      return true;
    } catch (error) {
      if (error instanceof CallError && isCompacted(error)) return false;
      throw error instanceof CallError ? asUnavailable(error) : error;
    }
  };
  if (newest < 1 || (await canRead(1))) return 0;
  let [compacted, readable] = [1, newest];
  while (readable - compacted > 1) {
    const middle = Math.floor((compacted + readable) / 2);
    if (await canRead(middle)) readable = middle;
    else compacted = middle;
  }
  return readable;
}
