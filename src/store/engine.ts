/**
 * The engine interface, over which `versioned.ts` implements a Store.
 *
 * An engine keeps two things: every version of every key, found by revision, and for each key the revision of
 * its newest version (its head). A version points back to the one before it, so a key's history is a chain:
 *
 *     heads:     pods/a → 7
 *     versions:  7 {pods/a, previous 4, value}   4 {pods/a, previous 2, deleted}   2 {pods/a, previous 0, value}
 *
 * A current read uses the head; a read at revision 5 follows the chain from the head to the first version at or
 * before 5. All reads are synchronous, and reads without an await in between see one state.
 */
import { type Stored, StoreUnavailableError } from './store.ts';

/** Longest key, in bytes of UTF-8; LMDB takes 1978. */
export const KEY_BYTES_MAX = 1900;

/** Largest value, in bytes. Kubernetes accepts requests up to 3 MiB. */
export const VALUE_BYTES_MAX = 8 * 1024 * 1024;

/** How long a read may block the event loop before it yields, in milliseconds. */
export const SLICE_MS = 4;

export interface Version {
  readonly key: string;
  readonly revision: number;
  /** Revision of the key's version before this one; 0 when there was none. It may be compacted away. */
  readonly previous: number;
  /** Wall-clock time of the commit, in milliseconds. */
  readonly timeMs: number;
  /** The new value; null for a deletion. */
  readonly value: Buffer | null;
  /** Whether this is the last version of its commit. */
  readonly endsCommit: boolean;
}

/** What compaction needs of a version. */
export interface VersionOutline {
  readonly previous: number;
  /** The key of a deletion; undefined for a version with a value. */
  readonly deletedKey: string | undefined;
}

/** The result of one slice of compaction: what it removes, and its progress. */
export interface Removal {
  /** Versions that no state from `compacted` on needs. */
  readonly versions: readonly number[];
  /** Keys whose head is a removed deletion. */
  readonly keys: readonly string[];
  /** Changes up to and including this revision are forgotten. */
  readonly compacted: number;
  /** Superseded versions are removed up to and including this revision; the next slice continues here. */
  readonly swept: number;
}

/** The state of an engine when it is opened. */
export interface EngineState {
  readonly revision: number;
  readonly compacted: number;
  readonly swept: number;
}

export interface Engine {
  readonly opened: EngineState;
  /** Revision of a key's newest version, deletions included; 0 for a key that was never written. */
  head(key: string): number;
  /** Heads in key order, from `start` (inclusive) to `end` (exclusive). Not to be used across an await. */
  heads(start: string, end: string | undefined): Iterable<{ readonly key: string; readonly value: number }>;
  version(revision: number): Version | undefined;
  /** What compaction needs of a version, without a copy of its value. */
  outline(revision: number): VersionOutline | undefined;
  /**
   * Makes versions durable, all or none; their revisions follow the newest one. Nothing may be readable before it is
   * durable. A rejection means that nothing was written.
   */
  commit(versions: readonly Version[]): void | Promise<void>;
  /** How long the last commit worked and waited for the disk; absent where that is no phase of its own. */
  readonly syncMs?: number;
  /** Removes versions, all or none. */
  remove(removal: Removal): void | Promise<void>;
  /** Bytes used, on disk or in memory. */
  bytes(): number;
  /** Calls back after a short time in which further writes can arrive to share the commit. */
  gather(callback: () => void): void;
  close(): void | Promise<void>;
}

/** Reads a version that must be there, and of that key if one is named. */
export function readVersion(engine: Engine, revision: number, key?: string): Version {
  const version = engine.version(revision);
  if (!version) throw damaged(`it has lost revision ${revision}`);
  if (key !== undefined && version.key !== key) throw damaged(`revision ${revision} belongs to another key`);
  return version;
}

/** Reads what compaction needs of a version that must be there. */
export function readOutline(engine: Engine, revision: number): VersionOutline {
  const outline = engine.outline(revision);
  if (!outline) throw damaged(`it has lost revision ${revision}`);
  return outline;
}

/** Checks that a version belongs to the key: value checksums do not show a wrong head. */
export const damaged = (why: string): StoreUnavailableError =>
  new StoreUnavailableError(`the store is damaged: ${why}`, { permanent: true });

/** The value after a version; undefined after a deletion. */
export function asStored({ key, value, revision }: Version): Stored | undefined {
  return value === null ? undefined : { key, value, revision };
}

/** Refuses a key that an engine could not store unchanged. */
export function checkKey(key: string): void {
  const bytes = Buffer.byteLength(key);
  if (bytes > KEY_BYTES_MAX)
    throw new RangeError(`a key may have ${KEY_BYTES_MAX} bytes, this one has ${bytes}`);
  // Lone surrogates have no UTF-8 form; two such keys would become one.
  if (bytes !== key.length && /\p{Surrogate}/u.test(key))
    throw new RangeError('a key must be well-formed text');
}
