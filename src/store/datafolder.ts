/** The data folder: made where it does not exist, and closed to other users, because secrets are among the objects. */
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const folderMode = 0o700;
/** Of everything that is written into it. */
export const fileMode = 0o600;

/**
 * What Wherry keeps in a data folder, and what file systems put into theirs. A folder with anything else in it is
 * somebody's, and may be one that others need (`/srv`, `/tmp`): it stays as open as it is, and its files are closed.
 */
const ownNames: ReadonlySet<string> = new Set([
  'data.mdb',
  'lock.mdb',
  'owner',
  'restoring',
  'node',
  'lost+found',
]);

/** Answers the uppermost folder that had to be made; undefined when all were there. */
export function openDataFolder(path: string): string | undefined {
  const created = makeFolders(resolve(path));
  if (created !== undefined || readdirSync(path).every((name) => ownNames.has(name))) close(path, folderMode);
  return created;
}

/** Closes a file that an earlier version has made for everybody to read. */
export function closeFile(path: string): void {
  close(path, fileMode);
}

/**
 * Node's own recursive `mkdir` tries for ever where the kernel says that a folder does not exist though its parent
 * does, as in /proc.
 */
function makeFolders(path: string): string | undefined {
  try {
    mkdirSync(path);
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') {
      // Some systems complain of a read-only disk, or of missing rights, before they see that it is there.
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined;
      throw error;
    }
  }
  const created = makeFolders(dirname(path));
  mkdirSync(path);
  return created ?? path;
}

/** Who does not own it cannot, and need not, close it to others. */
function close(path: string, mode: number): void {
  try {
    if ((statSync(path).mode & 0o777) !== mode) chmodSync(path, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EPERM' && code !== 'ENOENT') throw error;
  }
}
