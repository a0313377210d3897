/**
 * The embedded engine: LMDB, a memory-mapped B-tree in one file.
 *
 * Three databases: `versions` (revision → record), `index` (key → revision of its newest version) and `meta`
 * (format, revision, compacted, swept, owner). A value is written once and never moved.
 *
 * A commit is durable when its promise resolves: without overlapping sync, LMDB writes the pages, syncs the
 * file, and then writes the new root through a descriptor that syncs by itself. Only then can anyone read it.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Database, Key, RootDatabase } from 'lmdb';
import { checkDataFile } from './datafile.ts';
import type { Engine, EngineState, Removal, Version } from './engine.ts';
import { damaged, notOurs, unavailable } from './folderfailure.ts';
import { KeyFilter } from './keyfilter.ts';
import {
  claimFolder,
  currentOwner,
  formatOwner,
  inUse,
  isAlive,
  parseOwner,
  releaseFolder,
} from './owner.ts';
import { decodeRecord, encodeRecords, readUint48, writeUint48 } from './record.ts';
import { compareKeys } from './sortedmap.ts';
import { type Store, StoreUnavailableError } from './store.ts';
import { VersionedStore, type VersionedStoreOptions } from './versioned.ts';

export interface LmdbStoreOptions extends VersionedStoreOptions {
  /** The folder for the data file; it is created when it does not exist. */
  readonly dataDir: string;
}

/** Layout of the databases. A store of another format is refused. */
const FORMAT = 1;

/**
 * Address space set aside for the file, in bytes; it costs no memory and no disk. LMDB maps anew when the file
 * outgrows it, which is safe but leaves the old map in place until the store is closed.
 */
const MAP_BYTES = 16 * 2 ** 30;

/**
 * Revisions only rise. Told so, LMDB fills a page before it begins the next; otherwise it would leave half of
 * each one empty. The price is that it answers a revision that does not rise with false instead of an error.
 */
const APPEND = { append: true } as const;

/** Where a restore builds the data file, inside the data folder, before it puts it into place. */
export const RESTORING = 'restoring';

/** LMDB's table of readers, and what LMDB writes before it is open, in bytes. */
const LOCK_BYTES = 16 * 1024;
const OPENING_BYTES = 112 * 1024;

/** Most commits fit into so many bytes. */
const ROOM_BYTES = 256 * 1024;

type Lmdb = typeof import('lmdb');

export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  return new VersionedStore(openEngine(options.dataDir), options);
}

/** Opens the data file of a folder, and makes both when they do not exist. */
export function openEngine(dataDir: string): LmdbEngine {
  // It also comes as one CommonJS file, which is there in half the time of its many modules.
  const lmdb = createRequire(import.meta.url)('lmdb') as Lmdb;
  let folder: string | undefined;
  let isNew = false;
  try {
    const created = mkdirSync(dataDir, { recursive: true });
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    const path = realpathSync(dataDir);
    claimFolder(path);
    folder = path;
    if (existsSync(join(path, RESTORING, 'data.mdb')))
      throw new StoreUnavailableError(
        `a restore into ${dataDir} has not come to its end; run it again, or delete ${join(dataDir, RESTORING)}`,
      );
    isNew = !existsSync(join(path, 'data.mdb'));
    prepareLockFile(join(path, 'lock.mdb'));
    const engine = new LmdbEngine(lmdb, path);
    if (isNew) syncFolders(path, created === undefined ? path : realpathSync(created));
    return engine;
  } catch (error) {
    // A file that was not finished would be taken for a damaged one.
    if (isNew) rmSync(join(folder!, 'data.mdb'), { force: true });
    if (folder !== undefined) releaseFolder(folder);
    throw unavailable(dataDir, error);
  }
}

/**
 * LMDB leaves holes in its table of readers and writes to it as to memory, and does not look whether its first pages
 * were written. On a full disk both end the process. So the table gets its place on disk here, which is up to whoever
 * has the folder to himself, and there is room for what follows.
 */
