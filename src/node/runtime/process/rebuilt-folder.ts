/** An empty copy of a folder of the machine: each entry is a place at which the real one can be mounted. */
import type { Dirent } from 'node:fs';
import { chmod, chown, mkdir, open, readdir, readlink, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { StartFailure } from '../runtime.ts';

/** Maximum number of entries in rebuilt folders. Each is a mount. */
export const entriesMax = 10_000;
/** Entries that are made at once: folders can have thousands, and others use the event loop and its threads, too. */
const batchMax = 8;

/**
 * Makes the folder below the new root, with an empty entry for each of the real one. Returns the paths of those that
 * something has to be mounted at: symbolic links are as they are.
 * @param skipped paths that are made otherwise
 */
export async function rebuildFolder(
  root: string,
  folder: string,
  skipped: ReadonlySet<string>,
): Promise<string[]> {
  const made = join(root, folder);
  const { mode, uid, gid } = await stat(folder);
  await mkdir(made, { recursive: true });
  await chown(made, uid, gid);
  await chmod(made, mode & 0o7777);
  const all = await readdir(folder, { withFileTypes: true });
  const entries = all.filter(({ name }) => !skipped.has(join(folder, name)));
  const bound = entries.filter((entry) => !entry.isSymbolicLink()).map(({ name }) => join(folder, name));
  if (bound.length > entriesMax)
    throw new StartFailure('CreateContainerError', `cannot mount below ${folder}: it holds too much`);
  for (let at = 0; at < entries.length; at += batchMax)
    await Promise.all(entries.slice(at, at + batchMax).map((entry) => makeEntry(root, folder, entry)));
  return bound;
}

async function makeEntry(root: string, folder: string, entry: Dirent): Promise<void> {
  const path = join(folder, entry.name);
  if (entry.isSymbolicLink()) await symlink(await readlink(path), join(root, path));
  else if (entry.isDirectory()) await mkdir(join(root, path));
  else await (await open(join(root, path), 'w')).close();
}
