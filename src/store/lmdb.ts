/**
 * The embedded engine: LMDB, a memory-mapped B-tree in one file.
 *
 * Three databases: `versions` (revision → record), `index` (key → revision of its newest version) and `meta`
 * (format, revision, compacted, swept, owner, journal). A value is written once and never moved.
 *
 * A commit is durable when its promise resolves: without overlapping sync, LMDB writes the pages, syncs the file, and
 * then writes the new root through a descriptor that syncs by itself. Only then can it be read.
 */
import {
  accessSync,
  constants,
  existsSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Database, Key, RootDatabase } from 'lmdb';
import { asserting, optimized } from '../switches.ts';
import { checkDataFile } from './data-file.ts';
import { closeFile, fileMode, openDataFolder, syncFolders } from './data-folder.ts';
import type { Engine, EngineState, Removal, Version, VersionOutline } from './engine.ts';
import { damaged, notOurs, unavailable } from './folder-failure.ts';
import { FORMAT, JOURNALED, readableFormats, type Upgrade, type Upgraded } from './format.ts';
import { COMMITS_BEFORE_JOURNAL, withJournal } from './journaled-engine.ts';
import { knownKeys } from './key-filter.ts';
import { findLmdb, type LmdbLibrary } from './lmdb-library.ts';
import type { WriteFailure } from './lmdb-transaction.ts';
import { LmdbWriter } from './lmdb-writer.ts';
import {
  claimFolder,
  currentOwner,
  formatOwner,
  inUse,
  isAlive,
  parseOwner,
  releaseFolder,
} from './owner.ts';
import { decodeOutline, decodeRecord, readUint48, writeUint48 } from './record.ts';
import { compareKeys } from './sorted-map.ts';
import { StoreUnavailableError } from './store.ts';
import { UPGRADING, upgradeFolder } from './upgrade.ts';
import { VersionedStore, type VersionedStoreOptions } from './versioned.ts';
import { APPEND, databases, PUT, WriteBuffer, writeRevisionKey } from './write-buffer.ts';

export interface LmdbStoreOptions extends VersionedStoreOptions {
  /** The folder for the data file; it is created when it does not exist. */
  readonly dataDir: string;
  /** Do not wait for the disk: what was answered survives the end of the process, but not a crash of the machine. */
  readonly unsafeNoFsync?: boolean | undefined;
  /** How to upgrade a folder of a former format; without it, such a folder is refused. */
  readonly upgrade?: Upgrade;
  /** Called when a folder of a former format has been upgraded. */
  readonly onUpgraded?: (upgraded: Upgraded) => void;
  /** How many commits come before there is a journal; with 0 it is there at once. Without syncs it is of no use. */
  readonly commitsBeforeJournal?: number;
}

/**
 * Address space reserved for the file, in bytes; it costs neither memory nor disk. LMDB remaps when the file outgrows
 * it, which is safe but keeps the old map until the store is closed.
 */
const MAP_BYTES = 16 * 2 ** 30;

/** Where a restore builds the data file, inside the data folder, before moving it into place. */
export const RESTORING = 'restoring';

/** Bytes of LMDB's reader table, and of what LMDB writes while opening. */
const LOCK_BYTES = 16 * 1024;
const OPENING_BYTES = 112 * 1024;

export async function openLmdbStore(options: LmdbStoreOptions): Promise<VersionedStore> {
  const { dataDir, upgrade, onUpgraded, commitsBeforeJournal = COMMITS_BEFORE_JOURNAL } = options;
  const opening = { unsafeNoFsync: options.unsafeNoFsync };
  let engine = openEngine(dataDir, { ...opening, upgrade });
  if (upgrade && engine.format === upgrade.from) {
    const { folder } = engine;
    try {
      const upgraded = await upgradeFolder(engine, upgrade, openEngine);
      syncFolders(folder, folder);
      onUpgraded?.(upgraded);
    } finally {
      releaseFolder(folder);
    }
    engine = openEngine(dataDir, opening);
  }
  const commitsBefore = optimized && !options.unsafeNoFsync ? commitsBeforeJournal : Number.POSITIVE_INFINITY;
  return new VersionedStore(await withJournal(engine, commitsBefore), options);
}

type Opening = Partial<Pick<LmdbStoreOptions, 'upgrade' | 'unsafeNoFsync'>>;

/** Opens the data file of a folder, and creates both when missing. With `upgrade`, it may be of a former format. */
export function openEngine(dataDir: string, opening: Opening = {}): LmdbEngine {
  const library = findLmdb();
  let folder: string | undefined;
  let isNew = false;
  try {
    const created = openDataFolder(dataDir);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    const path = realpathSync(dataDir);
    claimFolder(path);
    folder = path;
    if (existsSync(join(path, RESTORING, 'data.mdb')))
      throw new StoreUnavailableError(
        `a restore into ${dataDir} has not come to its end; run it again, or delete ${join(dataDir, RESTORING)}`,
      );
    // Left by a process that was killed during an upgrade: the unfinished file, or an empty folder.
    rmSync(join(path, UPGRADING), { recursive: true, force: true });
    isNew = !existsSync(join(path, 'data.mdb'));
    closeFile(join(path, 'data.mdb'));
    prepareLockFile(join(path, 'lock.mdb'));
    const engine = new LmdbEngine(library, path, opening);
    if (isNew && !opening.unsafeNoFsync)
      syncFolders(path, created === undefined ? path : realpathSync(created));
    return engine;
  } catch (error) {
    // A partly created file would look like a damaged one.
    if (isNew) rmSync(join(folder!, 'data.mdb'), { force: true });
    if (folder !== undefined) releaseFolder(folder);
    throw unavailable(dataDir, error);
  }
}