function prepareLockFile(path: string): void {
  try {
    writeFileSync(path, Buffer.alloc(LOCK_BYTES + OPENING_BYTES));
    truncateSync(path, LOCK_BYTES);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

export class LmdbEngine implements Engine {
  readonly opened: EngineState;
  readonly #folder: string;
  readonly #root: RootDatabase<Buffer, string>;
  readonly #versions: Versions;
  readonly #index: Database<number, string>;
  readonly #meta: Database<Buffer, string>;
  /** The keys of the index. */
  readonly #keys = new KeyFilter();
  /** Where records of a commit lie until LMDB has taken them; there is one commit at a time. */
  readonly #room = Buffer.allocUnsafeSlow(ROOM_BYTES);
  /** The newest revision LMDB is known to hold. */
  #revision: number;
  /** Why nothing can be written any more. */
  #broken: StoreUnavailableError | undefined;

  constructor(lmdb: Lmdb, folder: string) {
    this.#folder = folder;
    checkDataFile(join(folder, 'data.mdb'));
    let root: RootDatabase<Buffer, string> | undefined;
    try {
      root = lmdb.open<Buffer, string>({
        path: folder,
        noSubdir: false,
        maxDbs: 3,
        mapSize: MAP_BYTES,
        overlappingSync: false,
        // LMDB's own batches drop a promise that would end the process when a commit fails.
        eventTurnBatching: false,
        encoding: 'binary',
      });
      this.#root = root;
      for (const name of root.getKeys()) {
        if (!['versions', 'index', 'meta'].includes(name)) throw notOurs(folder);
      }
      this.#versions = openDatabase<Buffer, number>(root, 'versions', {
        encoding: 'binary',
        keyEncoder: revisionKey,
      });
      this.#index = openDatabase(root, 'index', { encoder: revisionValue, keyEncoder: textKey });
      this.#meta = openDatabase(root, 'meta', { encoding: 'binary', keyEncoder: textKey });
      this.#checkFormat();
      this.opened = root.transactionSync(() => this.#claim());
      this.#revision = this.opened.revision;
      for (const key of this.#index.getKeys({ start: '' })) this.#keys.add(key);
    } catch (error) {
      void root?.close();
      throw error;
    }
  }

  head(key: string): number {
    // LMDB has no empty key, and says so by throwing.
    if (key === '' || !this.#keys.mayHold(key)) return 0;
    return this.#read(() => this.#index.get(key)) ?? 0;
  }

  *heads(start: string, end: string | undefined): Generator<{ key: string; value: number }, void, undefined> {
    if (end !== undefined && compareKeys(start, end) >= 0) return;
    try {
      yield* this.#index.getRange(end === undefined ? { start } : { start, end });
    } catch (error) {
      throw unavailable(this.#folder, error);
    }
  }

  version(revision: number): Version | undefined {
    const record = this.#read(() => this.#versions.getBinaryFast(revision));
    if (!record) return undefined;
    const version = decodeRecord(record, revision);
    if (!version) throw damaged(this.#folder, `revision ${revision} does not match its checksum`);
    return version;
  }

  commit(versions: readonly Version[]): Promise<void> {
    const { revision } = versions.at(-1)!;
    // Before they are there: too early costs a look, too late would deny them.
    for (const { key, previous } of versions) if (previous === 0) this.#keys.add(key);
    const records = encodeRecords(versions, this.#room);
    return this.#transact(revision, () =>
      versions.map((version, i) => {
        void this.#index.put(version.key, version.revision);
        return this.#versions.put(version.revision, records[i]!, APPEND);
      }),
    );
  }

  /** Puts versions from a backup into a store without history, in any order. The revision is that of the store. */
  load(versions: readonly Version[], revision: number): Promise<void> {
    for (const { key } of versions) this.#keys.add(key);
    const records = encodeRecords(versions);
    return this.#transact(revision, () =>
      versions.map((version, i) => {
        void this.#index.put(version.key, version.revision);
        return this.#versions.put(version.revision, records[i]!);
      }),
    );
  }

  async remove({ versions, keys, compacted, swept }: Removal): Promise<void> {
    await this.#transact(this.#revision, () => {
      for (const revision of versions) void this.#versions.remove(revision);
      for (const key of keys) void this.#index.remove(key);
      void this.#meta.put('compacted', encodeRevision(compacted));
      void this.#meta.put('swept', encodeRevision(swept));
      return [];
    });
    for (const key of keys) this.#keys.delete(key);
  }

  bytes(): number {
    return this.#read(() => statSync(join(this.#folder, 'data.mdb')).size);
  }

  gather(callback: () => void): void {
    setImmediate(callback);
  }

  async close(): Promise<void> {
    try {
      if (!this.#broken) await this.#meta.remove('owner');
    } catch {
      // All that was acknowledged is safe, and the owner's mark is worth nothing when this process has ended.
    } finally {
      await this.#root.close();
      releaseFolder(this.#folder);
    }
  }

  /** One transaction; `put` answers the promises that LMDB does not fold into the one of the whole. */
  async #transact(revision: number, put: () => Promise<boolean>[]): Promise<void> {
    if (this.#broken) throw this.#broken;
    let puts: Promise<boolean>[] = [];
    let results: boolean[];
    try {
      const commit = this.#root.batch(() => {
        puts = put();
        void this.#meta.put('revision', encodeRevision(revision));
      });
      results = await Promise.all([commit, ...puts]);
    } catch (error) {
      throw await this.#failed(error);
    }
    this.#revision = revision;
    if (results.includes(false)) {
      this.#broken = damaged(this.#folder, `it did not take revision ${revision}`);
      throw this.#broken;
    }
  }

  /** A failed commit left nothing behind, or the store takes no more writes. */
  async #failed(error: unknown): Promise<StoreUnavailableError> {
    // Only a commit carries `commitError`. Without it a put threw, and those before it may be on their way.
    const { commitError } = error as { commitError?: Promise<never> };
    const cause = await commitError?.catch((reason: unknown) => reason);
    const failure = unavailable(this.#folder, cause ?? error);
    if (!commitError) this.#broken = failure;
    try {
      this.#root.resetReadTxn();
      if (this.#metaRevision('revision') !== this.#revision) this.#broken = failure;
    } catch {
      // After an error in writing its root LMDB answers nothing, and would not answer a write at all.
      this.#broken = failure;
    }
    return failure;
  }

  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw unavailable(this.#folder, error);
    }
  }

  #metaRevision(name: string): number {
    const value = this.#meta.getBinary(name);
    if (value?.length !== 6) throw damaged(this.#folder, `its ${name} is missing`);
    return readUint48(value, 0);
  }

  #checkFormat(): void {
    const format = this.#meta.getBinary('format');
    if (!format) {
      for (const _ of this.#versions.getKeys({ start: 0, limit: 1 })) throw notOurs(this.#folder);
    } else if (format.length !== 6 || readUint48(format, 0) !== FORMAT) {
      const found = format.length === 6 ? readUint48(format, 0) : 'unknown';
      throw new StoreUnavailableError(
        `the data folder ${this.#folder} has format ${found}, and this version of Wherry reads format ${FORMAT}`,
      );
    }
  }

  /** Runs in a write transaction: of two processes, the second sees what the first wrote. */
  #claim(): EngineState {
    const text = this.#meta.getBinary('owner');
    const owner = text && parseOwner(text.toString());
    if (owner && isAlive(owner)) throw inUse(this.#folder, owner);
    if (!this.#meta.doesExist('format')) {
      for (const name of ['revision', 'compacted', 'swept']) this.#meta.putSync(name, encodeRevision(0));
      this.#meta.putSync('format', encodeRevision(FORMAT));
    }
    const state = this.#readState();
    this.#meta.putSync('owner', Buffer.from(formatOwner(currentOwner())));
    return state;
  }

  #readState(): EngineState {
    const [revision, compacted, swept] = ['revision', 'compacted', 'swept'].map((name) =>
      this.#metaRevision(name),
    ) as [number, number, number];
    if (swept > compacted || compacted > revision) throw damaged(this.#folder, 'its revisions do not agree');
    if (revision > compacted && !this.version(revision)) {
      throw damaged(this.#folder, `its last revision ${revision} is missing`);
    }
    return { revision, compacted, swept };
  }
}

/** LMDB's types do not know that `put` takes options. */
type Versions = Omit<Database<Buffer, number>, 'put'> & {
  put(revision: number, record: Buffer, options?: typeof APPEND): Promise<boolean>;
};

interface Encodings {
  readonly encoding?: 'binary';
  readonly encoder?: unknown;
  readonly keyEncoder: unknown;
}

function openDatabase<V, K extends Key>(
  root: RootDatabase,
  name: string,
  encodings: Encodings,
): Database<V, K> {
  return root.openDB<V, K>({ name, ...encodings } as { name: string });
}

/** Revisions as keys: eight bytes, so that they sort as numbers do. */
const revisionKey = {
  writeKey(revision: number, target: Buffer, position: number): number {
    target.writeUInt16BE(0, position);
    writeUint48(target, revision, position + 2);
    return position + 8;
  },
  readKey: (source: Buffer, start: number): number => readUint48(source, start + 2),
};

/** Text as it is: LMDB sorts the bytes. */
const textKey = {
  writeKey: (key: string, target: Buffer, position: number): number => position + target.write(key, position),
  readKey: (source: Buffer, start: number, end: number): string => source.toString('utf8', start, end),
};

const revisionValue = {
  encode: encodeRevision,
  decode: (bytes: Buffer): number => readUint48(bytes, 0),
};

function encodeRevision(revision: number): Buffer {
  const bytes = Buffer.allocUnsafe(6);
  writeUint48(bytes, revision, 0);
  return bytes;
}

/**
 * A new file is there after a power cut only if its folder was synced, and a new folder only if the one above
 * was: from the data folder up to the one above the topmost that was created. Not every system can do that.
 */
export function syncFolders(folder: string, topmost: string): void {
  for (let path = folder; ; path = dirname(path)) {
    try {
      const descriptor = openSync(path, 'r');
      try {
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
    } catch {}
    if (path === dirname(topmost) || path === dirname(path)) return;
  }
}
