/**
 * Restore: a data folder from a backup. The data file is built under another name and moved into place when it is
 * complete and on disk, so an interrupted restore leaves no store behind, and a server reports that instead of
 * starting empty.
 *
 * Objects keep their uids and versions. The store's own revision jumps far ahead: after the backup, the old server
 * may have given out versions that clients still hold. In the restored store these are in the past, and too old, so
 * that they never refer to other changes.
 */
import { existsSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type BackupHead, type BackupSummary, readBackup } from './backup-file.ts';
import { checkDataFile } from './data-file.ts';
import { openDataFolder, syncFolders } from './data-folder.ts';
import { damaged, readVersion, type Version } from './engine.ts';
import { unavailable } from './folder-failure.ts';
import { Renaming, type Upgrade, type Upgraded } from './format.ts';
import { type LmdbEngine, openEngine, RESTORING } from './lmdb.ts';
import { claimFolder, releaseFolder } from './owner.ts';
import { StoreUnavailableError } from './store.ts';

/** More changes than a server makes between a backup and its end: a thousand a second for eleven days. */
const REVISIONS_SKIPPED = 1_000_000_000;

export interface RestoreSummary extends BackupSummary {
  /** With an upgrade: the unknown keys it found. */
  readonly unknown: Upgraded['unknown'] | undefined;
}

export interface RestoreOptions {
  /** Maps the keys of a backup of a former format; without it such a backup is refused. */
  readonly upgrade?: Upgrade;
  /** Called with the number of further objects in the new store. */
  readonly taken?: (objects: number) => void;
}

/** `name` is the backup's name in errors. Returns the number of objects and the revision of the new store. */
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

/** Makes all objects the state that history begins with, and checks that none is missing. */
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
