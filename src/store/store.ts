/**
 * The store contract: a revisioned key-value store with compare-and-swap, ordered reads and a watchable history.
 *
 * Every successful write takes the next revision of one counter for the whole store. Values are opaque bytes.
 * Keys are text in segments joined by SEPARATOR, which sorts before every character a segment may hold, so
 * keys sort segment by segment (`a` before `a-b`, whatever follows). All engines pass `contract.suite.ts`.
 */
import type { RequestTrace } from '../request-trace.ts';

/** Joins the segments of a key. */
export const SEPARATOR = '\u0000';

export interface Stored {
  readonly key: string;
  readonly value: Buffer;
  /** Revision of the write that put this value here. */
  readonly revision: number;
}

/** One write of the history. */
export interface Change {
  readonly key: string;
  readonly revision: number;
  /** Wall-clock time of the commit, in milliseconds. */
  readonly timeMs: number;
  /** The new value; null when the key was deleted. */
  readonly value: Buffer | null;
}

export interface Write {
  readonly key: string;
  /** The new value; null deletes the key. */
  readonly value: Buffer | null;
  /** The write happens only if the key's current revision is this; 0 means the key must not exist. */
  readonly expected: number;
  /** The next write that is made in this turn of the event loop shares the commit of this one. */
  readonly together?: true;
  /** Deadline on the store's clock: a write whose turn comes later is not carried out; undefined: none. */
  readonly deadlineMs?: number;
  /** The write happens only while this server holds these locks; else it rejects with LockLostError. */
  readonly locks?: readonly Lock[];
  /** Where the time of the write is counted; absent without `--trace-requests`. */
  readonly trace?: RequestTrace | undefined;
}

/** A key's new value, whatever it held before; null deletes it. */
export interface Assignment {
  readonly key: string;
  readonly value: Buffer | null;
}

/** A lock: the exclusive right of one server, among those that share a store, to decide something. */
export interface Lock {
  readonly name: string;
  /** The revision at which it was taken: what other servers wrote under this lock is older. */
  readonly revision: number;
  /** Lets one more caller hold the lock, with its own `leave`. */
  share(): Lock;
  /** Gives up this caller's share. Safe to call twice. */
  leave(): void;
}

export interface Locks {
  /**
   * Resolves when this server holds the lock. Any number of callers in this process may hold it together. Rejects with
   * DeadlineError when the lock could not be had in time.
   */
  enter(name: string, deadlineMs?: number): Promise<Lock>;
}

/** A write either took a revision, or lost against `current` (undefined: the key does not exist). */
export type WriteResult =
  | { readonly ok: true; readonly revision: number }
  | { readonly ok: false; readonly current: Stored | undefined };

/** The servers that share a store. */
export interface Peers {
  /** Publishes a text to the other servers, for as long as this server lives. */
  announce(text: string): Promise<void>;
  /** The texts of all live servers, this one included. */
  announced(): Promise<readonly string[]>;
  /** Calls back when a server has come, gone or announced something; returns a function that stops this. */
  follow(changed: () => void): () => void;
}

export interface RangeQuery {
  /** Start of the range (inclusive). */
  readonly start: string;
  /** End of the range (exclusive); undefined reads to the end of the store. */
  readonly end?: string;
  /** At most this many; undefined is no limit. */
  readonly limit?: number;
  /** State at this revision; undefined is now. */
  readonly revision?: number;
}

export interface RangePage {
  readonly items: readonly Stored[];
  /** The revision of the page. */
  readonly revision: number;
  /** There are more keys in the range after the last item. */
  readonly more: boolean;
}

export interface Subscription {
  /** Stops the feed; no call to the listener follows. Safe to call twice. */
  close(): void;
  /**
   * Resolves after close(); rejects when the feed broke and no more changes come: with CompactedError when the
   * revision is older than history, with a permanent StoreUnavailableError when the store is closed or damaged, and
   * with any other error when a new watch may succeed.
   */
  readonly ended: Promise<void>;
}

export interface StoreStats {
  /** Bytes used, history included. */
  readonly bytes: number;
}

/** Runs a function, all of whose calls of `revision()` share one question that was already sent to the store. */
export type PrefetchedCalls = (calls: () => void) => void;