/**
 * Allocates LMDB's reader table and its first pages on disk. LMDB writes to a sparse, memory-mapped table and does
 * not check its first writes, so a full disk would crash the process. Only the owner of the folder may do this.
 */
function prepareLockFile(path: string): void {
  try {
    writeFileSync(path, Buffer.alloc(LOCK_BYTES + OPENING_BYTES), { mode: fileMode });
    closeFile(path);
    truncateSync(path, LOCK_BYTES);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

export class LmdbEngine implements Engine {
  readonly opened: EngineState;
  /** Format of the data file; a former one only if an upgrade was given. */
  readonly format: number;
  /** The journal that the data file names; 0 if it names none. */
  readonly journalId: number;
  readonly #folder: string;
  readonly #root: RootDatabase<Buffer, string>;
  readonly #versions: Database<Buffer, number>;
  readonly #index: Database<number, string>;
  readonly #meta: Database<Buffer, string>;
  /** The keys of the index. */
  readonly #keys = knownKeys();
  readonly #writer: LmdbWriter;
  readonly #sheet = new WriteBuffer();
  /** The newest revision known to be in LMDB. */
  #revision: number;
  /** Why the store accepts no more writes. */
  #broken: StoreUnavailableError | undefined;
  #closing: Promise<void> | undefined;

  constructor(library: LmdbLibrary, folder: string, { upgrade, unsafeNoFsync = false }: Opening) {
    this.#folder = folder;
    checkDataFile(join(folder, 'data.mdb'));
    let root: RootDatabase<Buffer, string> | undefined;
    try {
      const options = {
        path: folder,
        noSubdir: false,
        maxDbs: databases.length,
        mapSize: MAP_BYTES,
        overlappingSync: false,
        noSync: unsafeNoFsync,
        encoding: 'binary',
        permissionsMode: fileMode,
      } as const;
      root = library.load().open<Buffer, string>(options);
      this.#root = root;
      for (const name of root.getKeys()) {
        if (!(databases as readonly string[]).includes(name)) throw notOurs(folder);
      }
      this.#versions = openDatabase(root, 'versions', {
        encoding: 'binary',
        keyEncoder: revisionKey,
      });
      this.#index = openDatabase(root, 'index', { encoder: revisionValue, keyEncoder: textKey });
      this.#meta = openDatabase(root, 'meta', { encoding: 'binary', keyEncoder: textKey });
      this.format = this.#checkFormat(upgrade);
      this.journalId = this.#meta.doesExist('journal') ? this.#metaRevision('journal') : 0;
      if ((this.format === JOURNALED) !== (this.journalId !== 0))
        throw damaged(folder, 'its format and the name of its journal do not agree');
      this.opened = root.transactionSync(() => this.#claim());
      this.#revision = this.opened.revision;
      for (const key of this.#index.getKeys({ start: '' })) this.#keys.add(key);
      this.#writer = new LmdbWriter(library.file, options, root);
    } catch (error) {
      void root?.close();
      throw error;
    }
  }

  /** The path of the data folder. */
  get folder(): string {
    return this.#folder;
  }

  get syncMs(): number {
    return this.#writer.syncMs;
  }

  head(key: string): number {
    // LMDB throws for an empty key.
    if (key === '') return 0;
    const absent = !this.#keys.mayHold(key);
    if (absent && !asserting) return 0;
    const revision = this.#read(() => this.#index.get(key)) ?? 0;
    if (absent && revision !== 0)
      throw new Error(`a key is said not to be there, and has revision ${revision}`);
    return revision;
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

  outline(revision: number): VersionOutline | undefined {
    const record = this.#read(() => this.#versions.getBinaryFast(revision));
    if (!record) return undefined;
    const outline = decodeOutline(record, revision);
    if (!outline) throw damaged(this.#folder, `revision ${revision} does not match its checksum`);
    return outline;
  }

  /** Up to this many existing revisions after one. */
  revisions(after: number, limit: number): number[] {
    return this.#read(() => [...this.#versions.getKeys({ start: after + 1, limit })]);
  }

  /** @param isAwaited whether clients wait for it; otherwise it is left to the thread that writes */
  async commit(versions: readonly Version[], isAwaited = true): Promise<void> {
    // Added before the commit: too early costs a lookup, too late would report an existing key as missing.
    for (const { key, previous } of versions) if (previous === 0) this.#keys.add(key);
    try {
      await this.#put(versions, APPEND, versions.at(-1)!.revision, isAwaited ? versions.length : undefined);
    } catch (error) {
      // A full disk may recover, so clients may retry. After other errors the stored state is not known.
      if (!this.#broken) for (const { key, previous } of versions) if (previous === 0) this.#keys.delete(key);
      throw error;
    }
  }

  /**
   * Puts versions of a backup into a store without history, in any order. `revision` becomes the store's own.
   */
  load(versions: readonly Version[], revision: number): Promise<void> {
    for (const { key } of versions) this.#keys.add(key);
    return this.#put(versions, PUT, revision, versions.length);
  }

  /** Like `load`, for versions in ascending order after all existing ones. */
  loadInOrder(versions: readonly Version[], revision: number): Promise<void> {
    for (const { key } of versions) this.#keys.add(key);
    return this.#put(versions, APPEND, revision, versions.length);
  }

  async remove({ versions, keys, compacted, swept }: Removal): Promise<void> {
    const sheet = this.#sheet;
    sheet.clear();
    for (const revision of versions) sheet.removeVersion(revision);
    for (const key of keys) sheet.removeHead(key);
    sheet.putMeta('compacted', compacted);
    sheet.putMeta('swept', swept);
    await this.#transact(this.#revision);
    for (const key of keys) this.#keys.delete(key);
  }

  /** Names the journal in the data file, which then has another format; with 0 it names no journal any more. */
  async nameJournal(id: number): Promise<void> {
    const sheet = this.#sheet;
    sheet.clear();
    sheet.putMeta('format', id === 0 ? FORMAT : JOURNALED);
    if (id === 0) sheet.removeMeta('journal');
    else sheet.putMeta('journal', id);
    await this.#transact(this.#revision);
  }

  bytes(): number {
    return this.#read(() => statSync(join(this.#folder, 'data.mdb')).size);
  }

  gather(callback: () => void): void {
    setImmediate(callback);
  }

  async close(): Promise<void> {
    try {
      await this.closeFile();
    } finally {
      releaseFolder(this.#folder);
    }
  }

  /** Closes the data file only: the folder stays claimed. Safe to call twice. */
  closeFile(): Promise<void> {
    this.#closing ??= this.#closeFile();
    return this.#closing;
  }

  async #closeFile(): Promise<void> {
    try {
      this.#sheet.clear();
      this.#sheet.removeMeta('owner');
      if (!this.#broken) await this.#writer.write(this.#sheet);
    } catch {
      // Ignored: acknowledged writes are safe, and the owner's mark is void once this process has ended.
    } finally {
      await this.#writer.close();
      if (!this.#writer.isLost) await this.#root.close();
    }
  }

  #put(
    versions: readonly Version[],
    action: typeof APPEND | typeof PUT,
    revision: number,
    writes?: number,
  ): Promise<void> {
    const sheet = this.#sheet;
    sheet.clear();
    for (const version of versions) {
      sheet.putVersion(version, action);
      sheet.putHead(version.key, version.revision);
    }
    sheet.putMeta('revision', revision);
    return this.#transact(revision, writes);
  }

  /** Carries out the transaction on the sheet, of so many writes; the store then has this revision. */
  async #transact(revision: number, writes?: number): Promise<void> {
    if (this.#broken) throw this.#broken;
    let failure: WriteFailure | undefined;
    try {
      failure = await this.#writer.write(this.#sheet, writes);
    } catch (error) {
      this.#broken = unavailable(this.#folder, error);
      throw this.#broken;
    }
    this.#root.resetReadTxn();
    if (failure) throw this.#failed(failure, revision);
    this.#revision = revision;
  }

  /** After a failed transaction: either nothing of it is stored, or the store accepts no more writes. */
  #failed(failure: WriteFailure, revision: number): StoreUnavailableError {
    if (failure.refused) {
      this.#broken = damaged(this.#folder, `it did not take revision ${revision}`);
      return this.#broken;
    }
    const error = unavailable(this.#folder, failure);
    try {
      if (this.#metaRevision('revision') !== this.#revision) this.#broken = error;
    } catch {
      // After an error in writing its root page LMDB answers no read, and would never finish a write.
      this.#broken = error;
    }
    return error;
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

  #checkFormat(upgrade: Upgrade | undefined): number {
    const format = this.#meta.getBinary('format');
    if (!format) {
      for (const _ of this.#versions.getKeys({ start: 0, limit: 1 })) throw notOurs(this.#folder);
      return FORMAT;
    }
    const found = format.length === 6 ? readUint48(format, 0) : 'unknown';
    if (found === FORMAT || found === JOURNALED || (found !== 'unknown' && found === upgrade?.from))
      return found;
    throw new StoreUnavailableError(
      `the data folder ${this.#folder} has format ${found}, and this version of Wherry reads ${readableFormats(upgrade)}`,
    );
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

const revisionKey = {
  writeKey: (revision: number, target: Buffer, position: number): number =>
    writeRevisionKey(target, revision, position),
  readKey: (source: Buffer, start: number): number => readUint48(source, start + 2),
};

/** Encodes keys as UTF-8, because LMDB sorts by bytes. */
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
