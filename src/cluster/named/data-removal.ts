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
  'journal',
  'restoring',
  'node',
  'volumes',
  'pki',
  'kubeconfig',
  'snapshots',
];

/**
 * Removes the cluster's files from its data folder, and the folder if it is empty then. Throws when something is
 * mounted there, because that may be foreign data.
 * @param ownFolder the folder that belongs to the cluster alone, which is removed with all its content
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
