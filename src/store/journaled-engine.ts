/**
 * The LMDB engine with a journal before it (`journal-file.ts`): a commit of few writes is durable, and answered, when it
 * is in the journal. LMDB gets it later, together with others, from the thread that writes. Until then reads find it in
 * memory (`journal-overlay.ts`). Larger commits go to LMDB at once, with everything that waits.
 *
 * At the next start after a crash, what LMDB lacks is read from the journal. The data file names its journal while there
 * is one, and has another format, so that a version of Wherry that knows no journal does not open it without. A server
 * that is stopped leaves no journal behind.
 */
import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { syncFolders } from './data-folder.ts';
import type { Engine, EngineState, Removal, Version, VersionOutline } from './engine.ts';
import { damaged, unavailable } from './folder-failure.ts';
import { entryBytes, JOURNAL_ID_MAX, JournalFile, readJournal } from './journal-file.ts';
import { type Head, Overlay } from './journal-overlay.ts';
import { hasRoom } from './lmdb-transaction.ts';
import { LoneWrites } from './lone-writes.ts';
import type { StoreUnavailableError } from './store.ts';

/** The name of the journal in a data folder. */
const JOURNAL = 'journal';

/** The journal is made after this many commits that it could have taken: a store that is opened for a moment needs none. */
export const COMMITS_BEFORE_JOURNAL = 24;

/** How long LMDB may lack what the journal has. */
const TRANSFER_MS = 1_000;
/** How much of a half of the journal is filled before LMDB gets it. */
const FILLED = 0.5;

/**
 * A transaction of LMDB takes this many times as long as an entry, or longer: 0.22 ms where an entry took 0.04. So it is
 * known whether the disk is quick also while nothing is put into the journal.
 */
const ENTRIES_OF_TRANSACTION = 4;

/** What is asked of the engine below. */
export interface EngineBelow extends Engine {
  readonly folder: string;
  readonly syncMs: number;
  /** The journal that the data file names; 0 if it names none. */
  readonly journalId: number;
  nameJournal(id: number): Promise<void>;
  /** @param isAwaited whether clients wait for it; otherwise it is left to the thread that writes */
  commit(versions: readonly Version[], isAwaited?: boolean): Promise<void>;
  remove(removal: Removal): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens an engine with a journal; what a journal in its folder has is put into it first.
 * @param commitsBefore how many commits come before the journal is made; with 0 it is there at once
 */
export async function withJournal(engine: EngineBelow, commitsBefore: number): Promise<JournaledEngine> {
  try {
    const revision = await takeOver(engine);
    const journaled = new JournaledEngine(engine, { ...engine.opened, revision }, commitsBefore);
    if (commitsBefore === 0) await journaled.begin();
    return journaled;
  } catch (error) {
    await engine.close();
    throw unavailable(engine.folder, error);
  }
}

/** Puts what the journal has and LMDB lacks into LMDB; returns the newest revision. */
async function takeOver(engine: EngineBelow): Promise<number> {
  const { folder, journalId } = engine;
  const { revision } = engine.opened;
  const path = join(folder, JOURNAL);
  if (journalId !== 0) {
    const versions = readJournal(path, journalId)?.filter((version) => version.revision > revision);
    if (!versions) throw damaged(folder, `its journal, the file ${path}, is missing or is another`);
    const gap = versions.findIndex((version, i) => version.revision !== revision + 1 + i);
    if (gap >= 0) throw damaged(folder, `its journal lacks revision ${revision + 1 + gap}`);
    if (versions.length > 0) await engine.commit(versions);
    await engine.nameJournal(0);
    rmSync(path, { force: true });
    return revision + versions.length;
  }
  // Left by a process that was killed before the data file named it, or when it did not any more.
  rmSync(path, { force: true });
  return revision;
}

export class JournaledEngine implements Engine {
  syncMs = 0;
  readonly opened: EngineState;
  readonly #engine: EngineBelow;
  readonly #path: string;
  readonly #overlay = new Overlay();
  readonly #lone = new LoneWrites();
  /** Commits that the journal could have taken, until it is made. */
  #commitsBefore: number;
  #beginning: Promise<void> | undefined;
  #journal: JournalFile | undefined;
  /** Set when the journal failed: nothing more is put into it. */
  #isGivenUp = false;
  /** Set while the journal may hold a commit, or not, that LMDB lacks and that was not answered. */
  #isDoubtful = false;
  /**
   * Set when LMDB failed: it may hold a commit, or not, that was not answered, or lacks what the journal has. All commits
   * go there until it takes one.
   */
  #isStuck = false;
  /** Set when it is not known what the next start will find. */
  #broken: StoreUnavailableError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isTransferring = false;
  /** Ends when LMDB is done with what it was given last. */
  #last: Promise<void> = Promise.resolve();

  constructor(engine: EngineBelow, opened: EngineState, commitsBefore: number) {
    this.#engine = engine;
    this.opened = opened;
    this.#path = join(engine.folder, JOURNAL);
    this.#commitsBefore = commitsBefore;
  }

