/** The data folder: created when missing, and closed to other users, because it contains secrets. */
import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const folderMode = 0o700;
/** Mode of all files in it. */
export const fileMode = 0o600;

/**
 * Files that Wherry, or a file system, puts into a data folder. A folder with other files may be shared (`/srv`,
 * `/tmp`): its mode is not changed, only that of its files.
 */
const ownNames: ReadonlySet<string> = new Set([
  'data.mdb',
  'lock.mdb',
  'owner',
  'journal',
  'restoring',
  'node',
  'lost+found',
]);

/** Returns the topmost folder that was created; undefined when all existed. */
export function openDataFolder(path: string): string | undefined {
  const created = makeFolders(resolve(path));
  if (created !== undefined || readdirSync(path).every((name) => ownNames.has(name))) close(path, folderMode);
  return created;
}

/** Closes a file that an earlier version created as readable by all users. */
export function closeFile(path: string): void {
  close(path, fileMode);
}

/**
 * Node's recursive `mkdir` loops for ever where the kernel reports that a folder does not exist although its parent
 * does, as in /proc.
 */
function makeFolders(path: string): string | undefined {
  try {
    mkdirSync(path);
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') {
      // Some systems report a read-only disk, or missing rights, before they see that the folder exists.
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined;
      throw error;
    }
  }
  const created = makeFolders(dirname(path));
  mkdirSync(path);
  return created ?? path;
}

/** Takes rights away and gives none. Only the owner can change the mode; for others the error is ignored. */
function close(path: string, mode: number): void {
  try {
    const now = statSync(path).mode & 0o777;
    if ((now & mode) !== now) chmodSync(path, now & mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EPERM' && code !== 'ENOENT') throw error;
  }
}

/**
 * Syncs folders, so that a new file or folder survives a power cut: from the data folder up to the parent of the
 * topmost created one. Not every system supports that.
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