export interface Store {
  /** The newest acknowledged revision, of any writer. An engine that is the only writer knows it without asking. */
  revision(): number | Promise<number>;
  /**
   * Asks the store for the newest revision before its callers call, if that makes sense now. Only calls for clients
   * that had sent their requests by then may share the question. Absent in stores that know the revision without
   * asking.
   */
  prefetchRevision?(): PrefetchedCalls | undefined;
  /** Changes up to and including this revision are compacted; state can be read from here on. */
  readonly compacted: number;
  /** Largest value it takes, in bytes. */
  readonly valueBytesMax: number;
  get(key: string): Promise<Stored | undefined>;
  /** Keys in order. Rejects with CompactedError or FutureRevisionError for a revision that cannot be read. */
  range(query: RangeQuery): Promise<RangePage>;
  /**
   * Resolves when the outcome is durable. Writes that arrive together share one commit. Rejects with DeadlineError
   * when the deadline passed before its turn, and with OutcomeUnknownError when it is not known whether it was done.
   */
  write(write: Write): Promise<WriteResult>;
  /**
   * Calls the listener with every change after a revision, in order, first from history and then live, each exactly
   * once. Changes of one commit arrive in one call. In a store whose revisions are not all changes of its keys, `passed`
   * is called when there is no further change up to a revision.
   */
  watch(
    after: number,
    listener: (changes: readonly Change[]) => void,
    passed?: (revision: number) => void,
  ): Subscription;
  /** Compacts history up to and including a revision, in slices that do not block other calls. */
  compact(revision: number): Promise<void>;
  stats(): StoreStats | Promise<StoreStats>;
  /**
   * All that is stored, at one revision: the bytes of a backup file (`backup-file.ts`). Compaction waits until the
   * stream is read to its end or closed, so it should not be read slowly.
   */
  backup(): AsyncIterable<Buffer>;
  /** Locks between servers; only stores that several servers may share have them. */
  readonly locks?: Locks;
  readonly peers?: Peers;
  /** Whether a value is to be written again although it does not change, because it is stored in an old form. */
  isStale?(key: string): boolean;
  close(): Promise<void>;
}

export class CompactedError extends Error {
  constructor(
    readonly wanted: number,
    readonly compacted: number,
  ) {
    super(`revision ${wanted} is older than history, which begins after ${compacted}`);
    this.name = 'CompactedError';
  }
}

export class FutureRevisionError extends Error {
  constructor(
    readonly wanted: number,
    readonly current: number,
  ) {
    super(`revision ${wanted} has not happened yet, the store is at ${current}`);
    this.name = 'FutureRevisionError';
  }
}

/** The deadline of a write passed while it waited. Nothing was written. */
export class DeadlineError extends Error {
  constructor() {
    super('the deadline of the write has passed');
    this.name = 'DeadlineError';
  }
}

/** This server does not hold a lock of the write any more: it was paused, or cut off. Nothing was written. */
export class LockLostError extends Error {
  constructor() {
    super('the server has lost the lock of the write');
    this.name = 'LockLostError';
  }
}

/** The store was lost while it wrote, and did not come back in time. The write may have been done, or may yet be. */
export class OutcomeUnknownError extends Error {
  constructor(options?: ErrorOptions) {
    super('it is not known whether the write was done: the store did not answer in time', options);
    this.name = 'OutcomeUnknownError';
  }
}

/** The store cannot be opened or has stopped working; the message is a sentence for the operator. */
export class StoreUnavailableError extends Error {
  /** A retry does not help: the store is closed or damaged. */
  readonly permanent: boolean;

  constructor(message: string, options: ErrorOptions & { readonly permanent?: boolean } = {}) {
    super(message, options);
    this.name = 'StoreUnavailableError';
    this.permanent = options.permanent ?? false;
  }
}

/** The store has no space left for anything new. */
export class StoreFullError extends StoreUnavailableError {}

/** The store did not answer in time: a later attempt may succeed. */
export class StoreTimeoutError extends StoreUnavailableError {}

export const storeClosed = (): StoreUnavailableError =>
  new StoreUnavailableError('the store is closed', { permanent: true });
