/**
 * Upgrade: converts a data file of a former format to this one, with the same revisions, times and history under
 * today's keys.
 *
 * The new file is built beside the former one and replaces it, by a rename, when it is complete and on disk. A
 * process that is killed before that leaves the former file unchanged, and the next start begins again. Records are
 * copied in batches, so memory use does not depend on the size of the file.
 */
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkDataFile } from './data-file.ts';
import { damaged, type Version } from './engine.ts';
import { unavailable } from './folder-failure.ts';
import { Renaming, type Upgrade, type Upgraded } from './format.ts';
import type { LmdbEngine } from './lmdb.ts';

/** Where the new file is built, inside the data folder. */
export const UPGRADING = 'upgrading';

/** Versions are written in batches of this many bytes or versions. */
const BATCH_BYTES = 4 * 1024 * 1024;
const BATCH_VERSIONS = 10_000;

/**
 * Replaces the data file that `former` has open. The folder stays claimed, and `former` is closed; after a failure
 * the former file is unchanged. `open` opens the folder in which the new file is built.
 */
export async function upgradeFolder(
  former: LmdbEngine,
  upgrade: Upgrade,
  open: (folder: string) => LmdbEngine,
): Promise<Upgraded> {
  const { folder } = former;
  const building = join(folder, UPGRADING);
  try {
    rmSync(building, { recursive: true, force: true });
    mkdirSync(building);
    const target = open(building);
    let upgraded: Upgraded;
    try {
      upgraded = await copy(former, target, new Renaming(upgrade));
    } finally {
      await target.close();
    }
    checkDataFile(join(building, 'data.mdb'));
    await former.closeFile();
    renameSync(join(building, 'data.mdb'), join(folder, 'data.mdb'));
    return upgraded;
  } catch (error) {
    await former.closeFile();
    throw unavailable(folder, error);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

async function copy(former: LmdbEngine, target: LmdbEngine, renaming: Renaming): Promise<Upgraded> {
  const { revision: newest, compacted, swept } = former.opened;
  let batch: Version[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    await target.loadInOrder(batch, newest);
    batch = [];
    bytes = 0;
  };
  // No LMDB iterator stays open across an await: it would keep freed pages from being reused.
  for (let after = 0; ; ) {
    const revisions = former.revisions(after, BATCH_VERSIONS);
    if (revisions.length === 0) break;
    for (const revision of revisions) {
      const version = former.version(revision)!;
      batch.push({ ...version, key: renaming.key(version.key) });
      bytes += version.value?.length ?? 0;
      if (bytes >= BATCH_BYTES) await flush();
    }
    await flush();
    after = revisions.at(-1)!;
  }
  await flush();
  await target.remove({ versions: [], keys: [], compacted, swept });
  return { objects: compare(former, target, renaming), unknown: renaming.unknown };
}

/** Checks that the newest version of each key was copied; returns the number of objects. */
function compare(former: LmdbEngine, target: LmdbEngine, renaming: Renaming): number {
  let [keys, objects] = [0, 0];
  for (const { key, value: head } of former.heads('', undefined)) {
    if (target.head(renaming.key(key)) !== head) throw damaged(`${JSON.stringify(key)} was not taken over`);
    keys++;
    if (target.version(head)?.value) objects++;
  }
  for (const _ of target.heads('', undefined)) keys--;
  if (keys !== 0) throw damaged('two keys would become one');
  return objects;
}
