/**
 * Restore: a data folder from a backup. The data file is built beside its place and moved there when it is whole and
 * on disk, so a restore that is cut short leaves no store behind, and a server says so instead of starting empty.
 *
 * Objects keep their uids and versions. The store itself goes on far beyond the version of the backup: after that, the
 * server it was taken from may have handed out versions which clients still hold. Those must not come to mean
 * something else. To the restored store they are versions of the past, and too old.
 */
import { existsSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type BackupHead, type BackupSummary, readBackup } from './backupfile.ts';
import { checkDataFile } from './datafile.ts';
import { openDataFolder } from './datafolder.ts';
import { damaged, readVersion, type Version } from './engine.ts';
import { unavailable } from './folderfailure.ts';
import { Renaming, type Upgrade, type Upgraded } from './format.ts';
import { type LmdbEngine, openEngine, RESTORING, syncFolders } from './lmdb.ts';
import { claimFolder, releaseFolder } from './owner.ts';
import { StoreUnavailableError } from './store.ts';

/** No server makes so many changes between a backup and its end: a thousand a second for eleven days. */
const REVISIONS_SKIPPED = 1_000_000_000;

export interface RestoreSummary extends BackupSummary {
  /** Where an upgrade was given: what it found that is unknown. */
  readonly unknown: Upgraded['unknown'] | undefined;
}

export interface RestoreOptions {
  /** Says how the keys of a backup of a former format are called now; without it such a backup is refused. */
  readonly upgrade?: Upgrade;
  /** Called with how many objects more are in the new store. */
  readonly taken?: (objects: number) => void;
}

/**
 * `name` is what the backup is called when it is refused. Answers what the new store holds, and its revision.
 */
export async function restoreStore(
  dataDir: string,
  name: string,
  backup: AsyncIterable<Buffer>,
  options: RestoreOptions = {},
): Promise<RestoreSummary> {
  let folder: string | undefined;
  try {
    const created = openDataFolder(dataDir);
    const path = realpathSync(dataDir);
    claimFolder(path);
    folder = path;
    if (existsSync(join(path, 'data.mdb')))
      throw new StoreUnavailableError(`${dataDir} holds objects already; restore into another folder`);
    const building = join(path, RESTORING);
    rmSync(building, { recursive: true, force: true });
    const summary = await build(building, name, backup, options);
    renameSync(join(building, 'data.mdb'), join(path, 'data.mdb'));
    syncFolders(path, created === undefined ? path : realpathSync(created));
    rmSync(building, { recursive: true, force: true });
    return summary;
  } catch (error) {
    throw unavailable(dataDir, error);
  } finally {
    if (folder !== undefined) releaseFolder(folder);
  }
}

async function build(
  folder: string,
  name: string,
  backup: AsyncIterable<Buffer>,
  { upgrade, taken }: RestoreOptions,
): Promise<RestoreSummary> {
  try {
    const engine = openEngine(folder);
    const renaming = upgrade && new Renaming(upgrade);
    let summary: RestoreSummary;
    try {
      const take = async (versions: readonly Version[], head: BackupHead): Promise<void> => {
        const named =
          head.format === upgrade?.from
            ? versions.map((version) => ({ ...version, key: renaming!.key(version.key) }))
            : versions;
        await engine.load(named, head.revision + REVISIONS_SKIPPED);
        taken?.(versions.length);
      };
      const { objects, revision } = await readBackup(name, backup, take, upgrade);
      summary = { objects, revision: revision + REVISIONS_SKIPPED, unknown: renaming?.unknown };
      await seal(engine, summary);
    } finally {
      await engine.close();
    }
    checkDataFile(join(folder, 'data.mdb'));
    return summary;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Makes everything the state that history begins with, and looks whether it is all there. */
async function seal(engine: LmdbEngine, { objects, revision }: BackupSummary): Promise<void> {
  await engine.load([], revision);
  await engine.remove({ versions: [], keys: [], compacted: revision, swept: revision });
  let found = 0;
  for (const { key, value: head } of engine.heads('', undefined)) {
    readVersion(engine, head, key);
    found++;
  }
  if (found !== objects) throw damaged(`it has taken ${found} objects of ${objects}`);
}
