/**
 * Files and links that are replaced in one step: the new one is made beside the old one, and renamed. Readers see the
 * old one or the new one, never a part, and nothing is written through a link. Each writer has a temporary name of its
 * own, so that several may replace one file at the same time: the last one wins.
 */
import { randomBytes } from 'node:crypto';
import { open, readdir, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** The suffix of the temporary file. */
const unfinishedEnd = /\.[0-9a-f]{12}\.new$/;

/** Sets the mode exactly, whatever the umask. */
export function replaceFile(path: string, text: string, mode: number): Promise<void> {
  return replace(path, async (next) => {
    const file = await open(next, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.chmod(mode);
    } finally {
      await file.close();
    }
  });
}

export function replaceLink(path: string, target: string): Promise<void> {
  return replace(path, (next) => symlink(target, next));
}

/** Removes what killed writers of a file have left. Only when no other process writes it. */
export async function removeUnfinished(path: string): Promise<void> {
  const names = await readdir(dirname(path)).catch(() => []);
  for (const name of names)
    if (unfinishedEnd.test(name) && name.replace(unfinishedEnd, '') === `.${basename(path)}`)
      await rm(join(dirname(path), name), { force: true });
}

async function replace(path: string, make: (next: string) => Promise<void>): Promise<void> {
  const next = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.new`);
  try {
    await make(next);
    await rename(next, path);
  } catch (error) {
    await rm(next, { force: true }).catch(() => undefined);
    throw error;
  }
}