  head(key: string): number {
    return this.#overlay.head(key) ?? this.#engine.head(key);
  }

  heads(start: string, end: string | undefined): Iterable<Head> {
    const below = this.#engine.heads(start, end);
    return this.#overlay.size === 0 ? below : this.#overlay.heads(below, start, end);
  }

  version(revision: number): Version | undefined {
    return this.#overlay.version(revision) ?? this.#engine.version(revision);
  }

  outline(revision: number): VersionOutline | undefined {
    const version = this.#overlay.version(revision);
    if (!version) return this.#engine.outline(revision);
    return { previous: version.previous, deletedKey: version.value === null ? version.key : undefined };
  }

  commit(versions: readonly Version[]): void | Promise<void> {
    if (this.#broken) throw this.#broken;
    const bytes = entryBytes(versions);
    if (this.#lone.isFor(versions.length, bytes)) {
      if (this.#append(versions, bytes)) return undefined;
      if (--this.#commitsBefore <= 0) void this.begin();
    }
    return this.#store(versions);
  }

  async remove(removal: Removal): Promise<void> {
    await this.#transfer();
    await this.#inTurn(() => this.#engine.remove(removal));
  }

  bytes(): number {
    return this.#engine.bytes() + (this.#journal?.bytes ?? 0);
  }

  gather(callback: () => void): void {
    this.#engine.gather(callback);
  }

  /** Makes the journal, once, and names it in the data file. Where that fails, LMDB gets every commit. */
  begin(): Promise<void> {
    this.#beginning ??= this.#begin().catch(() => undefined);
    return this.#beginning;
  }

  async #begin(): Promise<void> {
    const id = randomInt(1, JOURNAL_ID_MAX);
    const journal = await JournalFile.make(this.#path, id);
    syncFolders(this.#engine.folder, this.#engine.folder);
    try {
      await this.#inTurn(() => this.#engine.nameJournal(id));
      this.#journal = journal;
    } catch (error) {
      journal.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    try {
      await this.#beginning;
      await this.#transfer();
      if (this.#journal && !this.#broken) {
        await this.#inTurn(() => this.#engine.nameJournal(0));
        rmSync(this.#path, { force: true });
      }
    } catch {
      // What was answered is in the journal, and is taken from there at the next start.
    } finally {
      clearTimeout(this.#timer);
      this.#journal?.close();
      await this.#engine.close();
    }
  }

  /** Puts a commit into the journal; returns whether it has taken it. */
  #append(versions: readonly Version[], bytes: number): boolean {
    const journal = this.#journal;
    if (!journal?.hasRoom(bytes) || this.#isGivenUp || this.#isStuck) return false;
    // What LMDB would have no room for must not be answered.
    if (!hasRoom(this.#engine.folder, journal.bytes)) return false;
    const begunMs = performance.now();
    try {
      journal.append(versions);
    } catch {
      this.#isGivenUp = true;
      this.#isDoubtful = true;
      return false;
    }
    this.syncMs = performance.now() - begunMs;
    this.#lone.note(this.syncMs);
    this.#overlay.add(versions);
    if (journal.filled > FILLED) this.#transferSoon();
    else this.#transferLater();
    return true;
  }

  /** Puts a commit into LMDB, with everything that waits for it. */
  #store(versions: readonly Version[]): Promise<void> {
    return this.#inTurn(async () => {
      const waiting = this.#overlay.all();
      try {
        await this.#engine.commit(waiting.length > 0 ? [...waiting, ...versions] : versions);
      } catch (error) {
        this.#isStuck = true;
        // The journal may have it all the same, and the next start would take it from there.
        if (this.#isDoubtful) this.#broken = unavailable(this.#engine.folder, error);
        throw error;
      }
      this.syncMs = this.#engine.syncMs;
      this.#lone.note(this.syncMs / ENTRIES_OF_TRANSACTION);
      this.#forget(versions.at(-1)!.revision);
      this.#journal?.rewind();
      this.#isDoubtful = false;
    });
  }

  #transferLater(): void {
    this.#timer ??= setTimeout(this.#transferSoon, TRANSFER_MS).unref();
  }

  readonly #transferSoon = (): void => {
    if (!this.#isTransferring) void this.#transfer().catch(() => undefined);
  };

  /** Puts what is in the journal into LMDB. */
  #transfer(): Promise<void> {
    this.#isTransferring = true;
    return this.#inTurn(async () => {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      try {
        const versions = this.#overlay.all();
        if (versions.length === 0) return;
        // Entries that were not taken stay where they are: nothing is put into the journal until they are.
        if (!this.#isStuck) this.#journal!.turn();
        await this.#engine.commit(versions, false);
        this.#forget(versions.at(-1)!.revision);
      } catch (error) {
        this.#isStuck = true;
        throw error;
      } finally {
        this.#isTransferring = false;
        if (this.#overlay.size > 0) this.#transferLater();
      }
    });
  }

  /** LMDB has everything up to a revision. */
  #forget(revision: number): void {
    this.#overlay.forget(revision);
    this.#isStuck = false;
  }

  /** LMDB carries out one transaction at a time. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
