/**
 * What an engine must be able to do for `versioned.ts` to make a Store of it.
 *
 * An engine keeps two things: every version of every key, found by revision, and for each key the revision of
 * its newest version (its head). A version points back to the one before it, so a key's past is a chain:
 *
 *     heads:     pods/a → 7
 *     versions:  7 {pods/a, previous 4, value}   4 {pods/a, previous 2, deleted}   2 {pods/a, previous 0, value}
 *
 * Reading now takes the head; reading at revision 5 follows the chain from the head to the first version at or
 * before 5. All reads are synchronous, and those made without awaiting in between see one state.
 */
import { type Stored, StoreUnavailableError } from './store.ts';

/** Longest key, in bytes of UTF-8; LMDB takes 1978. */
export const KEY_BYTES_MAX = 1900;

/** Largest value, in bytes. Kubernetes takes requests up to 3 MiB. */
export const VALUE_BYTES_MAX = 8 * 1024 * 1024;

/** How long a read may keep the event loop before it gives way, in milliseconds. */
export const SLICE_MS = 4;

export interface Version {
  readonly key: string;
  readonly revision: number;
  /** Revision of the key's version before this one; 0 when there was none. It may be compacted away. */
  readonly previous: number;
  /** Wall-clock time of the commit, in milliseconds. */
  readonly timeMs: number;
  /** null is a deletion. */
  readonly value: Buffer | null;
  /** The last version of its commit. */
  readonly endsCommit: boolean;
}

/** What one slice of compaction removes, and how far compaction is then. */
export interface Removal {
  /** Versions that no state from `compacted` on needs. */
  readonly versions: readonly number[];
  /** Keys whose head is a removed deletion. */
  readonly keys: readonly string[];
  /** Changes up to and including this revision are forgotten. */
  readonly compacted: number;
  /** Superseded versions are removed up to and including this revision; a later slice goes on from here. */
  readonly swept: number;
}

/** Where an engine stands when it is opened. */
export interface EngineState {
  readonly revision: number;
  readonly compacted: number;
  readonly swept: number;
}

export interface Engine {
  readonly opened: EngineState;
  /** Revision of a key's newest version, deletions included; 0 when there is none. */
  head(key: string): number;
  /** Heads in key order, from `start` (inclusive) to `end` (exclusive). Not to be held over an await. */
  heads(start: string, end: string | undefined): Iterable<{ readonly key: string; readonly value: number }>;
  version(revision: number): Version | undefined;
  /**
   * Makes versions durable, all or none; their revisions follow the newest one. Nothing of it may be readable
   * before it is durable. A rejection says that nothing was written.
   */
  commit(versions: readonly Version[]): void | Promise<void>;
  /** Removes versions, all or none. */
  remove(removal: Removal): void | Promise<void>;
  /** What is taken up, on disk or in memory. */
  bytes(): number;
  /** Calls back when writes have had a fair chance to arrive together. */
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

/** An engine that keeps checksums of its values may still be wrong about which of them is a key's newest. */
export const damaged = (why: string): StoreUnavailableError =>
  new StoreUnavailableError(`the store is damaged: ${why}`, { permanent: true });

/** What a version left in its key; undefined after a deletion. */
export function asStored({ key, value, revision }: Version): Stored | undefined {
  return value === null ? undefined : { key, value, revision };
}

/** Refuses a key that no engine could keep as it is. */
export function checkKey(key: string): void {
  const bytes = Buffer.byteLength(key);
  if (bytes > KEY_BYTES_MAX)
    throw new RangeError(`a key may have ${KEY_BYTES_MAX} bytes, this one has ${bytes}`);
  // Half of a surrogate pair has no UTF-8 form; two such keys would become one.
  if (bytes !== key.length && /\p{Surrogate}/u.test(key))
    throw new RangeError('a key must be well-formed text');
}
