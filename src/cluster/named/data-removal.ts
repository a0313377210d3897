/** Removes the data of a cluster. */
import { rmdir } from 'node:fs/promises';
import path from 'node:path';
import { removeFolder } from '../../node/machine/folder-care.ts';
import { StartError } from '../shared/start-error.ts';

/** What a cluster makes in its data folder. Other files in a folder that the user chose are the user's. */
const ownNames = [
  'data.mdb',
  'lock.mdb',
  'owner',
  'restoring',
  'node',
  'volumes',
  'pki',
  'kubeconfig',
  'snapshots',
];

/**
 * Removes what a cluster has made in its data folder, and the folder if nothing else is in it. Throws when something is
 * mounted there, because that may be files of others.
 * @param ownFolder the folder of the cluster's own, which goes with all that is in it
 */
export async function removeOwnFiles(dataDir: string, ownFolder: string): Promise<void> {
  const isOwn = path.resolve(dataDir) === path.resolve(ownFolder);
  try {
    if (isOwn) return await removeFolder(dataDir);
    for (const name of ownNames) await removeFolder(path.join(dataDir, name));
  } catch (error) {
    throw new StartError((error as Error).message, { cause: error });
  }
  await rmdir(dataDir).catch(() => undefined);
}
